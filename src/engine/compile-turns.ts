import { setTimeout } from 'node:timers/promises';
import { pauseAfter, takeTurns } from '../base/turns.ts';
import type { RunOptions } from './engine.ts';
import { createFairQueue } from './fair-queue.ts';

/** For whom something is compiled, and with which priority. */
export type CompileOptions = Pick<RunOptions, 'signal' | 'caller' | 'joined' | 'priority'>;

/**
 * Runs the front-end when it is the caller's turn: a text of 64 KiB takes up to a tenth of a second, and a hundred of them may arrive
 * in one turn of the event loop.
 * @throws GatewayError `overloaded`, `too_many_requests`; the signal's reason; what the work throws
 */
export type CompileTurns = <Result>(work: () => Result, options: CompileOptions) => Promise<Result>;

/** One text at a time; callers take turns. */
const queueOptions = { permits: 1, maxWaiting: 512, maxWaitingPerCaller: 128 };

/** Makes the turns of one engine. After a long text the front-end pauses: otherwise a request would wait for one text in each of its turns of the event loop. */
export function createCompileTurns(): CompileTurns {
  const queue = createFairQueue(queueOptions);
  const turns = takeTurns();
  let pauseEndsMs = 0;

  async function inTurn<Result>(work: () => Result, signal: AbortSignal): Promise<Result> {
    const pauseMs = pauseEndsMs - performance.now();
    if (pauseMs > 0) await setTimeout(pauseMs);
    while (turns.isOver()) await turns.next();
    signal.throwIfAborted();
    const startedMs = performance.now();
    try {
      return work();
    } finally {
      const endMs = performance.now();
      pauseEndsMs = endMs + pauseAfter(endMs - startedMs);
    }
  }

  return async (work, options) => {
    const { signal, caller } = options;
    signal.throwIfAborted();
    // Only the checks at start have no caller; there are as many as saved queries, so they bypass the limits of the queue.
    if (caller === undefined) {
      while (turns.isOver()) await turns.next();
      return work();
    }
    const release = await queue.take(signal, options);
    return inTurn(work, signal).finally(release);
  };
}
