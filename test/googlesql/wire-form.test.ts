import { beforeAll, expect, it } from 'vitest';
import { openSmallDatabase, type SmallDatabase } from './small-database.ts';

let database: SmallDatabase;
beforeAll(async () => {
  database = await openSmallDatabase('single');
});

it.each<[string, unknown]>([
  ["timestamp '2026-01-15 10:00:00.000001+02:00'", 1768464000000001],
  ["datetime '2026-08-21 14:00:00'", '2026-08-21T14:00:00'],
  ["datetime '2026-08-21 14:00:00.5'", '2026-08-21T14:00:00.500000'],
  ["date '0001-02-03'", '0001-02-03'],
  ["cast('nan' as float64)", 'NaN'],
  ["cast('-inf' as float64)", '-Infinity'],
  ['1e300', 1e300],
  ["numeric '-0.50'", '-0.5'],
  [String.raw`b'a\xffb'`, 'Yf9i'],
  ['json \'{"b": 1, "a": 1.50}\'', '{"a":1.5,"b":1}'],
  [String.raw`'é😀\x01\"\\'`, 'é😀\u0001"\\'],
  [String.raw`'a\x00b'`, 'a\u0000b'],
  ['struct(null as a, [struct(1 as b)] as c)', { a: null, c: [{ b: 1 }] }],
  ['cast(null as array<int64>)', []],
  ['cast(null as timestamp)', null],
])('writes %s as contract 2.12 says', async (expression, expected) => {
  expect(await database.rows(`select ${expression} as v`)).toEqual([{ v: expected }]);
});

it('writes all digits of an INT64', async () => {
  const { compileForDuckDb } = await import('../../src/googlesql/compile-duckdb.ts');
  const sql = 'select 9223372036854775807 as v, -9223372036854775808 as w';
  const compiled = compileForDuckDb({ sql, catalog: new Map(), parameterNames: [], maxRows: 1 });
  const result = await database.connection.runAndReadAll(compiled.sql);
  expect(result.getRows()).toEqual([['{"v":9223372036854775807,"w":-9223372036854775808}']]);
});

it.each<[string, unknown]>([
  ['7 / 2', 3.5],
  ['div(-7, 2)', -3],
  ['cast(2.5 as int64)', 3],
  ['cast(-2.5 as int64)', -3],
  ["safe_cast('1.5' as int64)", null],
  ["safe_cast('t' as bool)", null],
  ["substr('hello', -3, 2)", 'll'],
  ["concat('a', null)", null],
  [String.raw`regexp_extract('abc123', r'([a-z]+)\d')`, 'abc'],
  [String.raw`'a%c' like r'a\%c'`, true],
  [String.raw`'abc' like r'a\%c'`, false],
  ["trim('\\t x\\n')", 'x'],
  ["json_value('nope', '$.a')", null],
  ["extract(week from date '2026-03-01')", 9],
  ["timestamp_trunc(timestamp '1969-12-31 23:59:58.5+00', minute)", -60000000],
  ["timestamp_trunc(timestamp '2026-03-08 12:00:00+00', day, 'America/New_York')", 1772946000000000],
  ["timestamp_diff(timestamp '2026-01-15 10:00:00+00', timestamp '2026-01-15 10:01:59+00', minute)", -1],
  ["date_diff(date '2026-01-18', date '2026-01-17', week)", 1],
  ["format_timestamp('%E3S $1 %e', timestamp '2026-03-01 03:04:05.12+00')", '05.120 $1  1'],
  ["parse_timestamp('%F %T %z', '2026-03-01 01:02:03 +0200')", 1772319723000000],
  ["safe.parse_timestamp('%F', 'xx')", null],
  ['3 in unnest([1, null])', null],
  ['greatest(1, null)', null],
])('answers %s as BigQuery does', async (expression, expected) => {
  expect(await database.rows(`select ${expression} as v`)).toEqual([{ v: expected }]);
});

it.each([
  ["cast('1.5' as int64)", /Bad int64 value: 1.5/],
  ['7 / 0', /division by zero/],
  ['[1][offset(1)]', /Array index 1 is out of bounds/],
  ['generate_array(1, 1000000000)', /too many elements/],
  ["cast(concat('inf', 'inity') as timestamp)", /Invalid timestamp: 'infinity'/],
])('fails %s with a clear reason', async (expression, message) => {
  await expect(database.rows(`select ${expression} as v`)).rejects.toThrow(message);
});

it.each([
  ['2026-01-15T10:00:00.123456Z', 1768471200123456],
  ['2026-01-15 10:00:00+01:00', 1768467600000000],
  ['2026-01-15', 1768435200000000],
  ['', null],
  [null, null],
])('reads the parameter %s as a time', async (p, expected) => {
  const sql = "select cast(nullif(@p, '') as timestamp) as v";
  expect(await database.rows(sql, { parameters: { p } })).toEqual([{ v: expected }]);
});

it.each([
  'infinity',
  'epoch',
  'not a supported TIMESTAMP: 2026-01-15',
  '2026-01-15 (BC)',
  '2026-01-15\n',
  '\n2026-01-15',
  '2026-01-15\n2026-01-15',
])('refuses the parameter %j as a time', async p => {
  const rows = database.rows('select cast(@p as timestamp) as v', { parameters: { p } });
  await expect(rows).rejects.toThrow('not a supported TIMESTAMP: ');
});
