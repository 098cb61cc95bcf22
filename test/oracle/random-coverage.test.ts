import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scalarFunctionRows, specialFunctions } from '../../src/googlesql/functions/all-functions.ts';
import { aggregateRows, windowRows } from '../../src/googlesql/functions/functions-aggregate.ts';
import { constructs } from '../docs/dialect-constructs.ts';
import { compileCaller } from '../sandbox/compile-caller.ts';
import { notDrawn } from './function-templates.ts';
import { templatesOf } from './random-expressions.ts';
import { randomQueries } from './random-queries.ts';
import { noColumns, type ValueKind } from './value-kinds.ts';

/** What shows a construct of docs/dialect.md in the text of a query. */
const signs: Readonly<Record<string, RegExp>> = {
  WITH: /^with w as/,
  'WITH RECURSIVE': /^with recursive/,
  'SELECT DISTINCT': /select distinct/,
  'SELECT * EXCEPT, REPLACE': /\* (?:except|replace) \(/,
  'SELECT AS STRUCT, AS VALUE': /select as value/,
  'JOIN … ON, USING': /join .* using \(/,
  'comma and CROSS JOIN': /cross join \(/,
  'UNNEST, WITH OFFSET': /unnest\(.*with offset/,
  'LEFT JOIN UNNEST': /left join unnest/,
  'correlated subqueries': /\(select count\(\*\) from facts z where z\.i >/,
  'EXISTS, IN, ARRAY subqueries': /in \(select z\./,
  'LIKE ANY, SOME, ALL': /like any \(/,
  'LIKE ANY UNNEST': /like any unnest/,
  'IS DISTINCT FROM': /is distinct from/,
  'types with parameters': / as numeric\(10, 2\)\)/,
  'chained function calls': /\)\.upper\(\)/,
  'searching records and whole rows': /contains_substr\(\(/,
  'STRUCT subscripts': /\)\[ordinal\(2\)\]/,
  'comparing STRUCT and ARRAY': /\(struct\(.*\) != struct\(/,
  'GROUP BY STRUCT and ARRAY': /select struct\(.*group by k/,
  'GROUP BY names and positions': /group by 1, c1/,
  'GROUP BY ALL': /group by all/,
  'GROUP BY ROLLUP': /group by rollup/,
  'GROUP BY CUBE': /group by cube/,
  'GROUPING SETS': /grouping sets/,
  HAVING: /having count\(\*\) > 1/,
  QUALIFY: /qualify rank\(\)/,
  'named windows, frames': /over \(w rows .* window w as/,
  'ORDER BY, NULLS FIRST and LAST': /order by .*nulls last/,
  'LIMIT, OFFSET': /limit 1 offset 1/,
  'UNION ALL, UNION DISTINCT': /union distinct/,
  'INTERSECT DISTINCT, EXCEPT DISTINCT': /intersect distinct/,
  'INTERSECT ALL, EXCEPT ALL': /intersect all/,
  'set operations BY NAME, CORRESPONDING': /full union all by name/,
  PIVOT: /\) pivot \(/,
  UNPIVOT: /\) unpivot /,
  'pipe syntax': /\|> aggregate/,
  'WITH expressions': /with\(w1 as/,
  'CASE, IF, COALESCE': /case when/,
  'CAST, SAFE_CAST': /safe_cast\(/,
  'CAST … FORMAT': /as string format '/,
  RANGE: /range_overlaps\(range\(/,
  INTERVAL: /\+ interval mod\(/,
  'arithmetic of INTERVAL': /justify_hours\(make_interval/,
  'INTERVAL … TO …': /day to second\)/,
  'EXTRACT … AT TIME ZONE': /extract\(.* at time zone/,
  'SAFE. before a function': /safe\.LOG\(/,
  'arguments by name': /stringify_wide_numbers => true/,
  'JSON fields and subscripts': /\)\['b'\]/,
  'aggregates with DISTINCT, ORDER BY, LIMIT': /string_agg\(distinct .* limit 2\)/,
  'HAVING MAX, HAVING MIN in ANY_VALUE': /any_value\(.* having max/,
};

function isAnswered(sql: string): boolean {
  try {
    compileCaller(sql);
    return true;
  } catch {
    return false;
  }
}

it('random queries hold every construct that the embedded engine answers', () => {
  const sample = fc.sample(randomQueries(), { seed: 15, numRuns: 4000 }).map(({ sql }) => sql);
  const answered = constructs.filter(([, sql]) => isAnswered(sql)).map(([name]) => name);
  expect(answered.filter(name => !signs[name])).toEqual([]);
  expect(answered.filter(name => !sample.some(sql => signs[name]!.test(sql)))).toEqual([]);
});

it('random expressions call every function of the allow-list', () => {
  const drawn = (Object.keys(noColumns) as ValueKind[]).flatMap(templatesOf).join('\n').toUpperCase();
  const names = [
    ...scalarFunctionRows
      .filter(({ name, template }) => template && /^[A-Z]/.test(name))
      .map(({ name }) => name),
    ...Object.keys(specialFunctions),
  ];
  const missing = [...new Set(names)].filter(
    name => !drawn.includes(`${name}(`) && !Object.hasOwn(notDrawn, name),
  );
  expect(missing).toEqual([]);
});

it('random queries call every aggregate and analytic function', () => {
  const sample = fc.sample(randomQueries(), { seed: 16, numRuns: 2500 }).map(({ sql }) => sql.toUpperCase());
  const names = [...aggregateRows, ...windowRows].filter(({ template }) => template).map(({ name }) => name);
  const missing = [...new Set(names)].filter(name => !sample.some(sql => sql.includes(`${name}(`)));
  expect(missing).toEqual([]);
});
