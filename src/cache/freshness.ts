/** How long an entry may be served, and how; all in milliseconds. */
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

/** Milliseconds by which the clocks of two gateways may differ; a larger difference means that one of them was set or is wrong. */
export const maxSkewMs = 5000;

/**
 * How an entry may be used: a function of its age alone. Slightly negative ages (a faster clock elsewhere) are fresh. An
 * entry from further in the future is gone: its age is unknown, and it would stay fresh until that time.
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
 * Decides at random whether this reader refreshes a fresh entry ahead of its time, so that a hot key is refreshed before it is
 * stale, and gateways do not all refresh it in the same second. The slower the query and the nearer the end of the fresh time, the
 * likelier; a key that is seldom read is hardly ever drawn.
 * Source: Vattani, Chierichetti, Lowenstein, "Optimal Probabilistic Cache Stampede Prevention" (VLDB 2015), with β = 1.
 * @param loadMs milliseconds that the entry's query took
 * @param random in (0, 1]
 */
export function isDrawnEarly(ageMs: number, loadMs: number, freshMs: number, random: number): boolean {
  return ageMs - loadMs * Math.log(random) >= freshMs;
}
