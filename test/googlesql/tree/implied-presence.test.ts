import { expect, it } from 'vitest';
import { compileForDuckDb } from '../../../src/googlesql/compile-duckdb.ts';
import { catalogOf } from '../small-database.ts';

const from = 'from `postgres.logs` as l, unnest(l.metadata) as m, unnest(m.request) as r';

/** Which of the two records `m` and `r` are tested, in the printed text. */
function testsIn(sql: string): string[] {
  const catalog = catalogOf('single');
  const printed = compileForDuckDb({ sql, catalog, parameterNames: ['p'], maxRows: 10 }).sql;
  const records = printed.matchAll(/"?(metadata|request)"?\)+\."_p" is not null/g);
  return [...new Set([...records].map(([, record]) => (record === 'request' ? 'r' : 'm')))].toSorted();
}

it.each([
  `${from} where r.path = 'x'`,
  `${from} where 'x' = r.path and l.id is not null`,
  `${from} where r.bytes between 1 and 2`,
  `${from} where r.path in ('x', null)`,
  `${from} where r.path not in ('x', 'y')`,
  `${from} where not starts_with(lower(r.path), @p)`,
  `${from} where regexp_contains(r.path, '^x')`,
  `${from} where cast(r.bytes as float64) > 0.5`,
  `${from} where r.path like 'x%'`,
  `${from} where r.path is not null`,
  'from `postgres.logs` as l, unnest(l.metadata) as m join unnest(m.request) as r on r.bytes > 1',
  'from `postgres.logs` as l join (`gotrue.logs.prod` as g cross join unnest(g.metadata) as m) on m.score > 0',
])('tests no record that a condition reads from: %s', sql => {
  expect(testsIn(`select l.id ${sql}`)).toEqual([]);
});

it.each([
  ['the record around one that is tested', from],
  ['the record around one that is present', `${from} where r is not null and m.score is null`],
])('leaves out %s', (_, sql) => {
  expect(testsIn(`select l.id ${sql}`)).not.toContain('m');
});

it.each([
  ['an alternative', `${from} where r.path = 'x' or l.id = 'a'`],
  ['IS NULL', `${from} where r.path is null`],
  ['IS NOT NULL of what is made up', `${from} where ifnull(r.path, 'x') is not null`],
  ['COALESCE', `${from} where coalesce(r.path, 'x') = 'x'`],
  ['a CASE', `${from} where case when r.path = 'x' then false else true end`],
  ['IF', `${from} where if(r.path = 'x', 1, 2) = 2`],
  ['a denied conjunction', `${from} where not (r.path = 'x' and l.id = 'a')`],
  ['a denied BETWEEN', `${from} where r.path not between 'x' and l.id`],
  ['IS NOT TRUE', `${from} where (r.path = 'x') is not true`],
  ['IS DISTINCT FROM', `${from} where r.path is distinct from 'x'`],
  ['a place in a list', `${from} where l.id in ('x', r.path)`],
  ['a denied search in an array', `${from} where r.path not in unnest(split(l.id))`],
  ['a denied subquery', `${from} where r.path not in (select id from \`gotrue.logs.prod\`)`],
  ['a condition on groups', `${from} group by l.id having max(r.path) = 'x'`],
  ['a condition on the record around', `${from} where m.project = 'x'`],
  ['the ON of an outer join', `${from} left join \`gotrue.logs.prod\` as g on r.path = g.id and r.bytes > 1`],
])('still tests a record that is read by %s', (_, sql) => {
  expect(testsIn(`select l.id ${sql.includes('group by') ? '' : ', 1 as n '}${sql}`)).toContain('r');
});

it('still tests a record on the outer side of a join', () => {
  const sql =
    'select l.id from `postgres.logs` as l left join (`gotrue.logs.prod` as g cross join unnest(g.metadata) as m) on g.id = l.id where m.score > 0';
  expect(testsIn(sql)).toContain('m');
});

it('tests an array in EXISTS only where its condition does not', () => {
  const exists = (where: string) =>
    `select id from \`postgres.logs\` as l where exists (select 1 from unnest(l.metadata) as m${where})`;
  expect(testsIn(exists(''))).toEqual(['m']);
  expect(testsIn(exists(" where m.project is null or m.project = 'x'"))).toEqual(['m']);
  expect(testsIn(exists(" where m.project = 'x'"))).toEqual([]);
});
