import fc from 'fast-check';
import { expect, test } from 'vitest';
import { freshnessOf, isDrawnEarly, keptMs } from '../../src/cache/freshness.ts';

const lifetimes = { freshMs: 900, staleMs: 60, staleIfErrorMs: 3600 };

test.each([
  [-3_600_000, 'gone'],
  [-5001, 'gone'],
  [-5000, 'fresh'],
  [-5, 'fresh'],
  [0, 'fresh'],
  [899, 'fresh'],
  [900, 'stale'],
  [959, 'stale'],
  [960, 'stale-if-error'],
  [4499, 'stale-if-error'],
  [4500, 'gone'],
])('an age of %d ms is %s', (ageMs, freshness) => {
  expect(freshnessOf(ageMs, lifetimes)).toBe(freshness);
});

test('an entry never gets fresher with age, and is gone exactly when it is no longer kept', () => {
  const rank = ['fresh', 'stale', 'stale-if-error', 'gone'];
  const ms = fc.nat(10_000);
  fc.assert(
    fc.property(ms, ms, ms, ms, ms, (freshMs, staleMs, staleIfErrorMs, ageMs, olderBy) => {
      const some = { freshMs, staleMs, staleIfErrorMs };
      const now = freshnessOf(ageMs, some);
      expect(rank.indexOf(freshnessOf(ageMs + olderBy, some))).toBeGreaterThanOrEqual(rank.indexOf(now));
      expect(now === 'gone').toBe(ageMs >= keptMs(some));
    }),
  );
});

test('an early refresh is more likely, the longer the query takes and the nearer the end is', () => {
  const chance = (ageMs: number, loadMs: number) => {
    const draws = Array.from({ length: 1000 }, (_, at) =>
      isDrawnEarly(ageMs, loadMs, 900_000, (at + 1) / 1000),
    );
    return draws.filter(Boolean).length / 1000;
  };
  expect(chance(0, 1000)).toBe(0);
  // exp(-remaining / loadMs), by the paper.
  expect(chance(898_000, 1000)).toBeCloseTo(Math.exp(-2), 2);
  expect(chance(898_000, 4000)).toBeCloseTo(Math.exp(-0.5), 2);
  expect(chance(899_999, 1000)).toBeCloseTo(1, 2);
});
