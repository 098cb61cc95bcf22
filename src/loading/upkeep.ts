import { messageOf } from '../base/errors.ts';
import { damagedPlace } from '../duckdb/data-folder/damaged-block.ts';
import type { LoadingEvent } from './loading-events.ts';
import { isLackOfMemory } from './write-spare.ts';

/** A task for the stored rows of a source. */
type UpkeepTask = 'retention' | 'sorting';

/** Retention and sorting, source by source: a failure for one source affects no other, and is followed by a pause before the next attempt. */
export type Upkeep = {
  /**
   * Runs a task for a source.
   * @param isLast whether no later attempt will have more memory
   * @returns undefined if it failed, or the source is pausing
   * @throws DuckDB's error if more memory may help
   */
  run<Result>(
    task: UpkeepTask,
    source: string,
    isLast: boolean,
    act: () => Promise<Result>,
  ): Promise<Result | undefined>;
  /** What earlier turns found of sources that are kept by size, by source. */
  readonly sizes: Map<string, SourceSize>;
};

/** What earlier turns found of a source that is kept by size. */
export type SourceSize = {
  /** Bytes of a database file when the source in it was last measured, by the file's path. */
  readonly measured: Map<string, number>;
  /** The file from which rows were removed, and the time before which they were, as SQL; undefined once the other file has lost the same rows. */
  removed?: { readonly file: string; readonly bound: string } | undefined;
};

/** Milliseconds of that pause: each attempt reads again the rows on which it failed. */
const pauseMs = 600_000;

/** Makes the upkeep of a process that stores rows; it remembers which sources are pausing. */
export function createUpkeep(emit: (event: LoadingEvent) => void): Upkeep {
  const pausedUntilMs = new Map<string, number>();
  return {
    sizes: new Map(),
    async run(task, source, isLast, act) {
      const key = `${task} ${source}`;
      if (performance.now() < (pausedUntilMs.get(key) ?? 0)) return undefined;
      try {
        return await act();
      } catch (error) {
        if (isLackOfMemory(error) && !isLast) throw error;
        pausedUntilMs.set(key, performance.now() + pauseMs);
        // The other lines show the statement.
        const [message = ''] = messageOf(error).split('\n');
        emit({ type: 'upkeep.failed', source, task, message });
        const place = damagedPlace(error);
        if (place !== undefined) emit({ type: 'database.unreadable', place });
        return undefined;
      }
    },
  };
}
