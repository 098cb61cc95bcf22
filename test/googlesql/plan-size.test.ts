import { DuckDBTypeId } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { compileForDuckDb } from '../../src/googlesql/compile-duckdb.ts';
import { quoteText } from '../../src/googlesql/tree/quote-text.ts';
import { catalogOf, openSmallDatabase } from './small-database.ts';

const database = openSmallDatabase('single');

/** Characters of the plan that DuckDB makes, every expression of it written out: macros and named values as what they became. */
async function planSize(sql: string): Promise<number> {
  const { connection } = await database;
  const compiled = compileForDuckDb({ sql, catalog: catalogOf('single'), parameterNames: [], maxRows: 10 });
  const answer = await connection.runAndReadAll(
    `select json_serialize_plan(${quoteText(compiled.sql)}, optimize := false)`,
  );
  const plan = String(answer.getRows()[0]);
  expect(JSON.parse(plan)).toMatchObject({ error: false });
  return plan.length;
}

const from = `(select id, timestamp as t, cast(json_value(event_message, '$.d') as float64) as x,
  lower(event_message) as s from \`postgres.logs\`)`;

test.each([
  ['round(… / 1000, 2)', 'round(', ' / 1000, 2)', 'abs(x)'],
  ['a division by itself', 'safe_divide(', ', x)', 'abs(x)'],
  ['greatest', 'greatest(1, ', ')', 'abs(x)'],
  ['an operand of CASE', 'case ', ' when 1 then 2 when 3 then 4.5 end', 'abs(x)'],
  ['an operand of BETWEEN', 'if(', ' between 1 and 2, 1.5, x)', 'abs(x)'],
  ['a text read as a number', 'cast(cast(', ' as string) as float64)', 'abs(x)'],
  ['a text read as a time', 'cast(cast(', ' as string) as timestamp)', 'timestamp_trunc(t, day)'],
  ['a substring', 'substr(', ', 2, 3)', 'upper(s)'],
  ['padding', 'lpad(', ", 9, 'x')", 'upper(s)'],
  ['JSON in JSON', 'json_value(', ", '$.a')", 'upper(s)'],
  ['WITH', 'with(w as ', ', w + w / 2)', 'abs(x)'],
  ['comparing STRUCTs', 'if((', ', 1) = (2, x), 1.5, x)', 'abs(x)'],
  ['a STRUCT in a list', 'if((', ', 1) in ((2, 3), (4, x)), 1.5, x)', 'abs(x)'],
  ['a STRUCT in an array', 'if((', ', 1) in unnest([(2.5, 3), (4.5, 5)]), 1.5, x)', 'abs(x)'],
  ['comparing ARRAYs', 'if([', '] = [x], 1.5, x)', 'abs(x)'],
  ['INTERVAL values', 'extract(second from make_interval(1, second => cast(', ' as int64)) * 2)', 'abs(x)'],
  ['justified', 'extract(hour from justify_interval(make_interval(day => cast(', ' as int64))))', 'abs(x)'],
  ['RANGE values', 'range_start(range(', ", date '2030-01-01'))", 'date(t)'],
  ['an element', 'split(', ", '/')[safe_offset(1)]", 'upper(s)'],
])('plans %s as large as it is deep', async (_, open, close, inner) => {
  const sizes: number[] = [];
  for (const depth of [0, 1, 2]) {
    const nested = `${open.repeat(depth)}${inner}${close.repeat(depth)}`;
    sizes.push(await planSize(`select ${nested} as v from ${from}`));
  }
  const [first, second, third] = sizes as [number, number, number];
  expect((third - second) / (second - first)).toBeLessThan(1.1);
});

test('plans nothing before the values of parameters are there, for it would plan twice', async () => {
  const { connection } = await database;
  const typeOf = async (sql: string) => (await connection.prepare(sql)).parameterTypeId(1);
  const request = { catalog: catalogOf('single'), parameterNames: ['p'], maxRows: 10 };
  const { sql } = compileForDuckDb({ ...request, sql: 'select id from `postgres.logs` where id = @p' });
  expect(await typeOf(sql)).toBe(DuckDBTypeId.INVALID);
  // What DuckDB knows of a parameter once it has planned.
  expect(await typeOf(sql.replace("$p1 || ''", '$p1'))).toBe(DuckDBTypeId.VARCHAR);
});
