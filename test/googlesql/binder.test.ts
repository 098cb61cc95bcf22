import { describe, expect, it } from 'vitest';
import { compileForDuckDb } from '../../src/googlesql/compile-duckdb.ts';
import { catalogOf } from './small-database.ts';

const compile = (sql: string) =>
  compileForDuckDb({ sql, catalog: catalogOf('single'), parameterNames: ['project'], maxRows: 10 });
const types = (sql: string) => compile(sql).columns.map(({ name, type, mode }) => `${name} ${type} ${mode}`);

describe('types', () => {
  it.each([
    ['select 1 / 2 as x', 'x FLOAT64 NULLABLE'],
    ['select coalesce(null, 1, 2.5) as x', 'x FLOAT64 NULLABLE'],
    ['select null as x', 'x INT64 NULLABLE'],
    ["select if(true, date '2026-01-01', '2026-01-02') as x", 'x DATE NULLABLE'],
    ['select [1, null, 2.5] as x', 'x FLOAT64 REPEATED'],
    ['select null as x union all select null union all select "a"', 'x STRING NULLABLE'],
    ["select date '2026-01-01' + interval 1 day as x", 'x DATETIME NULLABLE'],
    ['select m.request from `postgres.logs`, unnest(metadata) m', 'request STRUCT REPEATED'],
    ['select 1, a.x.y, 2 from (select struct(struct(1 as y) as x) as a)', 'f0_ INT64 NULLABLE'],
  ])('%s is %s', (sql, expected) => {
    expect(types(sql)[0]).toBe(expected);
  });
});

describe('names', () => {
  it.each([
    ['select id from `postgres.logs` a, `gotrue.logs.prod` b', 'Column name id is ambiguous at [1:8]'],
    [
      'select 1 from `postgres.logs` a, `gotrue.logs.prod` a',
      'Duplicate table alias a in the same FROM clause at [1:34]',
    ],
    ['select a.nope from `postgres.logs` a', 'Name nope not found inside a at [1:10]'],
    ['select id as x from `postgres.logs` where x = "a"', 'Unrecognized name: x at [1:43]'],
    ['select @other', "Query parameter 'other' not found at [1:8]"],
    ['select nope(1)', 'Function not found: nope at [1:8]'],
    ['select net.fetch("x")', 'Function not found: net.fetch at [1:8]'],
  ])('%s: %s', (sql, message) => {
    expect(() => compile(sql)).toThrow(expect.objectContaining({ message }));
  });

  it('lets an output alias win in GROUP BY and ORDER BY, a column in WHERE', () => {
    expect(() =>
      compile('select upper(id) as id from `postgres.logs` where id = "a" group by id order by id'),
    ).not.toThrow();
  });

  it('merges the columns of USING, so that the bare name is not ambiguous', () => {
    expect(types('select id from `postgres.logs` a full join `gotrue.logs.prod` b using (id)')).toEqual([
      'id STRING NULLABLE',
    ]);
  });
});

describe('refusals', () => {
  it.each([
    ['select id, count(*) from `postgres.logs`', /neither grouped nor aggregated at \[1:8\]/],
    [
      'select 1 from `postgres.logs` where count(*) > 1',
      /Aggregate function COUNT not allowed in WHERE clause at \[1:37\]/,
    ],
    ['select sum(count(*)) from `postgres.logs`', /not allowed in an argument of SUM/],
    ["select timestamp '2026-02-30'", /Could not cast literal "2026-02-30" to type TIMESTAMP at \[1:8\]/],
    ["select 1 + 'a'", /No matching signature for operator \+ for argument types: INT64, STRING at \[1:10\]/],
    ['select 9223372036854775808', /Invalid integer literal/],
    [
      'select 1 from `postgres.logs` where id',
      /WHERE clause should return type BOOL, but returns STRING at \[1:37\]/,
    ],
    ['select row_number()', /cannot be called without an OVER clause/],
    ['select 1 as a, 2 as A', /Duplicate column names/],
    ['select struct(1 as a, 2 as A) as s', /Duplicate field name a in a STRUCT/],
    [
      'select struct<a int64, a int64>(1, 2) as s',
      /Duplicate field name a in a STRUCT is not supported at \[1:8\]/,
    ],
    ['select cast((1, 2) as struct<a int64, A int64>) as s', /Duplicate field name a in a STRUCT/],
    ['select struct(1, 2 as _field_1) as s', /Duplicate field name _field_1 in a STRUCT/],
    [
      'select t from (select 1 as a, 2 as a) t',
      /Duplicate field name a in a STRUCT is not supported at \[1:8\]/,
    ],
    [
      'select (select count(*) from `postgres.logs` b where b.id = a.event_message) as n from `postgres.logs` a group by a.id',
      /neither grouped nor aggregated at \[1:8\]/,
    ],
    [
      'select m.project, (select count(*) from unnest(m.request)) as n from `postgres.logs`, unnest(metadata) m group by m.project',
      /neither grouped nor aggregated at \[1:19\]/,
    ],
    [
      'select id from `postgres.logs` a group by id having exists(select (select a.event_message))',
      /neither grouped nor aggregated/,
    ],
    [
      'select count(*) as n from `postgres.logs` a order by n in (select 1 from unnest(a.metadata))',
      /neither grouped/,
    ],
    [
      'select id, count(*) as n from `postgres.logs` group by id, n',
      /contains an aggregation function is not allowed in GROUP BY at \[1:60\]/,
    ],
    [
      'select row_number() over () as n from `postgres.logs` group by 1',
      /contains an analytic function is not allowed in GROUP BY at \[1:64\]/,
    ],
    [
      'select id, rank() over (order by id) as n from `postgres.logs` group by id having n = 1',
      /Analytic function not allowed in HAVING clause/,
    ],
    ["select id from `postgres.logs` order by 'id'", /Cannot ORDER BY literal values at \[1:41\]/],
    [
      'select distinct id from `postgres.logs` order by timestamp',
      /not visible after SELECT DISTINCT at \[1:50\]/,
    ],
    ['select cast(true as timestamp)', /Invalid cast from BOOL to TIMESTAMP/],
    [
      'select timestamp_trunc(current_timestamp(), fortnight)',
      /A valid date part name is required but found FORTNIGHT/,
    ],
    [
      'select 1 limit -1',
      /LIMIT expects a non-negative integer literal or a parameter of type INT64 at \[1:16\]/,
    ],
    ['select metadata from `postgres.logs` group by metadata', /GROUP BY of type ARRAY .* is not supported/],
    ["select [json '1'] as x from `postgres.logs` group by x", /Grouping by expressions of type ARRAY<JSON>/],
    [`select ${'1 + '.repeat(50_000)} 1`, /Too many operators in a row/],
    [`select ${'greatest(1, '.repeat(70)}2${')'.repeat(70)}`, /too complex/],
    [`select ${'repeat('.repeat(70)}'a'${', 2)'.repeat(70)}`, /too complex/],
  ])('%s', (sql, message) => {
    expect(() => compile(sql)).toThrow(
      expect.objectContaining({ code: 'invalid_query', message: expect.stringMatching(message) }),
    );
  });
});
