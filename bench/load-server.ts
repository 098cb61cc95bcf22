import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ServerRequest } from './ask-server.ts';
import { cores, onCore } from './on-core.ts';
import { cpuSeconds } from './process-usage.ts';

/** What one block of load has shown. */
export type LoadFigures = {
  readonly requestsPerSecond: number;
  /** Microseconds of the server's processor time; right also where the load generator is the slower side. */
  readonly cpuMicros: number;
};

const connections = 32;
const run = promisify(execFile);
const autocannon = fileURLToPath(import.meta.resolve('autocannon'));

/**
 * Puts load on a server for some seconds, from a process on the other core.
 * @throws Error where any answer is not a 2xx
 */
export async function loadServer(
  { origin, pid }: { readonly origin: string; readonly pid: number },
  { path, headers, payload }: ServerRequest,
  seconds: number,
): Promise<LoadFigures> {
  const command = [process.execPath, autocannon, '--json'];
  command.push('--connections', String(connections), '--duration', String(seconds));
  for (const [name, value] of Object.entries(headers)) command.push('--headers', `${name}=${value}`);
  if (payload !== undefined) command.push('--method', 'POST', '--body', payload);
  const [program, ...args] = onCore(cores.others, [...command, origin + path]);
  const cpuBefore = await cpuSeconds(pid);
  const { stdout } = await run(program, args);
  const cpuAfter = await cpuSeconds(pid);
  const { requests, non2xx, errors } = JSON.parse(stdout);
  if (non2xx + errors > 0)
    throw new Error(`${non2xx} of ${requests.total} answers were errors: ${origin}${path}`);
  return {
    requestsPerSecond: requests.average,
    cpuMicros: ((cpuAfter - cpuBefore) / requests.total) * 1e6,
  };
}
