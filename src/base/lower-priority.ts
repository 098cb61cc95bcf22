import { readdirSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

const lowPriority = constants.priority.PRIORITY_BELOW_NORMAL;

/**
 * Gives a process the lower priority of everything that uses DuckDB. A scan takes every core, and starting a process takes one for a while,
 * so answers from the cache and Redis keep a higher priority. Storing rows shares the processors with queries.
 * Linux has a priority for each thread; new threads inherit that of the thread that makes them.
 * @param pid undefined: it could not be started
 */
export function lowerPriority(pid: number | undefined): void {
  if (pid === undefined) return;
  for (const thread of threadsOf(pid)) {
    try {
      setPriority(thread, lowPriority);
    } catch {
      // The process has ended.
    }
  }
}

/**
 * Gives the calling thread the priority of the engine's processes: with a higher one, redacting or writing the results of one caller would
 * slow down the queries of all others. Does nothing outside Linux, where only whole processes have priorities.
 */
export function lowerThreadPriority(): void {
  if (process.platform === 'linux') setPriority(lowPriority);
}

function threadsOf(pid: number): readonly number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).map(Number);
  } catch {
    return [pid];
  }
}
