import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatTimestamp } from '../../src/base/format-timestamp.ts';
import { parseTimestamp } from '../../src/base/parse-timestamp.ts';

const canonical = (text: string) => {
  const micros = parseTimestamp(text);
  return micros === undefined ? undefined : formatTimestamp(micros);
};

test.each([
  ['2026-01-15T10:00:00.123456Z', '2026-01-15T10:00:00.123456Z'],
  ['2026-01-15 10:00:00', '2026-01-15T10:00:00.000000Z'],
  ['2026-01-15t10:00:00z', '2026-01-15T10:00:00.000000Z'],
  ['2026-01-15 10:00:00.5 UTC', '2026-01-15T10:00:00.500000Z'],
  ['2026-01-15T12:01:59.999998+02:00', '2026-01-15T10:01:59.999998Z'],
  ['2026-01-15T12:01:59+02', '2026-01-15T10:01:59.000000Z'],
  ['2026-01-15T10:00:00-0830', '2026-01-15T18:30:00.000000Z'],
  ['2026-07-15 10:00:00 America/New_York', '2026-07-15T14:00:00.000000Z'],
  ['2026-1-5', '2026-01-05T00:00:00.000000Z'],
  ['2026-01-15 02:00', '2026-01-15T02:00:00.000000Z'],
  ['1969-12-31T23:59:59.5Z', '1969-12-31T23:59:59.500000Z'],
  ['0001-01-01', '0001-01-01T00:00:00.000000Z'],
  ['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59.999999Z'],
])('reads %s as %s', (text, expected) => {
  expect(canonical(text)).toBe(expected);
});

test('cuts digits beyond microseconds off', () => {
  expect(canonical('2026-01-15T10:00:00.123456999Z')).toBe('2026-01-15T10:00:00.123456Z');
});

test('reads the blank that an unencoded + becomes as a +', () => {
  expect(canonical('2026-01-15T12:00:00 02:00')).toBe('2026-01-15T10:00:00.000000Z');
});

test.each([
  'yesterday', '', '2026', '2026-02-30', '2026-13-01', '2026-01-15T24:00:00Z', '2026-01-15T10:00:60Z', '0000-01-01',
  '2026-01-15T10:00:00+15:00', '2026-01-15T10:00:00 Nowhere/City', '2026-01-15T10:00:001', '2026-01-15T10:00:00.Z',
  '2026-01-15T10:00:00Zz', ' 2026-01-15', '10000-01-01', '0001-01-01T00:00:00+01:00', '1768471200',
])('refuses %j', text => {
  expect(parseTimestamp(text)).toBeUndefined();
}); // biome-ignore format: a list

test('every instant of the range reads back from its canonical text', () => {
  const instant = fc.bigInt({ min: -62_135_596_800_000_000n, max: 253_402_300_799_999_999n });
  fc.assert(fc.property(instant, micros => parseTimestamp(formatTimestamp(micros)) === micros));
});
