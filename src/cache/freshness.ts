/** How long an entry may be served, and when; all in milliseconds, counted as the comments say. */
export type Lifetimes = {
  /** From its creation: served as it is. */
  readonly freshMs: number;
  /** From the end of `freshMs`: served while one refresh runs. */
  readonly staleMs: number;
  /** From the end of `freshMs`: served if the query fails. */
  readonly staleIfErrorMs: number;
};

/** How an entry of some age may be used; `stale-if-error` only if the query for a newer one fails. */
export type Freshness = 'fresh' | 'stale' | 'stale-if-error' | 'gone';

/** Milliseconds by which the clocks of two gateways may differ: by more, one of them was set, or is wrong. */
const maxSkewMs = 5000;

/**
 * Says how an entry may be used; a function of its age alone. Slightly negative ages (a faster clock elsewhere) are fresh. An
 * entry from further in the future is gone: nobody knows its age, and it would stay fresh until that time has come.
 */
export function freshnessOf(ageMs: number, { freshMs, staleMs, staleIfErrorMs }: Lifetimes): Freshness {
  if (ageMs < -maxSkewMs) return 'gone';
  if (ageMs < freshMs) return 'fresh';
  if (ageMs < freshMs + staleMs) return 'stale';
  if (ageMs < freshMs + staleIfErrorMs) return 'stale-if-error';
  return 'gone';
}

/** Milliseconds after which an entry is never served. */
export function keptMs({ freshMs, staleMs, staleIfErrorMs }: Lifetimes): number {
  return freshMs + Math.max(staleMs, staleIfErrorMs);
}

/**
 * Draws whether this reader refreshes a fresh entry ahead of its time, so that a hot key is new before it is stale and no
 * two gateways meet at the same second. The longer the query and the nearer the end, the likelier; a key that is seldom
 * read is hardly ever drawn.
 * Source: Vattani, Chierichetti, Lowenstein, "Optimal Probabilistic Cache Stampede Prevention" (VLDB 2015), with β = 1.
 * @param loadMs what making the entry took
 * @param random in (0, 1]
 */
export function isDrawnEarly(ageMs: number, loadMs: number, freshMs: number, random: number): boolean {
  return ageMs - loadMs * Math.log(random) >= freshMs;
}
