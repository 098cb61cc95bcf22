import { type EngineChild, EngineGoneError, startEngineChild } from './engine-child.ts';
import type { EngineEvent } from './engine-events.ts';
import type { Catalog, EngineSettings } from './engine-protocol.ts';

/** The engine's processes: each runs one query at a time, so that queries share neither memory nor crashes. */
export type EnginePool = {
  /**
   * Lends a process for a task: the most recently used one, or a new one.
   * @param options.isNew whether it must be a new one. Default false
   * @throws EngineGoneError after `close`; errors of the task
   */
  use<Result>(task: Task<Result>, options?: { readonly isNew: boolean }): Promise<Result>;
  /** Starts a process in place of one that a query has cost, unless there are enough; resolves when it is ready, or can't start. */
  refill(): Promise<void>;
  /** The tables of the database that a process has open. */
  catalog(): Promise<Catalog>;
  /** The ids of the processes, the oldest first. */
  readonly pids: readonly number[];
  /**
   * Replaces the processes with ones of other settings once the first of these is ready; running queries end in theirs.
   * @returns the tables of the new process
   * @throws EngineGoneError if it can't start: the settings stay as they were
   */
  replace(settings: EngineSettings): Promise<Catalog>;
  close(): Promise<void>;
};

type Task<Result> = (child: EngineChild) => Promise<Result>;

type PoolOptions = {
  readonly settings: EngineSettings;
  readonly maxProcesses: number;
  readonly emit: (event: EngineEvent) => void;
  /** Milliseconds after which an idle process is ended, unless it is the last. Default a minute. */
  readonly idleMs?: number;
};

type Idle = { readonly child: EngineChild; readonly timer: NodeJS.Timeout };

/** Makes an empty pool: the first task starts a process. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: short functions over one set of processes
export function createEnginePool(options: PoolOptions): EnginePool {
  const { maxProcesses, emit, idleMs = 60_000 } = options;
  let { settings } = options;
  const living = new Set<EngineChild>();
  /** Processes that were asked to end and have not ended yet. */
  const ending = new Set<EngineChild>();
  /** Processes with earlier settings: each ends after its query. */
  const outdated = new WeakSet<EngineChild>();
  /** Processes that keep much memory and whose replacement is starting. */
  const replacing = new WeakSet<EngineChild>();
  let idle: Idle[] = [];
  let isClosed = false;

  function start(isUrgent = true): EngineChild {
    const startedMs = performance.now();
    const child = startEngineChild(settings, { isUrgent, onWorn: () => replaceIdle(child) });
    living.add(child);
    child.catalog.then(
      () => emit({ type: 'engine.started', pid: child.pid, ms: performance.now() - startedMs }),
      () => undefined, // `ended` reports it
    );
    void child.ended.then(reason => {
      remove(child);
      ending.delete(child);
      if (!child.isUnwanted) emit({ type: 'engine.stopped', reason });
    });
    return child;
  }

  function take(isNew: boolean): EngineChild {
    if (isClosed) throw new EngineGoneError('closed', 'closed');
    const last = isNew ? undefined : idle.pop();
    clearTimeout(last?.timer);
    if (last) return last.child;
    const child = start();
    // Queries now overlap: a spare process is started so that the next one need not wait.
    if (living.size > 1 && living.size < maxProcesses) giveBack(start());
    return child;
  }

  function giveBack(child: EngineChild): void {
    // It may have been killed, for taking too long, just as its task ended.
    if (child.isGone && living.has(child)) end(child);
    if (!living.has(child)) return;
    if (child.isWorn || outdated.has(child)) {
      end(child);
      // Started now, so that the next query need not wait.
      if (living.size === 0) giveBack(start());
      return;
    }
    const timer = setTimeout(() => {
      if (living.size > 1) end(child);
    }, idleMs).unref();
    idle.push({ child, timer });
  }

  /** Ends an idle process, if need be when another one is ready: queries would have to wait for that. */
  function replaceIdle(child: EngineChild): void {
    const isIdle = () => idle.some(each => each.child === child);
    if (!isIdle() || replacing.has(child)) return;
    if (idle.length > 1) {
      end(child);
      return;
    }
    replacing.add(child);
    const next = start();
    const takeOver = () => {
      giveBack(next);
      if (isIdle()) end(child);
    };
    // If none can start, the old one stays.
    void next.catalog.then(takeOver, () => undefined).finally(() => replacing.delete(child));
  }

  function end(child: EngineChild): void {
    child.kill('closed');
    ending.add(child);
    remove(child);
  }

  function remove(child: EngineChild): void {
    living.delete(child);
    for (const { timer } of idle.filter(each => each.child === child)) clearTimeout(timer);
    idle = idle.filter(each => each.child !== child);
  }

  async function use<Result>(task: Task<Result>, { isNew } = { isNew: false }): Promise<Result> {
    const child = take(isNew);
    try {
      return await task(child);
    } finally {
      giveBack(child);
    }
  }

  return {
    use,
    async refill() {
      if (isClosed || living.size >= maxProcesses) return;
      const child = start(false);
      await child.catalog.catch(() => undefined); // `ended` reports it
      giveBack(child);
    },
    catalog() {
      const any = [...living].find(child => !outdated.has(child));
      return any ? any.catalog : use(child => child.catalog);
    },
    async replace(next) {
      const [before, old] = [settings, [...living]];
      settings = next;
      const child = start();
      try {
        return await child.catalog;
      } catch (error) {
        settings = before;
        throw error;
      } finally {
        if (settings === next) {
          for (const each of old) outdated.add(each);
          for (const { child: each } of idle) if (outdated.has(each)) end(each);
        }
        giveBack(child);
      }
    },
    get pids() {
      return [...living].flatMap(({ pid }) => pid ?? []);
    },
    async close() {
      isClosed = true;
      for (const child of living) end(child);
      await Promise.all([...ending].map(({ ended }) => ended));
    },
  };
}
