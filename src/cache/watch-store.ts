import type { Store } from '../store/store.ts';

/** Probes a store in the background. */
export type StoreWatch = {
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
export function watchStore(store: Pick<Store, 'ping'>, { answered, failed }: WatchOptions): StoreWatch {
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
