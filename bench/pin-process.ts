import { execFileSync } from 'node:child_process';

/** The processor of the server that is measured, and the one of all that asks it or that it asks. */
export const cores = { server: 0, others: 1 };

/**
 * Holds a running process, with all its threads, to one processor (Linux, `taskset`).
 * @throws Error where there is no such processor or no `taskset`
 */
export function pinProcess(pid: number, core: number): void {
  execFileSync('taskset', ['-a', '-c', '-p', String(core), String(pid)]);
}
