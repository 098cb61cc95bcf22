import { execFileSync } from 'node:child_process';

/** The processor of the server that is measured, and the one of what asks it and of what it asks. */
export const cores = { server: 0, others: 1 };

/** A command that runs on one processor only (Linux, `taskset`). */
export function onCore(core: number, command: readonly string[]): [string, ...string[]] {
  return ['taskset', '--cpu-list', String(core), ...command];
}

/** Moves a running process with all its threads to one processor (Linux, `taskset`). */
export function moveToCore(core: number, pid: number): void {
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(core), String(pid)]);
}
