import { fork } from 'node:child_process';
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
  const [program, ...args] = onCore(cores.server, [process.execPath]);
  const child = fork(fileURLToPath(new URL(module, import.meta.url)), {
    execPath: program,
    execArgv: args,
    serialization: 'advanced',
  });
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
