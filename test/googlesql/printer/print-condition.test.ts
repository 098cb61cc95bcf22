import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { compileForDuckDb } from '../../../src/googlesql/compile-duckdb.ts';
import { catalogOf, openSmallDatabase, type SmallDatabase } from '../small-database.ts';

const logsAll = readFileSync('sql/logs.all.sql', 'utf8');

let database: SmallDatabase;
beforeAll(async () => {
  database = await openSmallDatabase('single');
  const paths = ['/rest/v1', '/auth/v1', undefined];
  const rows = paths.map((path, n) => ({ id: `${n}`, timestamp: '2026-01-15 10:00:00+00', path }));
  await database.insert('cloudflare.logs.prod', rows);
});

type Node = {
  readonly name: string;
  readonly extra_info: Readonly<Record<string, unknown>>;
  readonly children: readonly Node[];
};

/** What DuckDB plans for a caller's SQL: the conditions in its scans, and those above them. */
async function conditionsOf(callerSql: string) {
  const parameterNames = ['project', 'iso_timestamp_start', 'iso_timestamp_end'];
  const request = { sql: logsAll, callerSql, catalog: catalogOf('single'), parameterNames, maxRows: 10 };
  const { sql, parameters } = compileForDuckDb(request);
  const prepared = await database.connection.prepare(`explain (format json) ${sql}`);
  for (const { name, placeholder } of parameters)
    prepared.bindVarchar(prepared.parameterIndex(placeholder), name === 'project' ? 'p1' : '');
  const [[, plan] = []] = (await prepared.runAndReadAll()).getRows();
  const nodes: Node[] = [];
  const collect = (node: Node): void => {
    nodes.push(node);
    node.children.forEach(collect);
  };
  (JSON.parse(String(plan)) as Node[]).forEach(collect);
  const named = (name: RegExp) => nodes.filter(node => name.test(node.name)).map(node => node.extra_info);
  return {
    scan: named(/SCAN/)
      .map(({ Filters }) => String(Filters))
      .join(),
    above: JSON.stringify(named(/^FILTER/)),
  };
}

const records = 'from edge_logs cross join unnest(metadata) as m cross join unnest(m.request) as r';

test('a condition on a record stays above the scan, and one on a column is in it', async () => {
  const { scan, above } = await conditionsOf(
    `select id ${records} where r.path like '/rest%' and r.url != 'x' and id > '0'`,
  );
  expect(scan).toContain("project='p1'");
  expect(scan).toContain("id>'0'");
  expect(scan).not.toContain('/rest');
  expect(above).toContain('/rest');
  expect(above).toContain("'x'");
});

test('so does the test of a record that is unnested', async () => {
  const { scan, above } = await conditionsOf(`select id ${records}`);
  expect(scan).not.toContain('NULL');
  expect(above).toContain('IS NOT NULL');
});

test.each([
  ["where r.path like '/rest%'", ['0']],
  ["where r.path not like '/rest%' and id > '0'", ['1']],
  ['', ['0', '1']],
  [
    "where r.path like '/rest%' and exists (select 1 from unnest(metadata) as x where x.project = 'p1')",
    ['0'],
  ],
])('rows kept: %s', async (where, ids) => {
  const parameters = { project: 'p1', iso_timestamp_start: '', iso_timestamp_end: '' };
  const callerSql = `select id ${records} ${where} order by id`;
  expect(await database.rows(logsAll, { callerSql, parameters })).toEqual(ids.map(id => ({ id })));
});
