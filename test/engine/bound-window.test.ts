import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { formatTimestamp } from '../../src/base/format-timestamp.ts';
import { maxTimestamp, minTimestamp, parseTimestamp } from '../../src/base/parse-timestamp.ts';
import { boundWindow } from '../../src/engine/bound-window.ts';
import type { Window } from '../../src/engine/engine.ts';
import '../support/seed-properties.ts';

const hour = 3_600_000;
const window: Window = {
  start: 'since',
  end: 'until',
  default: { text: '1h', ms: hour },
  max: { text: '24h', ms: 24 * hour },
};
const now = Date.parse('2026-01-15T12:00:00Z');

function bound(since: string | null, until: string | null): unknown[] {
  const parameters = [
    { name: 'project', value: 'p' },
    { name: 'until', value: until },
    { name: 'since', value: since },
  ];
  return boundWindow(window, parameters, now).map(({ value }) => value);
}

describe('absent bounds', () => {
  test.each([
    ['both', null, null, '2026-01-15T11:00:00.000000Z', '2026-01-15T12:00:00.000000Z'],
    [
      'the start',
      null,
      '2026-01-10T00:30:00.000001Z',
      '2026-01-09T23:30:00.000001Z',
      '2026-01-10T00:30:00.000001Z',
    ],
    [
      'the end',
      '2026-01-15T09:00:00.000000Z',
      null,
      '2026-01-15T09:00:00.000000Z',
      '2026-01-16T09:00:00.000000Z',
    ],
    [
      'none',
      '2026-01-01T00:00:00.000000Z',
      '2026-01-02T00:00:00.000000Z',
      '2026-01-01T00:00:00.000000Z',
      '2026-01-02T00:00:00.000000Z',
    ],
  ])('%s', (_, since, until, start, end) => {
    expect(bound(since, until)).toEqual(['p', end, start]);
  });
});

test.each([
  [
    '2026-01-01T00:00:00.000000Z',
    '2026-01-02T00:00:00.000001Z',
    'Parameter "since" is "2026-01-01T00:00:00.000000Z"; allowed: at most 24h before "until", which is "2026-01-02T00:00:00.000001Z"',
  ],
  [
    '2026-01-14T11:59:59.999999Z',
    null,
    'Parameter "since" is "2026-01-14T11:59:59.999999Z"; allowed: at most 24h before now, which is the end where "until" is absent',
  ],
])(
  'a wider window is refused with the parameter, its value and the bound: %s to %s',
  (since, until, message) => {
    expect(() => bound(since, until)).toThrow(new GatewayError('invalid_parameter', message));
  },
);

const timestamp = fc.bigInt({ min: minTimestamp, max: maxTimestamp });
const nearNow = fc
  .bigInt({ min: -200n * 3_600_000_000n, max: 200n * 3_600_000_000n })
  .map(by => BigInt(now) * 1000n + by);
const value = fc.option(fc.oneof(nearNow, timestamp).map(formatTimestamp));

test('whatever is asked for, the query has two bounds no further apart than the window', () => {
  fc.assert(
    fc.property(value, value, (since, until) => {
      let bounds: unknown[];
      try {
        bounds = bound(since, until);
      } catch (error) {
        return error instanceof GatewayError && error.code === 'invalid_parameter';
      }
      const [, end, start] = bounds.map(text => parseTimestamp(String(text))!);
      const keeps = (given: string | null, is: bigint) => given === null || parseTimestamp(given) === is;
      return end! - start! <= 24n * 3_600_000_000n && keeps(since, start!) && keeps(until, end!);
    }),
    { numRuns: 2000 },
  );
});
