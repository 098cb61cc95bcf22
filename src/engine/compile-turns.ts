import { takeTurns } from '../base/turns.ts';
import type { RunOptions } from './engine.ts';
import { createFairQueue } from './fair-queue.ts';

/** Who has something compiled, and whether anybody waits for it. */
export type CompileOptions = Pick<RunOptions, 'signal' | 'caller' | 'priority'>;

/**
 * Runs the front-end when it is its caller's turn: one text of 64 KiB takes up to a tenth of a second, and a hundred of them may arrive in
 * one turn of the event loop.
 * @throws GatewayError `overloaded`, `too_many_requests`; the signal's reason; what the work throws
 */
export type CompileTurns = <Result>(work: () => Result, options: CompileOptions) => Promise<Result>;

/** One text at a time, callers in turn. */
const queueOptions = { permits: 1, maxWaiting: 512, maxWaitingPerCaller: 128 };

/** Makes the turns of one engine. */
export function createCompileTurns(): CompileTurns {
  const queue = createFairQueue(queueOptions);
  const turns = takeTurns();

  async function inTurn<Result>(work: () => Result): Promise<Result> {
    while (turns.isOver()) await turns.next();
    return work();
  }

  return async (work, options) => {
    options.signal.throwIfAborted();
    // Of no caller are the checks of a start: there are as many as saved queries.
    if (options.caller === undefined) return inTurn(work);
    const release = await queue.take(options.signal, options);
    return inTurn(work).finally(release);
  };
}
