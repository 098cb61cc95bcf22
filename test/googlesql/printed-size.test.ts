import { expect, test } from 'vitest';
import { printDuckDb } from '../../src/googlesql/printer/print-duckdb.ts';
import { type BoundExpression, call } from '../../src/googlesql/tree/bound-tree.ts';
import { scalar } from '../../src/googlesql/tree/types.ts';
import { compileCaller } from '../sandbox/compile-caller.ts';

const from = "(select cast(json_value(event_message, '$.d') as float64) as x from edge_logs)";
const nested = (depth: number, open: string, close: string, core: string) =>
  open.repeat(depth) + core + close.repeat(depth);
const sizeOf = (expression: string) => compileCaller(`select ${expression} as v from ${from}`).sql.length;

test.each([
  ['round(… / 1000, 2)', 'round(', ' / 1000, 2)'],
  ['a division by itself', 'safe_divide(', ', x)'],
  ['greatest', 'greatest(1, ', ')'],
  ['a text read as a number', 'cast(cast(', ' as string) as float64)'],
  ['an operand of CASE', 'case ', ' when 1 then 2 when 3 then 4.5 end'],
  ['an operand of BETWEEN', 'if(', ' between 1 and 2, 1.5, x)'],
  [
    'a time as a text of a format',
    'length(cast(timestamp_micros(cast(',
    " as int64)) as string format 'YYYY'))",
  ],
  ['a time zone', "format_timestamp('%F', timestamp '2026-01-15', cast(", ' as string))'],
  ['a substring', 'length(substr(cast(', ' as string), 2, 3))'],
  ['a place in a text', "length(substr('abc', 1 + 2 * ", '))', '2'],
  ['a pattern', "if('abc' like '%' || cast(", " as string) || '%', 1.5, x)"],
  ['elements and their places', '(select max(u + o) from unnest([', ']) as u with offset as o)'],
  ['an outer join with elements', '(select max(u) from unnest([1.5]) as u left join unnest([', ']) as v)'],
  [
    'an outer join with elements and a condition',
    '(select max(u + o) from unnest([1.5]) as u left join unnest([',
    ']) as v with offset as o on u = v)',
  ],
  [
    'a condition of an outer join with elements',
    '(select max(u) from unnest([1.5]) as u left join unnest([1.5]) as v on u = v and v = ',
    ')',
    '1.5',
  ],
])('prints %s as long as it is deep', (_, open, close, core = 'x') => {
  const [two, four, eight] = [2, 4, 8].map(depth => sizeOf(nested(depth, open, close, core)));
  // Aliases from r10 on are longer.
  expect((eight! - four!) / (four! - two!)).toBeCloseTo(2, 1);
});

test.each([
  "round(cast(json_value(event_message, '$.d') as float64) / 1000, 2)",
  'round(sum(length(event_message)) / 1024 / 1024 / 1024, 2)',
  'round(approx_quantiles(length(event_message), 100)[offset(95)] / 1000, 2)',
])('answers what dashboards ask: %s', expression => {
  expect(compileCaller(`select ${expression} as v from edge_logs`).sql.length).toBeLessThan(5000);
});

test('repeats a number or text that is calculated of constants: a name for it would be looked up in each row', () => {
  const sqlOf = (value: string) => compileCaller(`select ${value} as v from edge_logs`).sql;
  expect(sqlOf("substr(event_message, 9 + cast('20' as int64))")).not.toContain('lambda');
  expect(sqlOf("event_message like concat('%', 'x', '%')")).not.toContain('lambda');
  expect(sqlOf('substr(event_message, length(id) + 1)')).toContain('lambda');
  expect(sqlOf('substr(event_message, cast(10 * rand() as int64))')).toContain('lambda');
});

test('contract 11.2: stops printing what multiplies itself', () => {
  const type = scalar('STRING');
  let value: BoundExpression = { kind: 'literal', type, value: 'x' };
  for (let depth = 0; depth < 18; depth++) value = call('TWICE', 'twice($1, $2)', [value, value], type);
  const body = { kind: 'select', distinct: false, items: [value], from: undefined } as const;
  const columns = [{ name: 'x', anonymous: false, type }];
  const print = () =>
    printDuckDb(
      { subsets: [], body, orderBy: [], columns },
      { maxRows: 1, placeholderOf: String, nowPlaceholder: 'now' },
    );
  expect(print).toThrow('Too many expressions');
});
