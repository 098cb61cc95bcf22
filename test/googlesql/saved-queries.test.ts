import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { compileForDuckDb } from '../../src/googlesql/compile-duckdb.ts';
import { catalogOf, openSmallDatabase, type SmallDatabase } from './small-database.ts';

const logsAll = readFileSync('sql/logs.all.sql', 'utf8');
const apiCounts = readFileSync('sql/usage.api-counts.sql', 'utf8');
const noBounds = { project: 'p1', iso_timestamp_start: '', iso_timestamp_end: null };

describe.each(['single', 'list'] as const)('the saved queries on the %s layout', layout => {
  let database: SmallDatabase;
  beforeEach(async () => {
    database = await openSmallDatabase(layout);
  });

  it('returns the rows of one project, newest first, ties by id (contract 1.4, 1.9)', async () => {
    await database.insert('cloudflare.logs.prod', [
      { id: 'b', timestamp: '2026-01-15 10:00:00+00', path: '/rest/v1' },
      { id: 'a', timestamp: '2026-01-15 10:00:00+00', message: null },
      { id: 'c', timestamp: '2026-01-15 11:00:00+00', metadata: null },
      { id: 'd', timestamp: '2026-01-15 12:00:00+00', project: 'p2' },
    ]);
    const request = [{ url: 'https://p1.example/rest', path: '/rest/v1', bytes: 1 }];
    const record = { project: 'p1', project_ref: 'p1', score: 0.5 };
    expect(await database.rows(logsAll, { parameters: noBounds })).toEqual([
      { id: 'c', timestamp: 1768474800000000, event_message: 'm', metadata: [] },
      { id: 'a', timestamp: 1768471200000000, event_message: null, metadata: [{ ...record, request: [] }] },
      { id: 'b', timestamp: 1768471200000000, event_message: 'm', metadata: [{ ...record, request }] },
    ]);
  });

  it('takes the start as exclusive and the end as inclusive, to the microsecond (contract 1.5, 1.6, 1.7)', async () => {
    await database.insert('cloudflare.logs.prod', [
      { id: 'start', timestamp: '2026-01-15 10:00:00.000001+00' },
      { id: 'inside', timestamp: '2026-01-15 10:00:00.000002+00' },
      { id: 'end', timestamp: '2026-01-15 10:00:00.000003+00' },
      { id: 'after', timestamp: '2026-01-15 10:00:00.000004+00' },
    ]);
    const rows = await database.rows(`${logsAll};`, {
      parameters: {
        project: 'p1',
        iso_timestamp_start: '2026-01-15T12:00:00.000001+02:00',
        iso_timestamp_end: '2026-01-15T10:00:00.000003Z',
      },
    });
    expect(rows.map(row => (row as { id: string }).id)).toEqual(['end', 'inside']);
  });

  it('answers a caller over a subset whose project stands in the metadata', async () => {
    await database.insert('deno-relay-logs', [
      { id: 'mine', timestamp: '2026-01-15 10:00:00+00' },
      { id: 'theirs', timestamp: '2026-01-15 10:00:00+00', project: 'p2' },
      { id: 'empty', timestamp: '2026-01-15 10:00:00+00', metadata: null },
    ]);
    const callerSql = 'select id from function_edge_logs order by id';
    expect(await database.rows(logsAll, { callerSql, parameters: noBounds })).toEqual([{ id: 'mine' }]);
  });

  it.each([
    ['minutely', '2026-01-15T10:59:59.999999Z', '2026-01-15T11:00:00Z', '2026-01-15T11:00:00'],
    ['hourly', '2026-01-15T10:59:59.999999Z', '2026-01-15T11:59:59Z', '2026-01-15T11:00:00'],
    ['daily', '2026-01-08T11:59:59.999999Z', '2026-01-08T12:00:00Z', '2026-01-08T00:00:00'],
  ])(
    'buckets %s and starts the window inclusively (1: usage.api-counts rule 3)',
    async (interval, before, first, bucket) => {
      await database.insert('cloudflare.logs.prod', [
        { id: 'before', timestamp: before, path: '/rest/v1' },
        { id: 'first', timestamp: first, path: '/auth/v1' },
        { id: 'other', timestamp: first, path: '/rest/v1', url: 'https://p2.example/' },
        { id: 'none', timestamp: first },
      ]);
      expect(await database.rows(apiCounts, { parameters: { interval, project: 'p1\\.' } })).toEqual([
        {
          timestamp: bucket,
          total_rest_requests: 0,
          total_storage_requests: 0,
          total_auth_requests: 1,
          total_realtime_requests: 0,
        },
      ]);
    },
  );
});

