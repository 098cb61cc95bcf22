import { constants, PerformanceObserver } from 'node:perf_hooks';
import { expect, onTestFinished, test } from 'vitest';
import { createCalmCollector, hintAtMemory } from '../../src/composition/collect-when-calm.ts';

const megabyte = 1024 * 1024;

/** A process of which each tick says how many megabytes it holds and how long it was busy. */
function openProcess() {
  let [heldMb, busyMs, collections] = [0, 0, 0];
  const tick = createCalmCollector({
    heldBytes: () => heldMb * megabyte,
    busyMs: () => busyMs,
    collect: () => void collections++,
  });
  /** @returns how often it collected */
  return (seconds: number, now: { readonly heldMb: number; readonly busyMs?: number }): number => {
    const before = collections;
    for (let n = 0; n < seconds; n++) {
      heldMb = now.heldMb;
      busyMs += now.busyMs ?? 1;
      tick();
    }
    return collections - before;
  };
}

test('contract 11.5: what a flood has left is collected once, when it is over', () => {
  const pass = openProcess();
  expect(pass(10, { heldMb: 60 })).toBe(0);
  expect(pass(10, { heldMb: 200, busyMs: 900 })).toBe(0);
  expect(pass(2, { heldMb: 200 })).toBe(1);
  expect(pass(60, { heldMb: 70 })).toBe(0);
});

test('what lives is not collected again and again', () => {
  const pass = openProcess();
  pass(5, { heldMb: 60 });
  expect(pass(60, { heldMb: 140 })).toBe(1);
  expect(pass(60, { heldMb: 170 })).toBe(0);
  expect(pass(60, { heldMb: 173 })).toBe(1);
});

test('what V8 has collected itself is known', () => {
  const pass = openProcess();
  pass(5, { heldMb: 60 });
  pass(60, { heldMb: 140 });
  pass(1, { heldMb: 50, busyMs: 900 });
  expect(pass(5, { heldMb: 90 })).toBe(1);
});

test('one busy second defers it', () => {
  const pass = openProcess();
  pass(5, { heldMb: 60 });
  for (let n = 0; n < 20; n++) {
    expect(pass(1, { heldMb: 200, busyMs: 900 })).toBe(0);
    expect(pass(1, { heldMb: 200 })).toBe(0);
  }
});

test('V8 collects upon the hint, though nothing is allocated', async () => {
  let collections = 0;
  const observer = new PerformanceObserver(list => {
    collections += list.getEntries().filter(isMajor).length;
  });
  observer.observe({ entryTypes: ['gc'] });
  onTestFinished(() => observer.disconnect());
  hintAtMemory();
  await expect.poll(() => collections, { timeout: 20_000 }).toBeGreaterThan(0);
});

/** What Node says of a collection; the type of the entries does not know it. */
type Collected = PerformanceEntry & { readonly detail: { readonly kind: number } };

const isMajor = (entry: PerformanceEntry) =>
  (entry as Collected).detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
