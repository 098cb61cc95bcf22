import { readCurrent, readCurrentAsync } from '../duckdb/replicas.ts';
import { createRowsList, rowsFolderOf } from './accepted-rows.ts';

type FollowOptions = {
  readonly databasePath: string;
  /** Called when new rows of these sources become visible to queries, whichever process loaded them. */
  readonly onLoaded: (sources: readonly string[]) => void;
  /** Called when accepted rows wait because their own process does not store them. */
  readonly onAbandoned: () => void;
};

/** Milliseconds between two polls. */
const pollMs = 200;

/** Milliseconds that accepted rows may wait before another process takes them over; the clock may have been set back since. */
const abandonedMs = 3000;

/**
 * Follows what any gateway or command loads into a database. It polls, because folders shared between hosts do not report changes.
 * @returns a function that stops following
 */
export function followLoads({ databasePath, onLoaded, onAbandoned }: FollowOptions): () => void {
  const listWaiting = createRowsList(rowsFolderOf(databasePath));
  let known = readCurrent(databasePath);
  let ticks = 0;
  let isLooking = false;
  let isOver = false;
  const timer = setInterval(() => {
    if (!isLooking) void look();
    if (++ticks % 10 === 0) void takeOver();
  }, pollMs).unref();

  async function look(): Promise<void> {
    isLooking = true;
    // If the folder can't be read now, it is polled again; the engine's processes report the problem.
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
    if (files.some(({ acceptedMs }) => Math.abs(Date.now() - acceptedMs) > abandonedMs)) onAbandoned();
  }

  return () => {
    isOver = true;
    clearInterval(timer);
  };
}
