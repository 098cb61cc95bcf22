import { readCurrent, readCurrentAsync } from '../duckdb/replicas.ts';
import { createRowsList, rowsFolderOf } from './accepted-rows.ts';

type FollowOptions = {
  readonly databasePath: string;
  /** Called when queries see new rows of these sources, whichever process has loaded them. */
  readonly onLoaded: (sources: readonly string[]) => void;
  /** Called when accepted rows wait that their own process does not store. */
  readonly onLeft: () => void;
};

/** Milliseconds between two looks. */
const lookMs = 200;

/** Milliseconds that accepted rows may wait before another process takes them over; the clock may have been set back since. */
const leftMs = 3000;

/**
 * Watches what is loaded into a database, by whichever gateway or command. It looks instead of listening: folders that hosts share report
 * no changes.
 * @returns a function that ends it
 */
export function followLoads({ databasePath, onLoaded, onLeft }: FollowOptions): () => void {
  const listWaiting = createRowsList(rowsFolderOf(databasePath));
  let known = readCurrent(databasePath);
  let ticks = 0;
  let isLooking = false;
  let isOver = false;
  const timer = setInterval(() => {
    if (!isLooking) void look();
    if (++ticks % 10 === 0) void takeOver();
  }, lookMs).unref();

  async function look(): Promise<void> {
    isLooking = true;
    // A folder that can't be read now is looked at again; the engine's processes report it.
    const current = await readCurrentAsync(databasePath).catch(() => known);
    isLooking = false;
    if (isOver || current.version === known.version) return;
    const changed = Object.keys(current.loads).filter(
      source => current.loads[source] !== known.loads[source],
    );
    known = current;
    if (changed.length > 0) onLoaded(changed);
  }

  async function takeOver(): Promise<void> {
    const files = await listWaiting().catch(() => []);
    if (files.some(({ acceptedMs }) => Math.abs(Date.now() - acceptedMs) > leftMs)) onLeft();
  }

  return () => {
    isOver = true;
    clearInterval(timer);
  };
}
