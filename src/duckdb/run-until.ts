import type { EngineChild, EngineRun } from './engine-child.ts';
import type { EngineStatement } from './engine-protocol.ts';

/**
 * Runs a statement in a process until a signal aborts: then it is interrupted, and if that does not end it, its process is killed.
 * @param graceMs milliseconds that an interrupted statement has to end
 * @returns settles when the statement has ended, which may be that much later than the abort
 * @throws EngineGoneError when the process ends first; Error with DuckDB's message; the signal's reason when it has aborted
 */
export async function runUntil(
  limit: AbortSignal,
  child: Pick<EngineChild, 'run' | 'kill'>,
  statement: EngineStatement,
  graceMs: number,
): EngineRun['result'] {
  limit.throwIfAborted();
  const run = child.run(statement);
  let killing: NodeJS.Timeout | undefined;
  const stop = () => {
    run.interrupt();
    killing = setTimeout(() => child.kill('unresponsive query'), graceMs);
  };
  limit.addEventListener('abort', stop, { once: true });
  try {
    return await run.result;
  } finally {
    clearTimeout(killing);
    limit.removeEventListener('abort', stop);
  }
}
