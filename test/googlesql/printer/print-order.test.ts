import { expect, test } from 'vitest';
import { compileForDuckDb } from '../../../src/googlesql/compile-duckdb.ts';
import { catalogOf, openSmallDatabase } from '../small-database.ts';

const database = openLogs();

/** Rows of few times, every seventh without one, in no order. */
async function openLogs() {
  const opened = await openSmallDatabase('single');
  await opened.connection.run(`insert into "postgres.logs" select
    case when n % 7 > 0 then timestamptz '2026-01-01' + interval (n * 37 % 11) minute end,
    'i' || n, 'm' || n % 3, 'p' || n % 2, {'_p': true, 'project': 'p', 'project_ref': 'p', 'score': n / 2,
    'request': case when n % 5 > 0 then {'_p': true, 'url': 'u', 'path': 'x' || n % 2, 'bytes': n} end}
    from range(100) r(n)`);
  return opened;
}

/** Whether the printed text reads the wide columns only where the first times are. */
function looksUpTimes(sql: string): boolean {
  const { sql: printed } = compileForDuckDb({
    sql,
    catalog: catalogOf('single'),
    parameterNames: ['from'],
    maxRows: 100_000,
  });
  return /[<>]= \(select (min|max)\(c0\) from \(.* limit \d+\)/s.test(printed);
}

const logs = "with logs as (select * from `postgres.logs` where project = 'p1' and timestamp > '2026-01-01')";
const records = 'from logs l, unnest(l.metadata) m, unnest(m.request) r';

const asked = [
  `${logs} select id, timestamp from logs order by timestamp desc, id limit 7`,
  `${logs} select id from logs order by timestamp, id desc limit 5 offset 20`,
  `${logs} select id, timestamp as t from logs order by t desc nulls first, id limit 200`,
  `${logs} select l.id, r.path ${records} where r.bytes >= 20 and r.path != 'x0' order by l.timestamp desc, 1 limit 6`,
  `${logs} select l.id, m.score ${records} where r.path in ('x0', 'x1') order by timestamp limit 2`,
  "select * from `postgres.logs` where timestamp >= timestamp(@from) and id != 'i3' order by timestamp, id limit 9",
  'select id, event_message from `postgres.logs` where timestamp is not null order by timestamp, id limit 9',
  "select (select count(*) from `postgres.logs` o where o.id > l.id) as n, id from `postgres.logs` l where timestamp < '2026-01-01 00:05:00' order by timestamp, id limit 4",
  `${logs} select x.id, y.id as other from (select * from logs order by timestamp, id limit 3) x, (select * from logs order by timestamp desc, id limit 2) y order by 1, 2`,
];

test.each(asked)('looks up the times of the first rows, which are the same: %s', async sql => {
  expect(looksUpTimes(sql)).toBe(true);
  const { rows } = await database;
  // Twice the same test, for which no times are looked up.
  const slow = sql
    .replaceAll("project = 'p1'", "project like 'p1'")
    .replace('where timestamp', "where id like '%' and timestamp");
  expect(looksUpTimes(slow)).toBe(false);
  const parameters = { from: '2026-01-01 00:03:00' };
  const found = await rows(sql, { parameters });
  expect(found.length).toBeGreaterThan(0);
  expect(found).toEqual(await rows(slow, { parameters }));
});

test.each([
  ['rows without a time', "select * from `postgres.logs` where id > 'a' order by timestamp, id limit 20"],
  ['another order', `${logs} select id, timestamp from logs order by id limit 7`],
  ['a calculated time', `${logs} select id from logs order by timestamp_trunc(timestamp, hour) limit 7`],
  ['no LIMIT', `${logs} select id from logs order by timestamp`],
  ['very many rows', `${logs} select id from logs order by timestamp limit 10001`],
  ['nothing but times', `${logs} select timestamp from logs order by timestamp limit 7`],
  ['distinct rows', `${logs} select distinct id, timestamp from logs order by timestamp, id limit 7`],
  [
    'groups',
    `${logs} select timestamp, count(*) as n from logs group by timestamp order by timestamp limit 7`,
  ],
  [
    'a window',
    `${logs} select id, row_number() over (order by id) as n from logs order by timestamp, id limit 7`,
  ],
  [
    'QUALIFY',
    `${logs} select id from logs qualify row_number() over (partition by timestamp order by id) = 1 order by timestamp limit 7`,
  ],
  ['a pattern', `${logs} select id from logs where event_message like '%2' order by timestamp, id limit 7`],
  ['chance', `${logs} select id, event_message from logs where rand() < 2 order by timestamp, id limit 100`],
  ['a join', `${logs} select a.id from logs a join logs b using (id) order by a.timestamp, 1 limit 7`],
  ['a list', `${logs} select l.id from logs l, unnest(split(l.id)) order by l.timestamp, 1 limit 7`],
  [
    'a limited subset',
    `with l as (select * from \`postgres.logs\` where timestamp > '2026-01-01' order by id limit 50) select id from l order by timestamp, id limit 7`,
  ],
  [
    'rows of an enclosing query',
    `${logs} select id, array(select l.id from logs l where l.project = o.project order by l.timestamp, l.id limit 2) as n from \`postgres.logs\` o order by id`,
  ],
])('looks up no times for %s', async (_, sql) => {
  expect(looksUpTimes(sql)).toBe(false);
  const { rows } = await database;
  expect(await rows(sql, { parameters: { from: null } })).not.toEqual([]);
});
