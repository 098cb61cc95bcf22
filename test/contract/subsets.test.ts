import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const savedSql = readFileSync(new URL('../../sql/logs.all.sql', import.meta.url), 'utf8');

/** The table of contract 1.2: subset, source, and where a row's project stands. */
const subsets = [
  ['edge_logs', 'cloudflare.logs.prod', 'project'],
  ['postgres_logs', 'postgres.logs', 'project'],
  ['function_edge_logs', 'deno-relay-logs', 'metadata.project_ref'],
  ['function_logs', 'deno-subhosting-events', 'metadata.project_ref'],
  ['auth_logs', 'gotrue.logs.prod', 'project'],
  ['realtime_logs', 'realtime.logs.prod', 'metadata.project'],
  ['storage_logs', 'storage.logs.prod.2', 'metadata.project'],
  ['postgrest_logs', 'postgREST.logs.prod', 'project'],
  ['pgbouncer_logs', 'pgbouncer.logs.prod', 'project'],
] as const;

const second = (n: number) => `2026-01-15T11:00:0${n}.000000Z`;

/** Three rows of a project and one of another, and one whose metadata names both. */
function rowsOf(source: string, place: string): object[] {
  const [, inner] = place.split('.');
  const row = (id: string, n: number, projects: string[]) => ({
    id: `${source} ${id}`,
    timestamp: second(n),
    event_message: source,
    ...(inner
      ? { metadata: projects.map(project => ({ [inner]: project })) }
      : { project: projects[0], metadata: [{}] }),
  });
  return [
    row('first', 1, ['ours']),
    row('second', 2, ['ours']),
    row('third', 3, ['ours']),
    row('foreign', 2, ['theirs']),
    // A row comes back once, however many elements its metadata has.
    row('twice', 4, ['ours', 'ours']),
    { id: `${source} none`, timestamp: second(5), metadata: [] },
  ];
}

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    rows: Object.fromEntries(subsets.map(([, source, place]) => [source, rowsOf(source, place)])),
    now: '2026-01-15T12:00:00Z',
  });
  return gateway.close;
});

describe.each(subsets)('contract 1.2: subset %s of %s, whose project stands in %s', (subset, source) => {
  const read = async (sql: string, more: Record<string, string> = {}) => {
    const query = new URLSearchParams({ project: 'ours', sql, ...more });
    const { body } = await gateway.get(`/api/endpoints/query/logs.all?${query}`);
    return body.result ?? body.error;
  };
  const names = async (more: Record<string, string> = {}) => {
    const rows = await read(`select id from ${subset} order by timestamp desc`, more);
    return rows.map(({ id }: { id: string }) => id.slice(source.length + 1));
  };

  test('contract 1.3: has exactly the columns `timestamp`, `id`, `event_message`, `metadata`', async () => {
    const [row] = await read(`select * from ${subset} limit 1`);
    expect(Object.keys(row)).toEqual(['timestamp', 'id', 'event_message', 'metadata']);
  });

  test('contract 1.3: is written with the newest rows first', () => {
    const text = new RegExp(`^(?:with )?${subset} as \\(\n(.*?)^\\)`, 'ms').exec(savedSql)?.[1];
    expect(text).toContain(`\`${source}\``);
    expect(text?.trimEnd().endsWith('order by timestamp desc')).toBe(true);
  });

  test('contract 1.4, 1.8: only rows of `project`, each once', async () => {
    expect(await names()).toEqual(['twice', 'third', 'second', 'first']);
  });

  test('contract 1.5, 1.6: start is exclusive, end is inclusive, empty is no bound', async () => {
    expect(await names({ iso_timestamp_start: second(1), iso_timestamp_end: second(3) })).toEqual([
      'third',
      'second',
    ]);
    expect(await names({ iso_timestamp_start: '', iso_timestamp_end: second(1) })).toEqual(['first']);
    expect(await names({ iso_timestamp_start: second(3), iso_timestamp_end: '' })).toEqual(['twice']);
  });

  test('contract 4.5: its source can not be read beside it', async () => {
    expect(await read(`select id from \`${source}\``)).toMatchObject({ code: 'sandbox_refused' });
  });
});

test("contract 4.1, 4.3, 4.4: a caller's statement replaces the whole saved one, and max rows holds", async () => {
  const sql =
    'with mine as (select id from edge_logs) select count(*) as n from mine cross join unnest(generate_array(1, 3))';
  const query = new URLSearchParams({ project: 'ours', sql });
  expect((await gateway.get(`/api/endpoints/query/logs.all?${query}`)).body).toEqual({ result: [{ n: 12 }] });
  const many = new URLSearchParams({
    project: 'ours',
    sql: 'select n from edge_logs, unnest(generate_array(1, 1000)) as n',
  });
  expect((await gateway.get(`/api/endpoints/query/logs.all?${many}`)).body.result).toHaveLength(1000);
});

test("contract 2.17: a fault in a caller's statement has line and column of the caller's own text", async () => {
  const query = new URLSearchParams({ project: 'ours', sql: 'select id\nfrom edge_logs\nwhere nothing = 1' });
  const { status, body } = await gateway.get(`/api/endpoints/query/logs.all?${query}`);
  expect([status, body.error.code, body.error.errors[0]]).toEqual([
    400,
    'invalid_query',
    { reason: 'invalidQuery', message: 'Unrecognized name: nothing at [3:7]', line: 3, column: 7 },
  ]);
});

test('contract 3.1: GraphQL, REST, name and UUID give one answer', async () => {
  const { id } = gateway.endpoint('logs.all');
  const [byName, byId] = await Promise.all(
    ['logs.all', id].map(reference => gateway.get(`/api/endpoints/query/${reference}?project=ours`)),
  );
  const { body } = await gateway.graphql('{ logsAll(project: "ours") { id } }');
  expect(byId?.text).toBe(byName?.text);
  expect(body.data.logsAll).toEqual(byName?.body.result.map((row: { id: string }) => ({ id: row.id })));
});
