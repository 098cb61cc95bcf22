import type { StoreNews } from '../store/store.ts';

/** What ended a wait: the value is there, its maker gave up (with a note), or the time was over. */
export type Woken =
  | { readonly type: 'published' | 'timeout' }
  | { readonly type: 'released'; readonly note: string };

/** A place in the line of those who wait for news of a key. */
export type Wait = {
  /**
   * Resolves with the first news since the line was joined.
   * @throws the signal's reason when it aborts first
   */
  next(timeoutMs: number, signal: AbortSignal): Promise<Woken>;
  leave(): void;
};

/** Those who wait in this process for values that others make. */
export type NewsBoard = {
  /** Joins the line before asking for the lease, so that nothing is missed between the two. */
  join(digest: string): Wait;
  /** Passes news on to those who wait for it. */
  tell(news: StoreNews): void;
};

/** Makes an empty board. */
export function createNewsBoard(): NewsBoard {
  const lines = new Map<string, Set<(woken: Woken) => void>>();

  function join(digest: string): Wait {
    const line = lines.get(digest) ?? new Set();
    lines.set(digest, line);
    let news = Promise.withResolvers<Woken>();
    const hear = (woken: Woken) => news.resolve(woken);
    line.add(hear);
    return {
      async next(timeoutMs, signal) {
        signal.throwIfAborted();
        const timer = setTimeout(hear, timeoutMs, { type: 'timeout' });
        const leave = () => news.reject(signal.reason);
        signal.addEventListener('abort', leave, { once: true });
        try {
          return await news.promise;
        } finally {
          clearTimeout(timer);
          signal.removeEventListener('abort', leave);
          news = Promise.withResolvers<Woken>();
        }
      },
      leave() {
        line.delete(hear);
        if (line.size === 0 && lines.get(digest) === line) lines.delete(digest);
      },
    };
  }

  return {
    join,
    tell(news) {
      if (news.type === 'published') wake(news.key, { type: 'published' });
      if (news.type === 'released') wake(news.key, { type: 'released', note: news.note });
      // Whoever made the value can't publish it any more.
      if (news.type === 'removed') wake(news.key, { type: 'released', note: '' });
    },
  };

  function wake(digest: string, woken: Woken): void {
    for (const hear of lines.get(digest) ?? []) hear(woken);
  }
}
