import type { Store } from '../store/store.ts';

/** Looks after a store in the background. */
export type StoreWatch = {
  /** Looks soon: the store has just been found to be down. */
  lookSoon(): void;
  /** Looks from now on, at the pace of a store that is up. */
  start(): void;
  close(): void;
};

type WatchOptions = {
  readonly answered: () => void;
  /** Called from the second look in a row that gets no answer: nobody waits for a look, so that one late answer is no death. */
  readonly failed: (error: unknown) => void;
};

/** Milliseconds between two looks at a store that is down, or that has missed the last one. */
const probeMs = 250;

/** Milliseconds between two looks at a store that answers: an idle gateway knows within two seconds that it is gone. */
const watchMs = 1000;

/** Makes a watch that pings the store once a second while it answers, and four times a second while it does not. */
export function watchStore(store: Pick<Store, 'ping'>, { answered, failed }: WatchOptions): StoreWatch {
  let timer: NodeJS.Timeout | undefined;
  let missed = 0;
  let isClosed = false;

  function lookIn(ms: number): void {
    clearTimeout(timer);
    if (!isClosed) timer = setTimeout(() => void look(), ms).unref();
  }

  async function look(): Promise<void> {
    try {
      await store.ping();
      missed = 0;
      answered();
      lookIn(watchMs);
    } catch (error) {
      if (++missed > 1) failed(error);
      lookIn(probeMs);
    }
  }

  return {
    lookSoon: () => lookIn(probeMs),
    start: () => lookIn(watchMs),
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}
