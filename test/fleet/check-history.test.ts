import { describe, expect, test } from 'vitest';
import { checkHistory } from './check-history.ts';
import type { AskedRequest, Fault, History, Invalidation, Run } from './history.ts';

const run = (id: number, startMs: number, more: Partial<Run> = {}): Run => ({
  id,
  gateway: 0,
  key: 'k',
  startMs,
  endMs: startMs + 100,
  ...more,
});

const asked = (sentMs: number, ofRun: number, more: Partial<AskedRequest> = {}): AskedRequest => ({
  gateway: 1,
  key: 'k',
  sentMs,
  endedMs: sentMs + 5,
  status: 200,
  state: 'HIT',
  run: ofRun,
  ...more,
});

const invalidated = (sentMs: number, more: Partial<Invalidation> = {}): Invalidation => ({
  gateway: 1,
  key: 'k',
  sentMs,
  endedMs: sentMs + 5,
  status: 200,
  ...more,
});

const paused = (type: 'redis paused' | 'redis killed', fromMs: number, untilMs: number): Fault => ({
  type,
  fromMs,
  untilMs,
});
const out = (
  type: 'gateway paused' | 'gateway killed' | 'store lost',
  gateway: number,
  fromMs: number,
  untilMs: number,
): Fault => ({ type, gateway, fromMs, untilMs });
const moved = (gateway: number, offsetMs: number, fromMs: number, untilMs: number): Fault => ({
  type: 'clock moved',
  gateway,
  offsetMs,
  fromMs,
  untilMs,
});

/** Entries are fresh for two seconds and stale for two more. */
function check(history: Partial<History>) {
  return checkHistory({
    freshMs: 2000,
    staleMs: 2000,
    requests: [],
    runs: [],
    invalidations: [],
    faults: [],
    ...history,
  });
}

type Cases = {
  readonly bad: readonly (readonly [words: string, history: Partial<History>])[];
  readonly good: readonly (readonly [words: string, history: Partial<History>, checked: number])[];
};

/** What breaks a rule, and what is like it and keeps it, with how often the rule was put to the test. */
const cases: Readonly<
  Record<keyof ReturnType<typeof checkHistory>['checked'], Cases>
