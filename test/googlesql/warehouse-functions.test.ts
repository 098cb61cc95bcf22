import { expect, test } from 'vitest';
import { assembleSql } from '../../src/bigquery/assemble-sql.ts';
import { readTableMapping } from '../../src/bigquery/client/table-mapping.ts';
import { literalArguments } from '../../src/googlesql/functions/functions-aggregate.ts';
import { warehouseAggregateRows, warehouseRows } from '../../src/googlesql/functions/warehouse-functions.ts';
import { typeName } from '../../src/googlesql/tree/types.ts';
import { catalog, compileCaller, parameterNames, savedSql } from '../sandbox/compile-caller.ts';

const mapping = readTableMapping([...catalog.keys()].map(source => `${source}=acme.logs.t${source.length}`));

/** The text for the warehouse; bound, as the sandbox's first check. */
function forWarehouse(callerSql: string): string {
  return assembleSql({ sql: savedSql, callerSql, catalog, mapping, parameterNames, arrayParameterNames: [] })
    .text;
}

const onEmbedded = (name: string) =>
  new RegExp(`${RegExp.escape(name)}.* is not supported on the embedded engine`, 'i');

test.each([
  ['bignumeric', "select bignumeric '1.5' as x from edge_logs"],
  ['bignumeric', 'select cast(id as bignumeric) as x from edge_logs'],
  ['operator +', 'select cast(id as bignumeric) + 1 as x from edge_logs'],
  ['The format element RN', "select cast(length(id) as string format 'RN') as x from edge_logs"],
  ['CAST to a type with limits', 'select safe_cast(id as bignumeric(40, 2)) as x from edge_logs'],
  [
    'INTERVAL of a STRING that is not constant',
    'select timestamp + interval id hour to minute as x from edge_logs',
  ],
  ['CAST to INTERVAL of what is not constant', 'select cast(id as interval) as x from edge_logs'],
  ['CAST to RANGE<DATE> of what is not constant', 'select cast(id as range<date>) as x from edge_logs'],
  ['function COLLATE', "select id from edge_logs order by id collate 'und:ci'"],
  ['IS NULL', 'select m.request is null as x from edge_logs left join unnest(metadata) as m'],
  ['ARRAY_LENGTH', 'select array_length(m.request) as x from edge_logs left join unnest(metadata) as m'],
  [
    'function ARRAY_REVERSE',
    'select array_reverse(m.request) as x from edge_logs left join unnest(metadata) as m',
  ],
  ['HLL_COUNT.INIT', 'select hll_count.init(cast(id as bignumeric)) as s from edge_logs'],
  [
    'A sketch as column s',
    'select array_agg((select as struct s)) as s from (select hll_count.init(id) as s from edge_logs)',
  ],
  ['NET.REG_DOMAIN', 'select safe.net.reg_domain(event_message) as x from edge_logs'],
  ['SEARCH', "select id from edge_logs where search(event_message, 'timeout')"],
  ['SEARCH', "select e.id from edge_logs as e where search(e, 'timeout')"],
  [
    'SEARCH',
    "select id from edge_logs where search(event_message, 'timeout', analyzer => 'PATTERN_ANALYZER', analyzer_options => '{}')",
  ],
  [
    'function TEXT_ANALYZE',
    "select text_analyze(event_message, analyzer => 'NO_OP_ANALYZER') as x from edge_logs",
  ],
  ['BAG_OF_WORDS', 'select bag_of_words([id])[safe_offset(0)].term as x from edge_logs'],
  ['TF_IDF', 'select tf_idf([id], 10, 1) over () as x from edge_logs'],
  ['JSON_FLATTEN', 'select json_flatten(parse_json(event_message)) as x from edge_logs'],
  ['a calculated text to find', 'select contains_substr(e, id) as x from edge_logs as e'],
  [
    'CONTAINS_SUBSTR of JSON',
    "select id from edge_logs where contains_substr(parse_json(event_message), 'timeout', json_scope => 'JSON_KEYS')",
  ],
  [
    'CONTAINS_SUBSTR of what an outer join may leave out',
    "select m.request from edge_logs left join unnest(metadata) as m on contains_substr(m, 'x') where contains_substr(m.request, 'x')",
  ],
  ['function SUM', 'select sum(timestamp - timestamp) as x from edge_logs'],
  ['function GENERATE_ARRAY', "select generate_array(1, 2, bigdecimal '0.5') as x from edge_logs"],
  ['C in a regular expression', String.raw`select regexp_extract(id, r'\C') as x from edge_logs`],
  ['HAVING MAX in AVG', 'select avg(length(id) having max timestamp) as x from edge_logs'],
  ['HAVING MIN in ARRAY_AGG', 'select array_agg(id having min timestamp) as x from edge_logs'],
  ['KLL_QUANTILES.INIT_INT64', 'select kll_quantiles.init_int64(length(id)) over () as x from edge_logs'],
])('refuses %s by name here, and lets the warehouse answer it', (name, callerSql) => {
  expect(() => compileCaller(callerSql)).toThrow(onEmbedded(name));
  expect(forWarehouse(callerSql).endsWith(callerSql)).toBe(true);
});

