import { expect, test } from 'vitest';
import { parseSource } from '../../src/endpoints/parse-source.ts';
import type { LoadingEvent } from '../../src/loading/loading-events.ts';
import { createRetentionClock, withRetention } from '../../src/loading/retention.ts';

const hourMs = 3_600_000;
const startMs = Date.UTC(2026, 0, 15);

/** A system whose time goes on, and can be set. */
function openClock() {
  const time = { wallMs: startMs, steadyMs: 5000 };
  const events: LoadingEvent[] = [];
  const clock = { now: () => time.wallMs, steady: () => time.steadyMs };
  const now = createRetentionClock(clock, event => events.push(event));
  /** Lets hours pass, and sets the clock by more of them. @returns the hours that retention has since the start */
  const after = (hours: number, set = 0) => {
    time.steadyMs += hours * hourMs;
    time.wallMs += (hours + set) * hourMs;
    return (now() - startMs) / hourMs;
  };
  return { after, events };
}

test("the time is the system's, also where it was set by up to an hour, or back", () => {
  const { after, events } = openClock();
  expect([after(2), after(1, 0.9), after(1, 0.9), after(1, -50), after(1)]).toEqual([
    2, 3.9, 5.8, -43.2, -42.2,
  ]);
  expect(events).toEqual([]);
});

test('a clock that is set far ahead is not believed until it is set right', () => {
  const { after, events } = openClock();
  expect([after(1, 24 * 365), after(10), after(2, -24 * 365), after(1)]).toEqual([1, 11, 13, 14]);
  expect(events).toEqual([{ type: 'clock.doubted', aheadMs: 24 * 365 * hourMs }]);
});

test('after a day it is believed', () => {
  const { after, events } = openClock();
  expect([after(1, 100), after(12), after(11.5), after(0.5), after(1)]).toEqual([1, 13, 24.5, 125, 126]);
  // Another time it is doubted again.
  expect([after(1, 100), after(24)]).toEqual([127, 251]);
  expect(events).toHaveLength(2);
});

test('a source without its own days or megabytes has those of all, unless it has no time by which a row is old', () => {
  const source = (more: string) =>
    parseSource('rows.yaml', `name: rows\n${more}columns: { n: INT64, at: TIMESTAMP }\n`, '/');
  const all = ['time: at\n', 'time: at\nretentionDays: 3\n', 'time: at\nretentionMb: 5\n', ''].map(source);
  const kept = withRetention(all, { days: 7, megabytes: 100 });
  expect(kept.map(({ retentionDays, retentionMb }) => [retentionDays, retentionMb])).toEqual([
    [7, 100],
    [3, 100],
    [7, 5],
    [undefined, undefined],
  ]);
  expect(withRetention(all, {}).map(({ retentionDays }) => retentionDays)).toEqual([
    undefined,
    3,
    undefined,
    undefined,
  ]);
});
