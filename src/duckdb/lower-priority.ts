import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/**
 * Gives a process a lower priority, that of all that uses DuckDB. A scan takes every core, so hits and Redis get a higher one; so does the start of another
 * process, whose caller may have asked for less. Rows that are stored share the processors with queries.
 * Linux has a priority for each thread, and threads that are made later have that of the thread that makes them.
 * @param pid undefined: it could not be started
 */
export function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  for (const thread of threadsOf(pid)) {
    try {
      setPriority(thread, constants.priority.PRIORITY_BELOW_NORMAL);
    } catch {
      // It has ended.
    }
  }
}

function threadsOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [pid];
  }
}
