import { damagedPlace } from '../duckdb/data-folder/damaged-block.ts';
import type { LoadingEvent } from './loading-events.ts';
import { isLackOfMemory } from './write-spare.ts';

/** What is done for the rows of a source that are there already. */
type UpkeepTask = 'retention' | 'sorting';

/** Retention and sorting, source by source: a source on which one of them fails harms no other, and rests before it is tried again. */
export type Upkeep = {
  /**
   * Runs a task for a source.
   * @param isLast whether no later attempt has more memory
   * @returns undefined if it failed, or if the source rests
   * @throws DuckDB's error where more memory may help
   */
  run<Result>(
    task: UpkeepTask,
    source: string,
    isLast: boolean,
    act: () => Promise<Result>,
  ): Promise<Result | undefined>;
  /** Bytes that a file of the database had when the size of a source in it was last looked at, by source and name of the file in DuckDB. */
  readonly looked: Map<string, Map<string, number>>;
};

/** Milliseconds of that rest: each attempt reads again what it failed on. */
const restMs = 600_000;

/** Makes the upkeep of a process that stores rows; it remembers which sources rest. */
export function createUpkeep(emit: (event: LoadingEvent) => void): Upkeep {
  const restsUntilMs = new Map<string, number>();
  return {
    looked: new Map(),
    async run(task, source, isLast, act) {
      const key = `${task} ${source}`;
      if (performance.now() < (restsUntilMs.get(key) ?? 0)) return undefined;
      try {
        return await act();
      } catch (error) {
        if (isLackOfMemory(error) && !isLast) throw error;
        restsUntilMs.set(key, performance.now() + restMs);
        // What follows is the statement.
        const [message = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
        emit({ type: 'upkeep.failed', source, task, message });
        const place = damagedPlace(error);
        if (place !== undefined) emit({ type: 'database.unreadable', place });
        return undefined;
      }
    },
  };
}
