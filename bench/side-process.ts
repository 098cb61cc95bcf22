import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { cores, onCore } from './on-core.ts';

/** A server that the gateway is compared with, in a process of its own on the server's core. */
export type SideProcess = {
  readonly origin: string;
  readonly pid: number;
  stop(): Promise<void>;
};

/**
 * Starts a module that takes its settings as the first message and answers with its port.
 * @param module path beside this file
 */
export async function startSideProcess(module: string, settings: object): Promise<SideProcess> {
  const child = forkOnCore(cores.server, module);
  child.send(settings);
  const [port] = await once(child, 'message');
  return {
    origin: `http://127.0.0.1:${port}`,
    pid: child.pid!,
    async stop() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

/** A module that runs on the other core, says when it is ready, and ends with a result. */
export type SideTask<Result> = {
  readonly ready: Promise<unknown>;
  readonly result: Promise<Result>;
};

/**
 * Starts a module that takes its settings as the first message, answers with any message when it is ready, and then with its result.
 * @param module path beside this file
 */
export function startSideTask<Result>(module: string, settings: object): SideTask<Result> {
  const child = forkOnCore(cores.others, module);
  const failed = once(child, 'exit').then(([code]) => {
    throw new Error(`${module} ended with ${code}`);
  });
  const nextMessage = () => Promise.race([once(child, 'message'), failed]);
  child.send(settings);
  const ready = nextMessage();
  return { ready, result: ready.then(nextMessage).then(([result]) => result) };
}

function forkOnCore(core: number, module: string): ChildProcess {
  const [program, ...args] = onCore(core, [process.execPath]);
  return fork(fileURLToPath(new URL(module, import.meta.url)), {
    execPath: program,
    execArgv: args,
    serialization: 'advanced',
  });
}
