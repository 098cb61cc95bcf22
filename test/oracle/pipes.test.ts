import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ReferenceServer, startReferenceServer } from './reference-server.ts';
import { openSmallEngine, type SmallEngine } from './small-engine.ts';
import { type Layout, smallRows, smallTables } from './small-tables.ts';
import { comparableRows } from './wire-values.ts';

/** A query with pipes, and one without that says the same: the reference knows no pipes. */
const pairs: readonly (readonly [string, string])[] = [
  ['from facts', 'select * from facts'],
  ['from facts |> assert id > 0 |> select id', 'select id from facts'],
  [
    "from facts |> where id > 3 |> assert id > 3, 'low', id, d |> where id < 6 |> select id",
    'select id from facts where id in (4, 5)',
  ],
  ['from facts |> select id, i + 1 as j', 'select id, i + 1 as j from facts'],
  ['from facts |> where b |> select id |> order by id desc', 'select id from facts where b order by id desc'],
  ['from facts |> where b |> where i > 1 |> select id', 'select id from facts where b and i > 1'],
  [
    'from facts |> where i > 0 |> aggregate count(*) as n, sum(i) as s group by b |> order by n, b',
    'select b, count(*) as n, sum(i) as s from facts where i > 0 group by b order by n, b',
  ],
  ['from facts |> aggregate count(*), max(f) as m', 'select count(*), max(f) as m from facts'],
  [
    'from facts |> aggregate count(*) as n desc group and order by b as k',
    'select b as k, count(*) as n from facts group by b order by n desc, k',
  ],
  [
    'from facts |> aggregate group by i > 0 as p desc |> limit 1',
    'select i > 0 as p from facts group by p order by p desc limit 1',
  ],
  [
    'from facts |> aggregate count(*) as n group by b |> where n > 2 |> select b',
    'select b from facts group by b having count(*) > 2',
  ],
  [
    'from facts |> extend i * 2 as j, upper(s) |> extend j + 1 as k |> drop s, t, d |> select * except (f), facts.s as old',
    'select id, i, b, i * 2 as j, upper(s), i * 2 + 1 as k, s as old from facts',
  ],
  [
    'from facts |> set i = i + id, s = upper(s) |> select id, i, facts.i as before, s where_ |> where id < 7 |> rename where_ as u',
    'select id, i + id as i, i as before, upper(s) as u from facts where id < 7',
  ],
  ['from facts |> rename id key |> as f |> select f.key, f.s', 'select id as key, s from facts'],
  [
    'select id, i from facts |> as x |> where x.i = 7 |> order by x.id',
    'select id, i from facts where i = 7 order by id',
  ],
  ['(select id, i from facts) as x |> where x.i = 7', 'select id, i from facts where i = 7'],
  [
    'select id from facts order by id limit 4 |> aggregate sum(id) as s',
    'select sum(id) as s from (select id from facts order by id limit 4)',
  ],
  [
    'from facts |> order by f desc, id |> limit 3 offset 1 |> select id',
    'select id from facts order by f desc, id limit 3 offset 1',
  ],
  [
    'from facts |> order by i desc, id |> limit 3 |> extend id + 1 as x |> select x',
    'select id + 1 as x from facts order by i desc, id limit 3',
  ],
  ['from facts |> order by id |> select b |> distinct', 'select distinct b from facts'],
  [
    'from facts |> select distinct b, i > 1 as p |> where p',
    'select distinct b, i > 1 as p from facts where i > 1',
  ],
  [
    'from facts |> extend rank() over w as r window w as (partition by b order by id) |> where r = 1 |> select id, r',
    'select id, rank() over (partition by b order by id) as r from facts where true qualify r = 1',
  ],
  [
    'from facts |> where id < 7 |> where row_number() over (partition by b order by id desc) = 1 |> select id',
    'select id from facts where id < 7 qualify row_number() over (partition by b order by id desc) = 1',
  ],
  [
    'from facts a |> join lists l on a.id = l.id and a.i > 0 |> select a.id, l.words, s |> order by id',
    'select a.id, l.words, s from facts a join lists l on a.id = l.id and a.i > 0 order by id',
  ],
  [
    'from facts |> where b |> left join lists using (id) |> select id, facts.s, words',
    'select id, f.s, words from (select * from facts where b) f left join lists using (id)',
  ],
  [
    'from lists |> cross join unnest(numbers) as n with offset o |> where n > 1 |> select id, n, o',
    'select id, n, o from lists cross join unnest(numbers) as n with offset o where n > 1',
  ],
  [
    'from logs, unnest(metadata) as m |> left join unnest(m.request) as r |> where r.bytes > 5 |> select logs.id, m.project, path |> order by id',
    'select logs.id, m.project, path from logs, unnest(metadata) as m left join unnest(m.request) as r where r.bytes > 5 order by id',
  ],
  [
    'from logs |> extend array_length(metadata) as n |> cross join unnest(metadata) m |> select id, n, m.score',
    'select id, array_length(metadata) as n, m.score from logs cross join unnest(metadata) m',
  ],
  [
    'from unnest([3, 1, 2]) as x |> where x > 1 |> order by x',
    'select x from unnest([3, 1, 2]) as x where x > 1 order by x',
  ],
  [
    'from facts |> select id |> union all (select 100), (from lists |> select id)',
    'select id from facts union all select 100 union all select id from lists',
  ],
  [
    'from facts |> select i |> except distinct (select 7), (select 0)',
    'select i from facts except distinct select 7 except distinct select 0',
  ],
  [
    'select 1 as a union all select 2 |> where a > 1',
    'select * from (select 1 as a union all select 2) where a > 1',
  ],
  ['select (from facts |> aggregate max(id)) as m', 'select (select max(id) from facts) as m'],
  [
    'select id from lists l where exists (from facts f |> where f.id = l.id and f.b)',
    'select id from lists l where exists (select 1 from facts f where f.id = l.id and f.b)',
  ],
  [
    'select array(from unnest([3, 1]) as x |> order by x) as a',
    'select array(select x from unnest([3, 1]) as x order by x) as a',
  ],
  [
    'select id in (from facts |> where b |> select id) as x from lists',
    'select id in (select id from facts where b) as x from lists',
  ],
  [
    'with a as (from facts |> select id) from a |> aggregate count(*) as n',
    'with a as (select id from facts) select count(*) as n from a',
  ],
  [
    'select * from (from facts |> where id = 1 |> select id, s) as x join lists using (id)',
    'select * from (select id, s from facts where id = 1) as x join lists using (id)',
  ],
  ['from facts |> select as struct id, s |> where true', 'select as struct id, s from facts'],
  [
    'from facts |> aggregate count(*) as n group by b |> aggregate sum(n) as n group by n > 2 as k |> order by k',
    'select n > 2 as k, sum(n) as n from (select count(*) as n from facts group by b) group by k order by k',
  ],
];

