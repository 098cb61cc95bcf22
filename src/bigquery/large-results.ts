import type { RunOptions } from '../engine/engine.ts';
import { createFairQueue } from '../engine/fair-queue.ts';

/** Limits how many reads of results may hold much memory at the same time. */
export type LargeResults = {
  /** Begins one read; it ends when its signal aborts. */
  begin(signal: AbortSignal, run: Pick<RunOptions, 'caller' | 'priority'>): LargeRead;
};

/** One read of a result. */
export type LargeRead = {
  /**
   * Called with the bytes that the read holds, before more of them are read.
   * @returns a promise to wait for, if the result has become large while too many others are
   * @throws as `FairQueue.take`
   */
  onHeld(bytes: number): Promise<void> | undefined;
  end(): void;
};

/** Bytes that every read may hold: 1 MiB. */
const smallBytes = 1024 * 1024;

/**
 * Limits the memory of results that are being read: all may hold a little, and only `count` of them more than that. The rest of a
 * result whose read waits stays at the warehouse.
 */
export function createLargeResults(count: number, maxWaiting: number): LargeResults {
  const queue = createFairQueue({ permits: count, maxWaiting, maxWaitingPerCaller: maxWaiting });
  return {
    begin(signal, run) {
      let release: (() => void) | undefined;
      return {
        onHeld(bytes) {
          if (bytes <= smallBytes || release) return undefined;
          return queue.take(signal, run).then(free => {
            release = free;
          });
        },
        end: () => release?.(),
      };
    },
  };
}
