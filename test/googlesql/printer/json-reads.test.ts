import { expect, test } from 'vitest';
import { compileForDuckDb } from '../../../src/googlesql/compile-duckdb.ts';
import { catalogOf, openSmallDatabase } from '../small-database.ts';

const database = openSmallDatabase('single');

type Step = { readonly name: string; readonly extra_info: object; readonly children: readonly Step[] };

/** The steps of DuckDB's plan from the last to the scan; that of a query over one table is a chain. */
async function stepsOf(sql: string): Promise<readonly Step[]> {
  const { connection } = await database;
  const compiled = compileForDuckDb({ sql, catalog: catalogOf('single'), parameterNames: [], maxRows: 10 });
  const answer = await connection.runAndReadAll(`explain (format json) ${compiled.sql}`);
  let steps: readonly Step[] = JSON.parse(String(answer.getRows()[0]?.[1]));
  const all: Step[] = [];
  for (; steps[0]; steps = steps[0].children) all.push(steps[0]);
  return all;
}

const table = '`postgres.logs`';
const value = (path: string) => `json_value(event_message, '$.${path}')`;
const base = `(select id, ${value('level')} as level, ${value('deep.code')} as code, ${value('x')} as x, ${value('y')} as y from ${table})`;

test.each([
  ['WHERE', `select ${value('x')} as x, ${value('y')} as y from ${table} where ${value('level')} = 'error'`],
  [
    'WHERE over two',
    `select ${value('x')} as x from ${table} where ${value('level')} = 'e' and ${value('z')} is null`,
  ],
  ['a query around', `select x, y from ${base} where level in ('error', 'fatal')`],
  ['a query around, over two', `select x from ${base} where coalesce(level, code) like '%rror'`],
  ['a query around that', `select x, y from (select * from ${base}) where level = 'error'`],
])('reads further paths of the rows that a condition leaves: %s', async (_, sql) => {
  const steps = await stepsOf(sql);
  const texts = steps.map(step => JSON.stringify(step.extra_info));
  const condition = steps.findIndex(({ name }) => name === 'FILTER');
  const furtherPaths = texts.findIndex(text => text.includes('"json 1"'));
  expect(furtherPaths).toBeGreaterThan(-1);
  expect(condition).toBeGreaterThan(furtherPaths);
  // The condition names what was read, and does not read it again.
  expect(texts[condition]).not.toContain('json_valid');
});
