import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { openSmallDatabase, type SmallDatabase } from './small-database.ts';

const logsAll = readFileSync('sql/logs.all.sql', 'utf8');
const parameters = { project: 'p1', iso_timestamp_start: '', iso_timestamp_end: '' };

/** Caller's SQL → rows, the same on both layouts. */
const answers: readonly (readonly [string, unknown[]])[] = [
  [
    'select id, m.project_ref, r.path from edge_logs cross join unnest(metadata) as m cross join unnest(m.request) as r order by id',
    [
      { id: 'a', project_ref: 'p1', path: '/rest/v1' },
      { id: 'b', project_ref: 'p1', path: '/auth/v1' },
    ],
  ],
  [
    'select id, path from edge_logs left join unnest(metadata) as m on true left join unnest(m.request) as r on true order by id',
    [
      { id: 'a', path: '/rest/v1' },
      { id: 'b', path: '/auth/v1' },
      { id: 'c', path: null },
      { id: 'd', path: null },
    ],
  ],
  [
    'select path from edge_logs cross join unnest(metadata) as metadata cross join unnest(request) order by path',
    [{ path: '/auth/v1' }, { path: '/rest/v1' }],
  ],
  [
    'select timestamp_trunc(edge_logs.timestamp, hour) as timestamp, count(id) as n, from edge_logs group by timestamp order by timestamp desc;',
    [
      { timestamp: 1768474800000000, n: 1 },
      { timestamp: 1768471200000000, n: 3 },
    ],
  ],
  ['select count(*) from edge_logs', [{ f0_: 4 }]],
  [
    'select array_length(approx_top_sum(id, 1, 3)) as s, array_length(approx_top_count(id, 3)) as c from edge_logs where false',
    [{ s: null, c: null }],
  ],
  // The first key is a constant as soon as it is printed, though it does not look like one.
  [
    "select string_agg(id, '-' order by to_json_string(cast(null as numeric)), id desc) as ids from edge_logs",
    [{ ids: 'd-c-b-a' }],
  ],
  ["select count(*) as n from edge_logs where timestamp > '2026-01-15T10:30:00Z'", [{ n: 1 }]],
  ['select countif(null) as n, sum(null) as s from edge_logs', [{ n: 0, s: null }]],
  ["select id from edge_logs where json_value(event_message, '$.a') = 'x'", [{ id: 'd' }]],
  ['select id, row_number() over (order by id desc) as n from edge_logs qualify n = 1', [{ id: 'd', n: 1 }]],
  ['select array_agg(struct(id as x) order by id desc limit 1) as l from edge_logs', [{ l: [{ x: 'd' }] }]],
  [
    "with e as (select id, timestamp from edge_logs) select id, null as x from e where id = 'a' union all select null, null from e where id = 'b' union all select 'z', 'y' order by id",
    [
      { id: null, x: null },
      { id: 'a', x: null },
      { id: 'z', x: 'y' },
    ],
  ],
  [
    'select a.id from edge_logs a join edge_logs b using (id) where a.id between "a" and "b" order by a.id',
    [{ id: 'a' }, { id: 'b' }],
  ],
  [
    'select id, array_length(metadata) as n, metadata[safe_offset(0)].project as p from edge_logs order by id',
    [
      { id: 'a', n: 1, p: 'p1' },
      { id: 'b', n: 1, p: 'p1' },
      { id: 'c', n: 1, p: 'p1' },
      { id: 'd', n: 0, p: null },
    ],
  ],
  [
    'select id from edge_logs e where (select count(*) from unnest(e.metadata)) = 0 order by id',
    [{ id: 'd' }],
  ],
  ['select approx_quantiles(length(id), 2)[offset(1)] as q from edge_logs', [{ q: 1 }]],
  [
    'select id, offset from edge_logs, edge_logs.metadata with offset as offset order by id limit 1',
    [{ id: 'a', offset: 0 }],
  ],
  ['select * except (metadata, timestamp) from edge_logs where id = "a"', [{ id: 'a', event_message: 'm' }]],
  [
    'select regexp_extract(path, r"^/(\\w+)") as area from edge_logs, unnest(metadata) m, unnest(m.request) where id = \'a\'',
    [{ area: 'rest' }],
  ],
];

describe.each(['single', 'list'] as const)("contract 4.12: a caller's SQL on the %s layout", layout => {
  let database: SmallDatabase;
  beforeAll(async () => {
    database = await openSmallDatabase(layout);
    await database.insert('cloudflare.logs.prod', [
      { id: 'a', timestamp: '2026-01-15 10:00:00+00', path: '/rest/v1' },
      { id: 'b', timestamp: '2026-01-15 10:01:00+00', path: '/auth/v1' },
      { id: 'c', timestamp: '2026-01-15 10:02:00+00' },
      { id: 'd', timestamp: '2026-01-15 11:00:00+00', metadata: null, message: '{"a":"x"}' },
      { id: 'foreign', timestamp: '2026-01-15 11:00:00+00', project: 'p2' },
    ]);
  });

  it.each(answers)('%s', async (callerSql, expected) => {
    expect(await database.rows(logsAll, { callerSql, parameters })).toEqual(expected);
  });

  it.each([
    [
      "select '7'::int + 1 as n, -'2'::float8 as f, (1 = 1)::text as t, '2026-01-15'::date as d",
      [{ n: 8, f: -2, t: 'true', d: '2026-01-15' }],
    ],
    [
      "select id from edge_logs as e where e.id::text like 'a%' and e.timestamp::date = '2026-01-15'",
      [{ id: 'a' }],
    ],
  ])('takes Postgres casts where it is told to: %s', async (callerSql, expected) => {
    const rows = database.rows(logsAll, { callerSql, parameters, takesPostgresCasts: true });
    expect(await rows).toEqual(expected);
  });

  it('contract 4.4: bounds a LIMIT above the maximum, and a query without one, to one row more than that', async () => {
    for (const callerSql of ['select id from edge_logs limit 99', 'select id from edge_logs order by id']) {
      expect(await database.rows(logsAll, { callerSql, parameters, maxRows: 1 })).toHaveLength(2);
    }
  });
});

/** Caller's SQL → code, position. */
const refusals: readonly (readonly [string, string, string])[] = [
  ['select 1 from `cloudflare.logs.prod`', 'sandbox_refused', '[1:15]'],
  [
    'select 1 from edge_logs join (postgres.logs cross join edge_logs x) on true',
    'sandbox_refused',
    '[1:31]',
  ],
  ['select array(select id from `postgres.logs`) as x', 'sandbox_refused', '[1:29]'],
  ['select 1 from information_schema.tables', 'sandbox_refused', '[1:15]'],
  ['select 1; select 2', 'sandbox_refused', '[1:11]'],
  ['drop table edge_logs', 'sandbox_refused', '[1:1]'],
  ["select * from read_text('/etc/passwd')", 'sandbox_refused', '[1:15]'],
  ['select session_user()', 'sandbox_refused', '[1:8]'],
  ['select @@version', 'sandbox_refused', '[1:8]'],
  ['select nope from edge_logs', 'invalid_query', '[1:8]'],
  ['select id::text from edge_logs', 'invalid_query', '[1:10]'],
  ['select id,\n  timestamp from edge_logs group by id', 'invalid_query', '[2:3]'],
];

it.each(refusals)('contract 2.17, 4.8: refuses %s', async (callerSql, code, position) => {
  const database = await openSmallDatabase('single');
  const refusal = database.rows(logsAll, { callerSql, parameters });
  await expect(refusal).rejects.toMatchObject({ code, message: expect.stringContaining(position) });
});
