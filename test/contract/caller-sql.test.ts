import { beforeAll, describe, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const edge = (id: string, minute: number) =>
  edgeRow({ id, timestamp: `2026-01-15T11:${minute}:00Z`, project: 'ours', path: `/rest/v1/${id}` });

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    rows: {
      'cloudflare.logs.prod': [edge('a', 10), edge('b', 20), { ...edge('empty', 30), metadata: [] }],
      'postgres.logs': [{ id: 'p', timestamp: '2026-01-15T11:00:00Z', project: 'ours', metadata: [] }],
    },
    now: '2026-01-15T12:00:00Z',
  });
  return gateway.close;
});

/** The rows of a caller's SQL over `logs.all`, or the code and the message of its refusal. */
async function ask(sql: string) {
  const query = new URLSearchParams({ project: 'ours', sql });
  const { body } = await gateway.get(`/api/endpoints/query/logs.all?${query}`);
  return body.result ?? [body.error.code, body.error.message];
}

test('contract 4.6: a caller’s own subset named like a source does not open it', async () => {
  expect(await ask("with `postgres.logs` as (select 'mine' as id) select id from `postgres.logs`")).toEqual([
    { id: 'mine' },
  ]);
  for (const source of ['postgres.logs', 'cloudflare.logs.prod']) {
    const [code] = await ask(
      `with \`${source}\` as (select id from \`${source}\`) select id from \`${source}\``,
    );
    expect(code).toBe('sandbox_refused');
  }
});

describe('contract 4.13: arrays', () => {
  test('cross join unnest drops a row without elements, left join keeps it', async () => {
    const ids = (join: string) =>
      ask(`select id from edge_logs ${join} join unnest(metadata) as m ${join === 'left' ? 'on true' : ''}
        left join unnest(m.request) as r on true order by id`);
    expect(await ids('cross')).toEqual([{ id: 'a' }, { id: 'b' }]);
    expect(await ids('left')).toEqual([{ id: 'a' }, { id: 'b' }, { id: 'empty' }]);
  });

  test('fields of an unnested record need no alias, in any letter case', async () => {
    const sql = `select Path, METHOD from edge_logs
      cross join unnest(metadata) as metadata cross join unnest(request) where id = 'a'`;
    expect(await ask(sql)).toEqual([{ Path: '/rest/v1/a', METHOD: 'GET' }]);
  });
});

describe('contract 4.14: names', () => {
  test('WHERE means the column that an alias shadows, GROUP BY and ORDER BY mean the alias', async () => {
    const sql = `select timestamp_trunc(timestamp, hour) as timestamp, count(*) as n from edge_logs
      where timestamp > '2026-01-15T11:15:00Z' group by timestamp order by timestamp`;
    expect(await ask(sql)).toEqual([{ timestamp: Date.UTC(2026, 0, 15, 11) * 1000, n: 2 }]);
  });

  test('a dotted path has the name of its last part, other expressions f0_, f1_', async () => {
    const sql = `select r.path, count(*), max(m.request[offset(0)].method) from edge_logs e, e.metadata m, m.request r
      where id = 'a' group by r.path`;
    expect(await ask(sql)).toEqual([{ path: '/rest/v1/a', f0_: 1, f1_: 'GET' }]);
  });
});

describe('contract 4.15: writing', () => {
  test('strings, names, comments, letter case, a last comma and one semicolon', async () => {
    const sql = `SELECT \`id\` AS x, /* a name */ "it's" as y, # the rest of the line
      from EDGE_LOGS -- in capitals
      Where Lower(ID) = "a";`;
    expect(await ask(sql)).toEqual([{ x: 'a', y: "it's" }]);
  });

  test('text after the semicolon is an error', async () => {
    expect(await ask('select 1 as n; select 2 as n')).toEqual([
      'sandbox_refused',
      'Only one statement is allowed at [1:16]',
    ]);
  });
});

test('contract 4.16: a text beside a time is read as one, in UTC where it has no zone', async () => {
  for (const bound of ['2026-01-15 11:15:00', '2026-01-15T11:15:00Z', '2026-01-15 12:15:00+01:00']) {
    expect(await ask(`select count(*) as n from edge_logs where timestamp > '${bound}'`)).toEqual([{ n: 2 }]);
  }
  const sql =
    "select count(*) as n from edge_logs where cast(timestamp as datetime) <= '2026-01-15 11:20:00'";
  expect(await ask(sql)).toEqual([{ n: 2 }]);
});

describe('contract 4.17: values', () => {
  test.each([
    ['7 / 2', 3.5],
    ['div(7, 2)', 3],
    ['cast(2.5 as int64)', 3],
    ['cast(-2.5 as int64)', -3],
    ["safe_cast('x' as int64)", null],
    ["safe.parse_date('%F', 'x')", null],
  ])('%s is %s', async (expression, value) => {
    expect(await ask(`select ${expression} as v`)).toEqual([{ v: value }]);
  });

  test('a cast of a bad value fails the query and says so', async () => {
    expect(await ask("select cast(id as int64) as n from edge_logs where id = 'a'")).toEqual([
      'invalid_query',
      'Bad int64 value: a',
    ]);
  });

  test('NULL sorts first, and branches of UNION ALL take on a common type', async () => {
    expect(await ask('select 2 as n union all select null union all select 1.5 order by n')).toEqual([
      { n: null },
      { n: 1.5 },
      { n: 2 },
    ]);
    expect(
      await ask("select null as x union all select id from edge_logs where id = 'a' order by x"),
    ).toEqual([{ x: null }, { x: 'a' }]);
  });

  test('aggregates ignore NULL, and over no rows give one', async () => {
    const some = 'select count(n) as c, avg(n) as a, countif(n > 1) as i from unnest([1, null, 3]) as n';
    expect(await ask(some)).toEqual([{ c: 2, a: 2, i: 1 }]);
    const none = "select count(*) as c, max(id) as m from edge_logs where id = 'none'";
    expect(await ask(none)).toEqual([{ c: 0, m: null }]);
  });
});