> = {
  answered: {
    bad: [
      ['an error', { requests: [asked(0, 0, { status: 504 })] }],
      ['no response', { requests: [asked(0, 0, { status: 0 })] }],
      [
        'an error while Redis is away',
        { requests: [asked(500, 0, { status: 503 })], faults: [paused('redis killed', 0, 1000)] },
      ],
      [
        'no response of a gateway beside one that is killed',
        { requests: [asked(500, 0, { status: 0 })], faults: [out('gateway killed', 0, 400, 1000)] },
      ],
      [
        'no response of a gateway that was paused',
        { requests: [asked(500, 0, { status: 0 })], faults: [out('gateway paused', 1, 400, 1000)] },
      ],
    ],
    good: [
      ['rows', { runs: [run(1, 0)], requests: [asked(200, 1)] }, 1],
      [
        'no response of a gateway that is killed',
        { requests: [asked(500, 0, { status: 0 })], faults: [out('gateway killed', 1, 503, 1000)] },
        0,
      ],
    ],
  },
  'one query a lease': {
    bad: [
      ['two gateways at once', { runs: [run(1, 0), run(2, 50, { gateway: 1 })] }],
      ['one gateway twice', { runs: [run(1, 0), run(2, 50)] }],
      [
        'at once, with an invalidation of another key',
        { runs: [run(1, 0), run(2, 50)], invalidations: [invalidated(20, { key: 'other' })] },
      ],
      ['at once, with a moved clock', { runs: [run(1, 0), run(2, 50)], faults: [moved(0, 3_600_000, 0, 1000)] }],
      [
        'at once, while somebody else is paused',
        { runs: [run(1, 0), run(2, 50, { gateway: 1 })], faults: [out('gateway paused', 2, 0, 1000)] },
      ],
      ['at once, long after Redis was back', { runs: [run(1, 9000), run(2, 9050)], faults: [paused('redis paused', 0, 500)] }],
    ],
    good: [
      ['one after the other', { runs: [run(1, 0), run(2, 100)] }, 1],
      ['two keys', { runs: [run(1, 0), run(2, 50, { key: 'other' })] }, 0],
      ['an invalidation between', { runs: [run(1, 0), run(2, 50)], invalidations: [invalidated(20)] }, 0],
      [
        'an invalidation just before, after the lease was taken',
        { runs: [run(1, 500), run(2, 550)], invalidations: [invalidated(400)] },
        0,
      ],
      [
        'an invalidation of all between',
        { runs: [run(1, 0), run(2, 50)], invalidations: [invalidated(20, { key: undefined })] },
        0,
      ],
      ['Redis just back', { runs: [run(1, 3000), run(2, 3050)], faults: [paused('redis killed', 0, 500)] }, 0],
      [
        'a paused holder',
        { runs: [run(1, 0, { endMs: 6000 }), run(2, 5000)], faults: [out('gateway paused', 0, 50, 5500)] },
        0,
      ],
      [
        'a gateway that lost the store',
        { runs: [run(1, 0), run(2, 50, { gateway: 1 })], faults: [out('store lost', 1, 20, 60)] },
        0,
      ],
    ],
  },
  'stale bound': {
    bad: [
      ['too old', { runs: [run(1, 0)], requests: [asked(4001, 1)] }],
      ['too old, called a miss', { runs: [run(1, 0)], requests: [asked(4001, 1, { state: 'MISS' })] }],
      ['too old, without Redis', { runs: [run(1, 0)], requests: [asked(4001, 1)], faults: [paused('redis paused', 0, 9000)] }],
      [
        'made by a clock that was far ahead',
        { runs: [run(1, 0)], requests: [asked(4001, 1)], faults: [moved(0, 3_600_000, 0, 100)] },
      ],
      [
        'read by a clock that was far behind',
        { runs: [run(1, 0)], requests: [asked(4001, 1)], faults: [moved(1, -3_600_000, 3000, 5000)] },
      ],
      ['older than a small difference allows', { runs: [run(1, 0)], requests: [asked(5001, 1)], faults: [moved(0, 1000, 0, 100)] }],
      ['another clock was ahead', { runs: [run(1, 0)], requests: [asked(4900, 1)], faults: [moved(2, 1000, 0, 9000)] }],
    ],
    good: [
      ['just young enough', { runs: [run(1, 0)], requests: [asked(4000, 1)] }, 1],
      ['made by a clock that was a little ahead', { runs: [run(1, 0)], requests: [asked(5000, 1)], faults: [moved(0, 1000, 0, 100)] }, 1],
      ['waited for', { runs: [run(1, 0, { endMs: 6000 })], requests: [asked(4500, 1, { endedMs: 6001, state: 'MISS' })] }, 0],
    ],
  },
  'no way back': {
    bad: [
      ['older rows', { runs: [run(1, 0), run(2, 200)], requests: [asked(400, 2), asked(1500, 1)] }],
      [
        'older rows of a holder that was paused, in a gateway that was not',
        {
          runs: [run(1, 0, { endMs: 3900 }), run(2, 3500, { gateway: 1 })],
          requests: [asked(3700, 2), asked(5000, 1)],
          faults: [out('gateway paused', 0, 50, 4000)],
        },
      ],
    ],
    good: [
      ['newer rows', { runs: [run(1, 0), run(2, 200)], requests: [asked(150, 1), asked(1500, 2)] }, 1],
      ['the same moment', { runs: [run(1, 0), run(2, 200)], requests: [asked(400, 2), asked(450, 1)] }, 0],
      [
        'what a request waited for',
        { runs: [run(1, 0), run(2, 200)], requests: [asked(400, 2), asked(1500, 1, { state: 'MISS' })] },
        0,
      ],
      [
        'a gateway just back',
        {
          runs: [run(1, 0), run(2, 200)],
          requests: [asked(400, 2), asked(1500, 1, { gateway: 2 })],
          faults: [out('gateway paused', 2, 100, 1400)],
        },
        0,
      ],
      [
        'Redis lost them',
        {
          runs: [run(1, 0), run(2, 200)],
          requests: [asked(400, 2), asked(1500, 1)],
          faults: [paused('redis killed', 500, 600)],
        },
        0,
      ],
    ],
  },
  'after an invalidation': {
    bad: [
      ['at the same gateway', { runs: [run(1, 0)], invalidations: [invalidated(500)], requests: [asked(506, 1)] }],
      ['at another', { runs: [run(1, 0)], invalidations: [invalidated(500, { gateway: 0 })], requests: [asked(1506, 1)] }],
      ['of all', { runs: [run(1, 0)], invalidations: [invalidated(500, { key: undefined })], requests: [asked(506, 1)] }],
      [
        'of a query under way',
        {
          runs: [run(1, 0, { endMs: 900 })],
          invalidations: [invalidated(500)],
          requests: [asked(600, 1, { state: 'MISS', endedMs: 905 })],
        },
      ],
      [
        'lost by Redis, though everybody had heard',
        {
          runs: [run(1, 0)],
          invalidations: [invalidated(500)],
          requests: [asked(7000, 1)],
          faults: [paused('redis killed', 2000, 2500)],
        },
      ],
    ],
    good: [
      ['a newer query', { runs: [run(1, 0), run(2, 510)], invalidations: [invalidated(500)], requests: [asked(700, 2)] }, 1],
      ['not yet acknowledged', { runs: [run(1, 0)], invalidations: [invalidated(500)], requests: [asked(504, 1)] }, 0],
      ['refused', { runs: [run(1, 0)], invalidations: [invalidated(500, { status: 503 })], requests: [asked(506, 1)] }, 0],
      ['of another key', { runs: [run(1, 0)], invalidations: [invalidated(500, { key: 'other' })], requests: [asked(506, 1)] }, 0],
      ['at a gateway that is just told', { runs: [run(1, 0)], invalidations: [invalidated(500, { gateway: 0 })], requests: [asked(600, 1)] }, 0],
      [
        'missed by a gateway that was paused, and lost by Redis',
        {
          runs: [run(1, 0)],
          invalidations: [invalidated(500)],
          requests: [asked(9000, 1)],
          faults: [out('gateway paused', 2, 400, 900), paused('redis killed', 2000, 2500)],
        },
        0,
      ],
    ],
  },
}; // biome-ignore format: a table

describe.each(Object.entries(cases))('%s', (rule, { bad, good }) => {
  test.each([...bad])('is broken: %s', (_, history) => {
    const { violations } = check(history);
    expect(violations.filter(each => each.startsWith(`${rule}: `))).toHaveLength(1);
  });

  test.each([...good])('holds: %s', (_, history, checked) => {
    const verdict = check(history);
    expect(verdict.violations.filter(each => each.startsWith(`${rule}: `))).toEqual([]);
    expect(verdict.checked[rule as keyof typeof cases]).toBe(checked);
  });
});
