import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readScript } from '../src/commands/run-script.ts';

/** A gateway that runs as `npm start` runs it. */
export type GatewayProcess = {
  readonly origin: string;
  readonly token: string;
  /** Of the command; of the gateway itself where the command is Node's. */
  readonly pid: number;
  /** Milliseconds from the command to the printed address. */
  readonly readyMs: number;
  stop(): Promise<void>;
};

// As package.json has it: with what bounds its memory.
const start = readScript('start');

/** What `npm start` runs. */
export const startCommand: readonly [string, ...string[]] = ['node', ...start.args];

/**
 * Starts a gateway on a free port and waits until it says where it is.
 * @param log descriptor of the file that the log is written to
 * @param directory of another checkout, to run that one's gateway
 */
export async function startGatewayProcess(
  environment: Record<string, string>,
  command: readonly [string, ...string[]] = startCommand,
  log: number | 'inherit' = 'inherit',
  directory = process.cwd(),
): Promise<GatewayProcess> {
  const startedMs = performance.now();
  const [file, ...options] = command;
  const child = spawn(file, options, {
    cwd: directory,
    env: {
      ...process.env,
      ...start.environment,
      PORT: '0',
      LOG_LEVEL: 'silent',
      ACCESS_TOKEN: 'bench',
      ...environment,
    },
    stdio: ['ignore', 'pipe', log],
    detached: true,
  });
  let text = '';
  for await (const part of child.stdout!) {
    text += part;
    if (text.includes('Try:')) break;
  }
  const origin = /gateway at (\S+)/.exec(text)?.[1];
  if (!origin) throw new Error(`The gateway did not start: ${text}`);
  return {
    origin,
    token: 'bench',
    pid: child.pid!,
    readyMs: performance.now() - startedMs,
    async stop() {
      // npm and the gateway are one group of processes.
      process.kill(-child.pid!, 'SIGTERM');
      await once(child, 'exit');
    },
  };
}
