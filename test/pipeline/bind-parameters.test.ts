import { expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import type { RawParameters } from '../../src/endpoints/parameters/read-parameter.ts';
import { parseDefinition } from '../../src/endpoints/parse-definition.ts';
import { bindParameters, bindQuery, readCallerSql } from '../../src/pipeline/bind-parameters.ts';
import type { FixedParameters } from '../../src/pipeline/fixed-parameters.ts';

const definition = (sandbox: boolean, since = 'since') =>
  parseDefinition(
    'one.sql',
    `/*
id: 11111111-2222-3333-4444-555555555555
name: one
description: Test.
parameters:
  project: { type: string, required: true, description: A project. }
  interval: { type: enum, values: [minutely, hourly], description: An interval. }
  ${since}: { type: timestamp, description: A bound. }
  url: { type: regexp, description: A pattern. }
columns:
  n: { type: INT64, description: A number. }
sandbox: ${sandbox}
*/
select 1 as n`,
  );

const bind = (raw: RawParameters) => bindParameters(definition(true), { project: 'p', ...raw });
const refusal = (raw: RawParameters) => {
  try {
    bind(raw);
  } catch (error) {
    if (error instanceof GatewayError) return [error.code, error.message];
    throw error;
  }
  throw new Error('accepted');
};

test('binds every declared parameter in the order of the header; what is absent or empty is null', () => {
  expect(bind({ since: '', url: 'a|b', unknown: 'x' })).toEqual([
    { name: 'project', value: 'p' },
    { name: 'interval', value: null },
    { name: 'since', value: null },
    { name: 'url', value: 'a|b' },
  ]);
});

test('contract 8.8: a parameter may have the name of what every object has', () => {
  const own = definition(false, 'constructor');
  const valueFor = (raw: RawParameters, fixed?: FixedParameters) =>
    bindQuery(own, { project: 'p', ...raw }, fixed).parameters[2]?.value;
  const [value, fixed] = ['2026-01-15T10:00:00.000000Z', { constructor: '2026-01-15T10:00:00Z' }];
  expect([valueFor({}), valueFor(fixed), valueFor({}, fixed)]).toEqual([null, value, value]);
});

test('contract 5.1: two spellings of one timestamp are one value', () => {
  const value = { name: 'since', value: '2026-01-15T10:00:00.000000Z' };
  expect(bind({ since: '2026-01-15T10:00:00Z' })).toContainEqual(value);
  expect(bind({ since: '2026-01-15 12:00:00+02:00' })).toContainEqual(value);
});

test('numbers and booleans of a JSON body are read as text', () => {
  expect(bindParameters(definition(true), { project: 42 })[0]).toEqual({ name: 'project', value: '42' });
});

test.each([
  [{ project: '' }, 'Parameter "project" is required; allowed: a non-empty string'],
  [{ project: null }, 'Parameter "project" is required; allowed: a non-empty string'],
  [{ project: ['a'] }, 'Parameter "project" is an array; allowed: a string'],
  [{ project: {} }, 'Parameter "project" is an object; allowed: a string'],
  [{ project: 'a\0b' }, 'Parameter "project" contains a NUL character; allowed: any other text'],
  [{ project: '\ud800' }, 'Parameter "project" contains half of a surrogate pair; allowed: well-formed Unicode text'],
  [{ project: 'x'.repeat(4097) }, 'Parameter "project" has 4097 characters; allowed: at most 4096'],
  [{ interval: 'weekly' }, 'Parameter "interval" is "weekly"; allowed: one of minutely, hourly'],
  [{ interval: 'MINUTELY' }, 'Parameter "interval" is "MINUTELY"; allowed: one of minutely, hourly'],
  [{ since: 'yesterday' }, 'Parameter "since" is "yesterday"; allowed: an ISO 8601 timestamp such as 2026-01-15T10:00:00.123456Z, years 0001 to 9999'],
  [{ url: 'x'.repeat(1025) }, 'Parameter "url" has 1025 characters; allowed: an RE2 regular expression of 1 to 1024 characters'],
])('refuses %j and says what is allowed', (raw, message) => {
  expect(refusal(raw)).toEqual(['invalid_parameter', message]);
}); // biome-ignore format: a table

test.each(['(', '(?=a)', '(?!a)', '\\1', 'a**', '[z-a]', 'a{1001}', '\\p{Emoji}'])(
  'refuses the pattern %s, which RE2 does not know',
  url => {
    expect(refusal({ url })[1]).toMatch(/^Parameter "url" is not a valid pattern \(.+\); allowed: an RE2 /);
  },
);

test('refuses a pattern whose repetitions make a large program before it is compiled, and says the limit', () => {
  const startedMs = performance.now();
  for (let n = 0; n < 100; n++) expect(() => bind({ url: `${n}${'a{1000}'.repeat(140)}` })).toThrow();
  // Compiling them would take a minute.
  expect(performance.now() - startedMs).toBeLessThan(10_000);
  expect(refusal({ url: 'a{1000}'.repeat(140) })).toEqual([
    'invalid_parameter',
    'Parameter "url" is refused: Regular expression is too large: its repetitions make about 140000 instructions; the limit is 1500; allowed: an RE2 regular expression of 1 to 1024 characters',
  ]);
});

test.each(['(?i)x', '(?P<n>a)', '\\pN', '[[:alpha:]]', '\\Qa.b\\E', 'a|b$'])('takes the pattern %s', url => {
  expect(bind({ url })).toContainEqual({ name: 'url', value: url });
});

test("contract 4.2: the caller's SQL is read where the endpoint is sandboxed, and blank text is none", () => {
  expect(readCallerSql(definition(true), { sql: 'select 1' })).toBe('select 1');
  expect(readCallerSql(definition(true), { sql: ' \n' })).toBeUndefined();
  expect(readCallerSql(definition(true), {})).toBeUndefined();
  expect(readCallerSql(definition(false), { sql: 'select 1' })).toBeUndefined();
  expect(() => readCallerSql(definition(true), { sql: 'x'.repeat(65_537) })).toThrow('at most 65536');
});
