import { beforeAll, expect, test } from 'vitest';
import { compileForDuckDb } from '../../../src/googlesql/compile-duckdb.ts';
import { catalogOf, openSmallDatabase, type SmallDatabase } from '../small-database.ts';

let database: SmallDatabase;
beforeAll(async () => {
  database = await openSmallDatabase('single');
  const rows = ['a', 'b', 'c'].map(id => ({
    id,
    timestamp: '2026-01-15 10:00:00+00',
    path: id === 'c' ? undefined : '/',
  }));
  await database.insert('cloudflare.logs.prod', rows);
  // The plan before it is made physical names the elements of constant lists.
  await database.connection.run("set explain_output = 'optimized_only'");
});

function print(sql: string): string {
  return compileForDuckDb({ sql, catalog: catalogOf('single'), parameterNames: [], maxRows: 10 }).sql;
}

async function planOf(sql: string): Promise<string> {
  const answer = await database.connection.runAndReadAll(`explain ${print(sql)}`);
  return answer.getRows().join();
}

async function rowsOf(sql: string): Promise<unknown[]> {
  const answer = await database.connection.runAndReadAll(print(sql));
  return answer.getRows().map(([row]) => JSON.parse(String(row)));
}

test.each([
  'generate_array(1, 20000)',
  "split(repeat('a,', 20000), ',')",
  "generate_date_array('1900-01-01', '1960-01-01')",
  "generate_timestamp_array('2026-01-01', '2026-01-02', interval 5 second)",
])('DuckDB makes the list of %s while the statement runs, not while it prepares it', async list => {
  const plan = await planOf(`select count(*) as n from unnest(${list}) as x`);
  expect(plan).toContain('UNNEST');
  expect(plan.match(/, /g)?.length ?? 0).toBeLessThan(100);
});

const logs = '`cloudflare.logs.prod` as t';

test('a list beside rows that it does not read is made once, not for each of them', async () => {
  const alone = await planOf(`select id, x from ${logs}, unnest(generate_array(1, 20000)) as x`);
  expect(alone).toContain('CROSS_PRODUCT');
  const ofRow = await planOf(`select id, x from ${logs}, unnest(generate_array(1, length(id))) as x`);
  expect(ofRow).toContain('UNNEST');
  expect(ofRow).not.toMatch(/JOIN|CROSS_PRODUCT/);
});

test.each([
  ['unnest(generate_array(1, 3)) as x where x > 1', [2, 3]],
  ['unnest(generate_array(1, 3)) as x with offset as o where o = 1', [2]],
  ['unnest(generate_array(1, 3)) as x join unnest([2, 3]) as y on x = y', [2, 3]],
  ['unnest(generate_array(1, 3)) as x left join unnest([3, 4]) as y on x = y', [1, 2, 3]],
  [`${logs}, unnest(generate_array(1, 2)) as x where id = 'b'`, [1, 2]],
  [`${logs} join unnest(generate_array(1, 2)) as x on id = if(x = 1, 'a', 'd')`, [1]],
  [`${logs} left join unnest(generate_array(1, 2)) as x on id = if(x = 1, 'a', 'd')`, [1, null, null]],
  [`${logs}, unnest(generate_array(2, 1)) as x`, []],
  [`unnest(cast(null as array<int64>)) as x, ${logs}`, []],
  [`unnest(generate_array(1, 2)) as x, ${logs}, unnest([x, 5]) as y where y = 5`, [1, 1, 1, 2, 2, 2]],
  [
    'unnest([1, 3]) as z left join (unnest(generate_array(1, 2)) as x cross join unnest([7]) as y) on z = x',
    [1, null],
  ],
  [`${logs}, unnest(metadata) as m, unnest(m.request) as r, unnest(generate_array(1, 2)) as x`, [1, 1, 2, 2]],
])('the elements of lists: %s', async (from, expected) => {
  const rows = await rowsOf(`select x from ${from} order by x nulls last`);
  expect(rows).toEqual(expected.map(x => ({ x })));
});
