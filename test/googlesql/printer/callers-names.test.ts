import { expect, test } from 'vitest';
import { compileForDuckDb } from '../../../src/googlesql/compile-duckdb.ts';
import { readPrinted } from '../../sandbox/read-printed.ts';
import { catalogOf, openSmallDatabase } from '../small-database.ts';

const database = openSmallDatabase('single');

/** Names that mean something in a template, in printed SQL, or to what reads them. */
// biome-ignore format: a word list
const names = [
  ...['$1', '$2', `\${1}`, '$*', '$$', '$or', '$over', '$jsonText', '$p1', '$now'],
  ...["'", "''", "a'b", "it's, isn't", '"', '""', '\'"', '"\'', "x' || 'y", 'x" || "y'],
  ...['r1', 'r$1', 'r$2.c0', 'v', 'e', 'e1', 'c0', 'bq_int64(', 'try(', 'lambda ', 'random()', '--', '/*', '*/', ');', '({[', ')}]'],
];

const quoted = (name: string) => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``;

/** Statements in which DuckDB text is made of a field's name, each with what it answers. */
const statements: readonly (readonly [sql: (name: string) => string, x: (name: string) => unknown])[] = [
  [name => `select struct('a' as ${name}) in unnest([struct('b' as f), struct('a')]) as x`, () => true],
  [name => `select [struct('a' as ${name})] = [struct('a' as f)] as x`, () => true],
  [name => `select struct([1] as ${name}) = struct([2] as f) as x`, () => false],
  [name => `select cast((select as struct '1' as ${name}) as struct<f int64>).f as x`, () => 1],
  [name => `select cast((select as struct '1' as f) as struct<${name} int64>).${name} as x`, () => 1],
  [
    name => `select cast([(select as struct '1' as ${name})] as array<struct<f int64>>)[offset(0)].f as x`,
    () => 1,
  ],
  [
    name => `select to_json_string((select as struct 1.5 as ${name})) as x`,
    name => JSON.stringify({ [name]: 1.5 }),
  ],
  [name => `select format('%t', (select as struct 1.5 as ${name})) as x`, () => '(1.5)'],
  [name => `select (select as struct 1 as ${name}).${name} as x`, () => 1],
  [name => `select x from (select array_agg(t.${name}) as x from (select 1 as ${name}) t)`, () => [1]],
  [name => `select ${name}.x from (select 1 as x) as ${name}`, () => 1],
];

test.each(names)('contract 4.5: the name %j is a name to DuckDB wherever it stands', async name => {
  for (const [sql, x] of statements)
    expect([sql(name), await (await database).rows(sql(quoted(name)))]).toEqual([
      sql(name),
      [{ x: x(name) }],
    ]);
});

test('contract 4.5: a name that asks for the text beside it adds nothing to the statement', async () => {
  const text = '" = 1 or exists (select 1 from "postgres.logs") or e."';
  const sql = `select struct('${text}' as \`$1\`, 1 as \`'\`) in unnest([struct('a' as a, 1 as b)]) as x`;
  const compiled = compileForDuckDb({ sql, catalog: catalogOf('single'), parameterNames: [], maxRows: 10 });
  const { connection } = await database;
  expect(await readPrinted(connection, [compiled.sql])).toEqual([{ tables: [], strangers: [] }]);
  expect(await (await database).rows(sql)).toEqual([{ x: false }]);
});

test('a text that is spelled as a name of ours names nothing', async () => {
  const { rows } = await database;
  for (let n = 1; n < 8; n++) {
    const elements = `(select array_agg(e) from unnest([1]) one left join unnest(['r$${n}', 'b']) e on e = 'r$${n}')`;
    expect(await rows(`select ${elements} as x`)).toEqual([{ x: [`r$${n}`] }]);
    const outer = `select (select max(concat(a, 'r$${n}')) from unnest([1, 2])) as x from unnest(['a', 'b']) a order by 1`;
    expect(await rows(outer)).toEqual([{ x: `ar$${n}` }, { x: `br$${n}` }]);
  }
});

test('a source may be named as subsets are in printed SQL', async () => {
  const { connection } = await database;
  const sources = Array.from({ length: 9 }, (_, n) => `w${n + 1}`);
  for (const name of sources) await connection.run(`create table ${name} as select '${name}' as c0`);
  const columns = [{ name: 'c0', type: { kind: 'STRING' } as const }];
  const catalog = new Map(sources.map(name => [name, { name, columns }]));
  const reads = sources.map(name => `(select max(c0) from ${name})`).join(', ');
  const sql = `with a as (select c0 from w1 limit 1), b as (select * from a, a as again limit 1) select [${reads}] as x from a, b`;
  const compiled = compileForDuckDb({ sql, catalog, parameterNames: [], maxRows: 10 });
  const answer = await connection.runAndReadAll(compiled.sql);
  expect(answer.getRows().map(([row]) => JSON.parse(String(row)))).toEqual([{ x: sources }]);
});

test('a source may have columns that are named as tables are in printed SQL', async () => {
  const { connection } = await database;
  const id = { name: 'id', type: { kind: 'INT64' } as const };
  const record = { kind: 'STRUCT', presence: false, fields: [id] } as const;
  const records = ['r1', 'r2', 'r3', 'c0', '_r1', 'v'].map(name => ({ name, type: record }));
  await connection.run(
    `create table inner_one as select 1 as id, ${records.map(({ name }) => `{'id': 77} as ${name}`).join(', ')}`,
  );
  await connection.run('create table outer_one as select 1 as id');
  const columns = { outer_one: [id], inner_one: [id, ...records] };
  const catalog = new Map(Object.entries(columns).map(([name, list]) => [name, { name, columns: list }]));
  const sql = 'select (select count(*) from inner_one i where i.id = o.id) as n from outer_one o';
  const compiled = compileForDuckDb({ sql, catalog, parameterNames: [], maxRows: 10 });
  expect((await connection.runAndReadAll(compiled.sql)).getRows()).toEqual([['{"n":1}']]);
});
