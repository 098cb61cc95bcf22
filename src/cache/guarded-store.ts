import { performance } from 'node:perf_hooks';
import type { Store } from '../store/store.ts';
import { StoreError } from '../store/store-error.ts';
import type { CacheEvent } from './cache-events.ts';

/** The current state of the store; the reason names no host and may be made public. */
export type StoreHealth = {
  readonly isUp: boolean;
  /** Why it is down, or which part of its work it refuses; absent while all is well. */
  readonly reason?: string;
};

/** A store that costs its callers little time when it fails. */
export type GuardedStore = {
  /** Whether the store answered last time. */
  readonly isUp: boolean;
  /** The same, with a reason; does not ask the store. */
  health(): StoreHealth;
  /** Whether it also accepted the last write. */
  readonly takesWrites: boolean;
  /** Milliseconds of one request's budget. */
  readonly budgetMs: number;
  /**
   * Calls the store, unless it is down.
   * @returns undefined if it is down, did not answer in time or refused, or if the budget is spent
   */
  call<T>(operation: string, budget: Budget, run: (store: Store) => Promise<T>): Promise<T | undefined>;
  /**
   * Waits up to a second for a store that was just opened; if it does not answer, it is down until it does. From then on it is
   * probed, so that a change is noticed within two seconds even without requests.
   */
  connect(): Promise<void>;
  /** Subscribes to the messages of the store. */
  subscribe: Store['subscribe'];
  close(): Promise<void>;
};

/** Milliseconds that one request may still spend on the store, however many calls it makes (contract 5.13). */
export type Budget = { remainingMs: number };

/** One request's budget by default. */
const defaultBudgetMs = 50;

/** Milliseconds to wait for the first connection before the start goes on without it. */
const connectTimeoutMs = 1000;

type GuardOptions = {
  readonly emit: (event: CacheEvent) => void;
  /**
   * Monotonic milliseconds of waiting. Default: the time for which this process was idle, because a reply that stays
   * unread while the process is busy is not the store's fault.
   */
  readonly waitedMs?: () => number;
  /** One request's budget: as long as the store's own deadline, so that the first call needs no second timer. Default 50. */
  readonly budgetMs?: number | undefined;
};

/**
 * Guards a store with a circuit breaker: one call without an answer opens it, or two probes in a row. Probes run in the
 * background all the time, so that no request has to find out whether the store is gone or back. A store that
 * refuses a call stays in use because it can still be read. Each change emits one event.
 */
export function guardStore(store: Store, options: GuardOptions): GuardedStore {
  const { emit, budgetMs = defaultBudgetMs } = options;
  const { waitedMs = () => performance.eventLoopUtilization().idle } = options;
  let state: 'up' | 'refusing' | 'down' = 'up';
  let isClosed = false;
  const watch = watchStore(store, {
    answered: () => {
      if (state === 'down') change('up');
    },
    failed: error => {
      if (state !== 'down' && !isClosed) failed('ping', error);
    },
  });

  function change(next: typeof state, message = ''): void {
    if (state === next || isClosed) return;
    state = next;
    if (next === 'up') emit({ type: 'store.up' });
    else emit({ type: `store.${next}`, message });
    if (next === 'down') watch.probeSoon();
  }

  function failed(operation: string, error: unknown): void {
    if (!(error instanceof StoreError)) throw error;
    emit({ type: 'store.failed', operation, message: error.message });
    if (error.isRefusal) change(state === 'down' ? 'down' : 'refusing', error.message);
    else change('down', error.message);
  }

  function outOfTime(operation: string): undefined {
    emit({ type: 'store.failed', operation, message: 'The request had no time left for the store' });
  }

  return {
    get isUp() {
      return state !== 'down';
    },
    health() {
      if (state === 'up') return { isUp: true };
      if (state === 'refusing') return { isUp: true, reason: 'The store of the cache refuses to write' };
      return { isUp: false, reason: 'The store of the cache does not answer' };
    },
    get takesWrites() {
      return state === 'up';
    },
    budgetMs,
    async call(operation, budget, run) {
      if (state === 'down') return undefined;
      if (budget.remainingMs <= 0) return outOfTime(operation);
      const startedMs = waitedMs();
      try {
        const answer = budget.remainingMs < budgetMs ? await within(budget, run(store)) : await run(store);
        if (answer === late) return outOfTime(operation);
        if (state === 'refusing' && provesWriting(operation, answer)) change('up');
        return answer;
      } catch (error) {
        failed(operation, error);
        return undefined;
      } finally {
        budget.remainingMs -= waitedMs() - startedMs;
      }
    },
    async connect() {
      const failure = await firstFailure(store);
      if (failure !== undefined) failed('ping', failure);
      if (state !== 'down') watch.start();
    },
    subscribe: listener => store.subscribe(listener),
    async close() {
      isClosed = true;
      watch.close();
      await store.close();
    },
  };
}

/** Probes until the first answer or the time-out. @returns the last error; undefined after an answer */
async function firstFailure(store: Store): Promise<unknown> {
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
  }, connectTimeoutMs);
  try {
    for (;;) {
      const failure = await store.ping().catch((error: unknown) => error);
      if (failure === undefined || isOver) return failure;
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  } finally {
    clearTimeout(timer);
  }
}

const late = Symbol('late');

/** Bounds a call whose budget is partly spent; a full budget is the store's own deadline and needs no timer. */
async function within<T>({ remainingMs }: Budget, answer: Promise<T>): Promise<T | typeof late> {
  const { promise, resolve } = Promise.withResolvers<typeof late>();
  // After the replies that have already arrived are read.
  const timer = setTimeout(() => setImmediate(resolve, late), remainingMs);
  try {
    return await Promise.race([answer, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether an answer proves that the store accepts writes: a full store still reports who holds a lease, and extends and ends leases. */
function provesWriting(operation: string, answer: unknown): boolean {
  if (operation === 'claim')
    return typeof answer === 'object' && answer !== null && 'state' in answer && answer.state === 'granted';
  return operation === 'publish' ? answer === true : operation === 'remove' || operation === 'bumpGeneration';
}

/** Probes a store in the background. */
type StoreWatch = {
  /** Probes at the pace of a store that is down: it has just been found to be so. */
  probeSoon(): void;
  /** Starts probing at the pace of a store that is up. */
  start(): void;
  close(): void;
};

type WatchOptions = {
  readonly answered: () => void;
  /** Called from the second unanswered probe in a row: one late answer does not mean that the store is down. */
  readonly failed: (error: unknown) => void;
};

/** Milliseconds between probes of a store that is down, or that missed the last probe. */
const probeMs = 250;

/** Milliseconds between probes of a store that answers: an idle gateway notices within two seconds that it is gone. */
const watchMs = 1000;

/** Makes a watch that pings the store once a second while it answers, and four times a second while it does not. */
function watchStore(store: Pick<Store, 'ping'>, { answered, failed }: WatchOptions): StoreWatch {
  let timer: NodeJS.Timeout | undefined;
  let missed = 0;
  let isClosed = false;

  function probeIn(ms: number): void {
    clearTimeout(timer);
    if (!isClosed) timer = setTimeout(() => void probe(), ms).unref();
  }

  async function probe(): Promise<void> {
    try {
      await store.ping();
      missed = 0;
      answered();
      probeIn(watchMs);
    } catch (error) {
      if (++missed > 1) failed(error);
      probeIn(probeMs);
    }
  }

  return {
    probeSoon: () => probeIn(probeMs),
    start: () => probeIn(watchMs),
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