it('names columns, parameters and tables of a saved query', () => {
  const parameterNames = ['interval', 'project'];
  const compiled = compileForDuckDb({
    sql: apiCounts,
    catalog: catalogOf('single'),
    parameterNames,
    maxRows: 10,
  });
  expect(compiled.columns[0]).toEqual({ name: 'timestamp', type: 'DATETIME', mode: 'NULLABLE' });
  expect(compiled.parameters.map(p => [p.name, p.kind])).toEqual([
    ['interval', 'DECLARED'],
    ['project', 'DECLARED'],
    ['current_timestamp', 'NOW'],
  ]);
  expect(compiled.tables).toEqual(['cloudflare.logs.prod']);
  expect(compiled.functions).toContain('REGEXP_CONTAINS');
});

it('leaves no sort of a subset, no unnest of a single record and no correlated join in the text', () => {
  const { sql } = compileForDuckDb({
    sql: logsAll,
    callerSql: 'select count(*) as n from function_logs',
    catalog: catalogOf('single'),
    parameterNames: Object.keys(noBounds),
    maxRows: 10,
  });
  expect(sql).not.toMatch(/order by|unnest|exists/);
});

describe('LIMIT and OFFSET of parameters', () => {
  const numbers = 'select x from unnest([1, 2, 3, 4, 5]) x order by x';
  const parameterTypes = new Map([['n', 'INT64' as const]]);
  const rows = async (sql: string, n: string | null, maxRows = 10) => {
    const database = await openSmallDatabase('single');
    const found = await database.rows(sql, { parameters: { n }, parameterTypes, maxRows });
    return found.map(row => (row as { x: number }).x);
  };

  it.each<[sql: string, n: string, x: readonly number[]]>([
    [`${numbers} limit @n`, '2', [1, 2]],
    [`${numbers} limit @n`, '0', []],
    [`${numbers} limit 2 offset @n`, '3', [4, 5]],
    [`${numbers} limit cast(@n as int64) offset @n`, '2', [3, 4]],
    [`select sum(x) as x from (${numbers} desc limit @n)`, '2', [9]],
    [
      `(select 1 as x union all select 2) union all (${numbers} limit @n) order by x desc limit @n`,
      '3',
      [3, 2, 2],
    ],
    [`from unnest([3, 1, 2]) as x |> order by x |> limit @n offset @n`, '1', [2]],
    [`select array_length(array(${numbers} limit @n)) as x`, '4', [4]],
    [`select (${numbers} limit @n) as x`, '1', [1]],
  ])('%s with %s', async (sql, n, x) => {
    expect(await rows(sql, n)).toEqual(x);
  });

  it('cuts what is above the most rows, and says that there are more', async () => {
    // One row more than wanted tells whether rows were cut.
    expect(await rows(`${numbers} limit @n`, '5', 2)).toEqual([1, 2, 3]);
  });

  it.each([[null], ['-1']])('fails for %s', async n => {
    const refusal = `expects a non-negative integer, not ${n ?? 'NULL'}`;
    await expect(rows(`${numbers} limit @n`, n)).rejects.toThrow(`LIMIT ${refusal}`);
    await expect(rows(`${numbers} limit 1 offset @n`, n)).rejects.toThrow(`OFFSET ${refusal}`);
  });

  it('takes no other type', async () => {
    const database = await openSmallDatabase('single');
    await expect(database.rows(`${numbers} limit @n`, { parameters: { n: '1' } })).rejects.toThrow(
      'LIMIT expects a non-negative integer literal or a parameter of type INT64 at [1:58]',
    );
  });
});