const refused: readonly (readonly [string, RegExp])[] = [
  ['from facts |> select count(*)', /Aggregate functions are not allowed in pipe SELECT/],
  ['from facts |> extend sum(id) as s', /not allowed in pipe EXTEND/],
  ['from facts |> where count(*) > 1', /Aggregate function not allowed/],
  ['from facts |> aggregate id', /neither grouped nor aggregated|must contain an aggregate/],
  ['from facts |> aggregate', /needs an aggregate/],
  ['from facts |> select id |> where i > 1', /Unrecognized name: i/],
  ['from facts |> select id |> where facts.id > 1', /Unrecognized name: facts/],
  ['from facts |> as x |> where facts.id > 1', /Unrecognized name: facts/],
  ['from facts |> drop nope', /Column nope is not found/],
  ['from facts |> set nope = 1', /Column nope is not found/],
  ['from facts a, facts b |> rename id x', /Column id is ambiguous/],
  ['from facts a, facts b |> where id = 1', /ambiguous/],
  ['select 1 as a |> drop a', /leave no columns/],
  ['from facts |> call f()', /Pipe operator CALL is not supported/],
  ['from facts |> assert max(i) > 1', /Aggregate functions are not allowed in pipe ASSERT/],
  ['from facts |>', /a pipe operator/],
  ['from facts |> limit -1', /non-negative/],
  ['from facts order by id', /Expected end of input/],
  ['from facts |> select id |> union all (select 1, 2)', /mismatched column count/],
];

let reference: ReferenceServer;
beforeAll(async () => {
  reference = await startReferenceServer();
});
afterAll(() => reference?.stop());

describe.each(['list', 'single'] as const)('contract 4.12: pipes on the %s layout', (layout: Layout) => {
  const tables = smallTables(layout);
  let engine: SmallEngine;
  beforeAll(async () => {
    engine = await openSmallEngine(tables);
    await engine.fill(smallRows);
  });
  afterAll(() => engine?.stop());

  it.each(pairs)('%s', async (piped, plain) => {
    const expected = await reference.evaluate(plain, { tables, rows: smallRows, parameters: {} });
    const actual = await engine.evaluate(piped, {});
    if (!('rows' in expected && 'rows' in actual)) throw new Error(JSON.stringify([expected, actual]));
    const isOrdered = /order by[^)]*$/.test(plain);
    expect(actual.columns).toEqual(expected.columns);
    expect(comparableRows(actual.rows, isOrdered)).toEqual(comparableRows(expected.rows, isOrdered));
  });

  it.each([
    [
      "from facts |> assert id > 3, 'low', id, t |> select id",
      'Assert failed: low 1 2026-01-15 10:00:00.123456+00',
    ],
    ['from facts |> where id = 4 |> assert i > 3, i, s |> aggregate count(*)', 'Assert failed: NULL NULL'],
    ['from facts |> assert b', 'Assert failed'],
  ])('fails where an assertion does: %s', async (sql, message) => {
    expect(await engine.evaluate(sql, {})).toMatchObject({ error: expect.stringContaining(message) });
  });

  it.each(refused)('refuses %s', async (sql, message) => {
    expect(await engine.evaluate(sql, {})).toMatchObject({ refusal: expect.stringMatching(message) });
  });
});