test.each(['interval 1 day', "range<date> '[2026-01-01, unbounded)'"])('gives %s as a text', value => {
  const sql = `select ${value} as x from edge_logs`;
  expect(compileCaller(sql).columns).toEqual([{ name: 'x', type: 'STRING', mode: 'NULLABLE' }]);
  expect(forWarehouse(sql).endsWith(sql)).toBe(true);
});

test('answers here what does not reach what has no DuckDB form', () => {
  const sql = 'with w as (select net.reg_domain(id) as x from edge_logs) select 1 as y';
  expect(compileCaller(sql).columns).toHaveLength(1);
});

test.each([
  ['select net.reg_domain(1) as x', 'No matching signature for function NET.REG_DOMAIN'],
  ['select net.reg_domain(nope) as x from edge_logs', 'Unrecognized name: nope'],
  ['select net.reg_domain(id) from secrets', 'secrets'],
  ['select hll_count.init(id), id as x from edge_logs', 'neither grouped nor aggregated'],
  ['select hll_count.init(hll_count.init(id)) as x from edge_logs', 'not allowed in'],
  ["select cast(nope as string format 'YYYY') as x from edge_logs", 'Unrecognized name: nope'],
  ['select cast(timestamp as string format (select id from secrets)) as x from edge_logs', 'secrets'],
  ['select cast(id as string(id)) as x from edge_logs', 'integer literals'],
  ["select interval '1' minute to hour as x", 'MINUTE TO HOUR'],
  ['select net.nope(id) as x from edge_logs', 'Function not found: net.nope'],
  ['select keys.new_keyset(id) as x from edge_logs', 'Function not found: keys.new_keyset'],
  ['select ml.predict(id) as x from edge_logs', 'Function not found: ml.predict'],
  ["select external_query('c', 'select 1') as x", 'Function not found: external_query'],
  ["select search(id, 'x', analyzer => (select id from secrets)) from edge_logs", 'secrets'],
  ["select search(id, 'x', nope => 'y') from edge_logs", 'Named argument nope not found'],
  ["select contains_substr(e, 'x', nope => 'y') from edge_logs as e", 'Named argument nope not found'],
  [
    "select contains_substr(parse_json(id), 'x', json_scope => (select id from secrets)) from edge_logs",
    'secrets',
  ],
  ['select contains_substr(e, (select id from secrets)) from edge_logs as e', 'secrets'],
  ['select st_geogpoint(1, 2) as x', 'Function ST_GEOGPOINT is not supported'],
  ['select session_user() as x', 'Function not found: session_user'],
  ['select avg(length(id) having max nope) as x from edge_logs', 'Unrecognized name: nope'],
  ['select avg(length(id) having max (select id from secrets)) as x from edge_logs', 'secrets'],
  ["select net.reg_domain(concat((select id from secrets), 'x')) from edge_logs", 'secrets'],
])('refuses on the warehouse what the sandbox must: %s', (callerSql, message) => {
  expect(() => forWarehouse(callerSql)).toThrow(message);
});

test('binds every signature that only the warehouse answers', () => {
  const nullOf = (type: string) =>
    type === 'INTERVAL' ? 'interval 1 day' : `(select cast(null as ${type}))`;
  const argument = (parameter: (typeof warehouseRows)[number]['parameters'][number]) => {
    if (parameter.kind === 'exact') return nullOf(typeName(parameter.type));
    return nullOf(parameter.kind === 'variable' ? 'INT64' : 'ARRAY<INT64>');
  };
  const texts = [...warehouseRows, ...warehouseAggregateRows].map(({ name, parameters }) => {
    const rule = literalArguments[name];
    const values = parameters.map((parameter, i) => (rule?.index === i ? rule.from : argument(parameter)));
    return `select ${name}(${values.join(', ')}) is null as x from edge_logs`;
  });
  const refused = texts.flatMap(text => {
    try {
      forWarehouse(text);
      return [];
    } catch (error) {
      return [`${text}: ${error}`];
    }
  });
  expect(refused).toEqual([]);
});
