import { beforeAll, describe, expect, test } from 'vitest';
import type { SourceField, SourceFields } from '../../src/endpoints/source.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

/** Each subset of `logs.all`, its source, and the leaf of its metadata that names the project. */
const subsets = [
  ['edge_logs', 'cloudflare.logs.prod'],
  ['postgres_logs', 'postgres.logs'],
  ['function_edge_logs', 'deno-relay-logs', 'project_ref'],
  ['function_logs', 'deno-subhosting-events', 'project_ref'],
  ['auth_logs', 'gotrue.logs.prod'],
  ['realtime_logs', 'realtime.logs.prod', 'project'],
  ['storage_logs', 'storage.logs.prod.2', 'project'],
  ['postgrest_logs', 'postgREST.logs.prod'],
  ['pgbouncer_logs', 'pgbouncer.logs.prod'],
] as const;

/** A value of each type, in every leaf. */
function filled(field: SourceField): unknown {
  if (Array.isArray(field)) return [filled(field[0])];
  if (typeof field === 'object') return filledRecord(field);
  const values: Partial<Record<typeof field, unknown>> = {
    STRING: 'a "quoted" text',
    INT64: 9_007_199_254_740_991,
    FLOAT64: 1.5,
    BOOL: true,
    TIMESTAMP: '2026-01-15T11:00:00Z',
  };
  return values[field];
}

const filledRecord = (fields: SourceFields): object =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, filled(field)]));

/** A full row, one of which the records are empty, and where the project is a column one without metadata. */
function rowsOf(source: string, leaf: string | undefined): object[] {
  const { columns } = readSources().find(({ name }) => name === source)!;
  const full = filledRecord(columns) as { metadata: [object] };
  const project = leaf ? { [leaf]: 'ours' } : {};
  const row = (id: string, metadata: object[]) => ({
    ...full,
    ...(leaf ? {} : { project: 'ours' }),
    id,
    timestamp: '2026-01-15T11:00:00Z',
    metadata,
  });
  const rows = [row('full', [{ ...full.metadata[0], ...project }]), row('hollow', [project])];
  return leaf ? rows : [...rows, row('none', [])];
}

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    rows: Object.fromEntries(subsets.map(([, source, leaf]) => [source, rowsOf(source, leaf)])),
    now: '2026-01-15T12:00:00Z',
  });
  return gateway.close;
});

async function ask(sql: string): Promise<unknown> {
  const query = new URLSearchParams({ project: 'ours', sql });
  const { status, body } = await gateway.get(`/api/endpoints/query/logs.all?${query}`);
  return status === 200 ? body.result : { sql, status, body };
}

/** What hands `metadata` on unchanged; each must answer as the column itself does. */
const unchanged: readonly string[] = [
  'select id, any_value(metadata) as metadata from $t group by id',
  'select id, any_value(metadata having max timestamp) as metadata from $t group by id',
  'select id, any_value(metadata having min timestamp) as metadata from $t group by id',
  'select id, max_by(metadata, timestamp) as metadata from $t group by id',
  'select id, min_by(metadata, timestamp) as metadata from $t group by id',
  'select id, array_agg(struct(metadata as f))[offset(0)].f as metadata from $t group by id',
  ...[
    'first_value(metadata)',
    'last_value(metadata)',
    'nth_value(metadata, 1)',
    'any_value(metadata)',
    'lag(metadata, 0)',
    'lead(metadata, 0)',
  ].map(call => `select id, ${call} over (partition by id order by timestamp) as metadata from $t`),
  ...[
    'coalesce(metadata, metadata)',
    'ifnull(metadata, metadata)',
    'if(id is null, null, metadata)',
    'case when id is null then null else metadata end',
    'array_concat(metadata)',
    'array_concat(metadata, [])',
    'array_reverse(metadata)',
    'array(select m from unnest(metadata) m)',
    '(select metadata)',
    '(select array_agg(m) from unnest(metadata) m)',
    'struct(metadata as f).f',
    'coalesce(struct(metadata as f), struct(metadata as f)).f',
    '[struct(metadata as f)][offset(0)].f',
  ].map(value => `select id, ${value} as metadata from $t`),
  'select id, metadata from (select id, coalesce(metadata, metadata) as metadata from $t)',
  'with c as (select id, coalesce(metadata, metadata) as metadata from $t) select id, a.metadata from c a join c b using (id)',
  "select id, metadata from $t where id = 'full' union all select id, coalesce(metadata, metadata) from $t where id != 'full'",
  "select id, coalesce(metadata, metadata) as metadata from $t where id = 'full' union all select id, metadata from $t where id != 'full'",
  'select id, metadata from (select *, row_number() over (order by id) as n from $t) qualify lag(metadata) over (order by id) is null or n > 0',
];

describe.each(subsets.map(([subset]) => subset))('subset %s', subset => {
  test.each(unchanged)('answers as the column itself: %s', async sql => {
    const plain = (await ask(`select id, metadata from ${subset} order by id`)) as { id: string }[];
    expect(plain.length).toBeGreaterThan(1);
    const rows = await ask(sql.replaceAll('$t', subset));
    expect(Array.isArray(rows) ? rows.toSorted((a, b) => (a.id < b.id ? -1 : 1)) : rows).toEqual(plain);
  });

  test('answers records around it, and what is counted in it', async () => {
    const plain = (await ask(`select id, metadata from ${subset} order by id`)) as {
      id: string;
      metadata: unknown[];
    }[];
    const sql = `select id, struct(coalesce(metadata, metadata) as m, [struct(metadata as n)] as l) as s,
      (select count(*) from unnest(metadata)) as c, (select array_agg(m) from unnest(metadata) m) as a from ${subset} order by id`;
    expect(await ask(sql)).toEqual(
      plain.map(({ id, metadata }) => ({
        id,
        s: { m: metadata, l: [{ n: metadata }] },
        c: metadata.length,
        a: metadata,
      })),
    );
  });
});

test.each([
  "select datetime(timestamp, 'Nowhere/Land') as x from edge_logs",
  "select timestamp_trunc(timestamp, day, 'Nowhere/Land') as x from edge_logs",
  "select extract(hour from timestamp at time zone 'Nowhere/Land') as x from edge_logs",
  "select format_timestamp('%H', timestamp, 'Nowhere/Land') as x from edge_logs",
  "select parse_timestamp('%Y', '2026', 'Nowhere/Land') as x from edge_logs",
  "select timestamp('2026-01-15 10:00:00', 'Nowhere/Land') as x from edge_logs",
  "select current_date('Nowhere/Land') as x from edge_logs",
  "select datetime(timestamp, concat('Nowhere', '/Land')) as x from edge_logs",
])("an unknown time zone is the caller's fault: %s", async sql => {
  expect(await ask(sql)).toMatchObject({
    status: 400,
    body: {
      error: { code: 'invalid_query', message: expect.stringMatching(/^Invalid time zone: Nowhere\/Land/) },
    },
  });
});

test('a literal in an unknown time zone is no timestamp', async () => {
  const literal = '2026-01-15 10:00:00 Nowhere/Land';
  expect(await ask(`select timestamp '${literal}' as x`)).toMatchObject({
    status: 400,
    body: {
      error: {
        code: 'invalid_query',
        message: expect.stringMatching(
          /^Could not cast literal "2026-01-15 10:00:00 Nowhere\/Land" to type TIMESTAMP/,
        ),
      },
    },
  });
});
