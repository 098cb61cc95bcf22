import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createDuckDbEngine } from '../../src/duckdb/duckdb-engine.ts';
import { bigqueryEnvironment, sourceTables } from '../bigquery/bigquery-environment.ts';
import { openExecutingWarehouse } from '../bigquery/executing-warehouse.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

/** A parameter of each type and an array of it, which the rows show as they came. */
const types = {
  s: 'STRING',
  b: 'BYTES',
  o: 'BOOL',
  i: 'INT64',
  f: 'FLOAT64',
  n: 'NUMERIC',
  m: 'BIGNUMERIC',
  t: 'TIMESTAMP',
  d: 'DATETIME',
  y: 'DATE',
  c: 'TIME',
  j: 'JSON',
};
const echo = `/*
id: 0d7c1f0a-55a1-4f0e-8a5b-3c1f9a2b4d01
name: echo
description: Its parameters.
parameters:
${Object.entries(types)
  .map(
    ([name, type]) =>
      `  ${name}: { type: ${type}, description: One. }\n  ${name}_list: { type: ${type}, repeated: true, description: Many. }`,
  )
  .join('\n')}
columns:
${Object.entries(types)
  .map(
    ([name, type]) =>
      `  ${name}: { type: ${type}, description: One. }\n  ${name}_list: { type: ${type}, repeated: true, description: Many. }`,
  )
  .join('\n')}
sandbox: true
cacheSeconds: 60
*/
with given as (select ${Object.keys(types)
  .map(name => `@${name} as ${name}, @${name}_list as ${name}_list`)
  .join(', ')})
select * from given`;

const bounded = `/*
id: 0d7c1f0a-55a1-4f0e-8a5b-3c1f9a2b4d02
name: bounded
description: Numbers.
parameters:
  size: { type: INT64, min: 1, max: 50, default: 20, examples: [5, 50], description: How many. }
  code: { type: STRING, pattern: "^[a-z]+$", maxLength: 4, examples: [abc], description: A code. }
  since: { type: DATE, min: 2020-01-01, description: First day. }
  level: { type: enum, values: [low, high], repeated: true, description: Levels. }
columns:
  size: { type: INT64, required: true, description: The size. }
*/
select coalesce(@size, -1) as size`;

const byId = `/*
id: 0d7c1f0a-55a1-4f0e-8a5b-3c1f9a2b4d03
name: by.id
description: A row of an id.
parameters:
  id: { type: INT64, required: true, description: An id. }
  add: { type: INT64, default: 0, description: What is added. }
columns:
  twice: { type: INT64, required: true, description: Its double. }
cacheSeconds: 60
batch: { parameter: id, key: id }
*/
select 2 * @id + @add as twice`;
const byIdBatch = 'select id, 2 * id + @add as twice from unnest(@ids) as id';

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    now: '2026-01-15T12:00:00Z',
    sqlFiles: { 'echo.sql': echo, 'bounded.sql': bounded, 'by.id.sql': byId, 'by.id.batch.sql': byIdBatch },
  });
  return gateway.close;
});

const query = '/api/endpoints/query';
const post = (endpoint: string, body: object) =>
  gateway.send(`${query}/${endpoint}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** As sent in a query string, as sent in JSON, as rows show it (contract 2.12). */
const values: Record<keyof typeof types, readonly [string, unknown, unknown]> = {
  s: ['ä b', 'ä b', 'ä b'],
  b: ['AP8=', 'AP8=', 'AP8='],
  o: ['TRUE', true, true],
  i: ['42', 42, 42],
  f: ['1e-3', 0.001, 0.001],
  n: ['12.50', 12.5, '12.5'],
  m: ['0.10', '0.1', '0.1'],
  t: ['2026-01-15T10:00:00+01:00', '2026-01-15T09:00:00Z', 1_768_467_600_000_000],
  d: ['2026-01-15 10:00:00', '2026-01-15T10:00:00', '2026-01-15T10:00:00'],
  y: ['2026-1-15', '2026-01-15', '2026-01-15'],
  c: ['9:08:07', '09:08:07', '09:08:07'],
  j: ['{"a": [1]}', { a: [1] }, '{"a":[1]}'],
};
const entries = Object.entries(values);
const expected = Object.fromEntries(
  entries.flatMap(([name, [, , shown]]) => [
    [name, shown],
    [`${name}_list`, [shown, shown]],
  ]),
);

describe('contract 10.3: a parameter of each type, alone and as an array', () => {
  test('by a query string, where a list is a name given twice', async () => {
    const pairs = entries.flatMap(([name, [text]]) => [
      [name, text],
      [`${name}_list`, text],
      [`${name}_list`, text],
    ]);
    const { status, body } = await gateway.get(`${query}/echo?${new URLSearchParams(pairs)}`);
    expect([status, body.result]).toEqual([200, [expected]]);
  });

  test('by a query string with commas, where the last of two scalars wins', async () => {
    const { body } = await gateway.get(`${query}/echo?i=1&i_list=1,2&i=2&y_list=2026-01-15%2C2026-1-16`);
    expect(body.result[0]).toMatchObject({ i: 2, i_list: [1, 2], y_list: ['2026-01-15', '2026-01-16'] });
  });

  test('by a JSON body, and it is the same entry of the cache', async () => {
    const sent = Object.fromEntries(
      entries.flatMap(([name, [, json]]) => [
        [name, json],
        [`${name}_list`, [json, json]],
      ]),
    );
    const { headers, body } = await post('echo', sent);
    expect([headers.get('x-cache'), body.result]).toEqual(['HIT', [expected]]);
  });

  test('by GraphQL, typed, and it is the same entry', async () => {
    const { body } = await gateway.graphql(
      `query ($s: String, $b: String, $o: Boolean, $i: BigInt, $f: Float, $n: String, $m: String, $t: DateTime, $d: DateTime, $y: Date,
        $c: String, $j: JSON, $sl: [String!], $bl: [String!], $ol: [Boolean!], $il: [BigInt!], $fl: [Float!], $nl: [String!], $ml: [String!],
        $tl: [DateTime!], $dl: [DateTime!], $yl: [Date!], $cl: [String!], $jl: [JSON!]) {
        echo(s: $s, b: $b, o: $o, i: $i, f: $f, n: $n, m: $m, t: $t, d: $d, y: $y, c: $c, j: $j, sList: $sl, bList: $bl,
          oList: $ol, iList: $il, fList: $fl, nList: $nl, mList: $ml, tList: $tl, dList: $dl, yList: $yl, cList: $cl, jList: $jl) {
          s b o i f n m t d y c j jList tList } }`,
      Object.fromEntries(
        entries.flatMap(([name, [, json]]) => [
          [name, name === 'n' ? '12.5' : json],
          [`${name}l`, name === 'n' ? ['12.5', '12.5'] : [json, json]],
        ]),
      ),
    );
    expect(body.data?.echo).toEqual([
      {
        ...Object.fromEntries(entries.map(([name, [, , shown]]) => [name, shown])),
        t: '2026-01-15T09:00:00Z',
        d: '2026-01-15T10:00:00Z',
        j: { a: [1] },
        jList: [{ a: [1] }, { a: [1] }],
        tList: ['2026-01-15T09:00:00Z', '2026-01-15T09:00:00Z'],
      },
    ]);
    expect(body.extensions.cache[0].state).toBe('hit');
  });

  test('integers keep all digits, by a literal and by a text', async () => {
    const { body } = await gateway.graphql(
      'query ($i: BigInt) { a: echo(i: 9223372036854775807) { i } b: echo(i: $i) { i } }',
      { i: '9223372036854775807' },
    );
    expect(body.errors).toBeUndefined();
    const { text } = await gateway.get(`${query}/echo?i=9223372036854775807`);
    expect(text).toContain('"i":9223372036854775807');
  });

  test('without values they are NULL and empty arrays', async () => {
    const { body } = await gateway.get(`${query}/echo?i_list=&o=`);
    for (const name of Object.keys(types)) {
      expect(body.result[0]).toMatchObject({ [name]: null, [`${name}_list`]: [] });
    }
  });

  test('contract 8.8: a value that a token fixes is of its type, and in a list the only element', async () => {
    const token = await gateway.issue({ parameters: { i: '+7', s_list: 'a,b' } });
    const ask = (text: string) => gateway.get(`${query}/echo?${text}`, { 'x-api-key': token });
    for (const text of ['', 'i=7', 'i=07', 's_list=a,b']) {
      const { status, body } = await ask(text);
      expect([status, body.result?.[0]]).toMatchObject([200, { i: 7, s_list: ['a,b'] }]);
    }
    for (const text of ['i=8', 's_list=a', 's_list=a&s_list=b', 's_list=a,b&s_list=c']) {
      expect([text, (await ask(text)).status]).toEqual([text, 403]);
    }
  });

  test("in a caller's SQL", async () => {
    const sql =
      'select @i + 1 as n, @y > date "2026-01-01" as later, (select sum(x) from unnest(@i_list) as x) as s from given';
    const { status, body } = await post('echo', { i: 41, y: '2026-01-15', i_list: [1, 2], sql });
    expect([status, body.result]).toEqual([200, [{ n: 42, later: true, s: 3 }]]);
  });

  test('the warehouse gets each as a value of its type', async () => {
    const engine = await createDuckDbEngine({
      databasePath: join(gateway.directory, 'logs.duckdb'),
      clock: { now: () => Date.now() },
      emit: () => undefined,
    });
    const warehouse = await openExecutingWarehouse({
      engine,
      sourceOf: new Map(sourceTables.map(([source, table]) => [table, source])),
      pageRows: 10,
    });
    const overWarehouse = await openGateway({
      sqlFiles: { 'echo.sql': echo },
      environment: bigqueryEnvironment(warehouse.url),
    });
    onTestFinished(async () => {
      await overWarehouse.close();
      warehouse.close();
      await engine.close();
    });
    const pairs = entries.flatMap(([name, [text]]) => [
      [name, text],
      [`${name}_list`, text],
      [`${name}_list`, text],
    ]);
    const { status, body } = await overWarehouse.get(`${query}/echo?${new URLSearchParams(pairs)}`);
    expect([status, body.result]).toEqual([200, [expected]]);
    type Sent = { name: string; parameterType: { type: string; arrayType?: { type: string } } };
    const sent: readonly Sent[] = warehouse.asked.findLast(({ what }) => what === 'insert')?.body
      .configuration.query.queryParameters;
    expect(
      Object.fromEntries(
        sent.map(({ name, parameterType: { type, arrayType } }) => [name, arrayType?.type ?? type]),
      ),
    ).toEqual(
      Object.fromEntries(
        Object.entries(types).flatMap(([name, type]) => [
          [name, type],
          [`${name}_list`, type],
        ]),
      ),
    );
  });

  test('by the batch form, whose key is typed', async () => {
    const ids = ['-1', '2', '9007199254740993'];
    const fields = ids.map((id, at) => `f${at}: byId(id: ${id}, add: 1) { twice }`).join(' ');
    const { text, body } = await gateway.graphql(`{ ${fields} }`);
    expect(body.errors).toBeUndefined();
    expect(text).toContain('"f0":[{"twice":-1}],"f1":[{"twice":5}],"f2":[{"twice":18014398509481987}]');
  });
});

describe('contract 10.4: defaults, bounds and examples', () => {
  test.each([
    ['size=0', 'Parameter "size" is "0"; allowed: an integer of 64 bits, at least 1, at most 50'],
    ['size=51', 'Parameter "size" is "51"; allowed: an integer of 64 bits, at least 1, at most 50'],
    ['size=many', 'Parameter "size" is "many"; allowed: an integer of 64 bits, at least 1, at most 50'],
    ['code=A', 'Parameter "code" is "A"; allowed: a non-empty string, at most 4 characters, a match of ^[a-z]+$'],
    ['code=abcde', 'Parameter "code" is "abcde"; allowed: a non-empty string, at most 4 characters, a match of ^[a-z]+$'],
    ['since=2019-12-31', 'Parameter "since" is "2019-12-31"; allowed: a date such as 2026-01-15, years 0001 to 9999, at least 2020-01-01'],
    ['level=low,mid', 'Parameter "level" is "mid" as element 2; allowed: one of low, high'],
  ])('%s is refused before the engine, naming parameter, value and bound', async (text, message) => {
    const queries = gateway.events.filter(({ type }) => type === 'engine.query_started').length;
    const { status, body } = await gateway.get(`${query}/bounded?${text}`);
    expect([status, body.error.code, body.error.message]).toEqual([400, 'invalid_parameter', message]);
    expect(gateway.events.filter(({ type }) => type === 'engine.query_started')).toHaveLength(queries);
  }); // biome-ignore format: a table

  test('the default stands for an absent and for an empty value', async () => {
    for (const text of ['', '?size=', '?size=20']) {
      const { body } = await gateway.get(`${query}/bounded${text}`);
      expect(body.result).toEqual([{ size: 20 }]);
    }
    const { body } = await gateway.graphql('{ bounded(level: [LOW, HIGH]) { size } }');
    expect(body.data.bounded).toEqual([{ size: 20 }]);
  });

  test('GraphQL names the types, and the bounds in its descriptions', async () => {
    const { body } = await gateway.graphql(
      '{ __type(name: "Query") { fields { name args { name description type { name kind ofType { kind ofType { name } } } } } } }',
    );
    const field = body.data.__type.fields.find(({ name }: { name: string }) => name === 'bounded');
    expect(field.args).toMatchObject([
      { name: 'size', type: { name: 'Int' }, description: 'How many. Allowed: an integer of 64 bits, at least 1, at most 50. Default: 20.' },
      { name: 'code', type: { name: 'String' } },
      { name: 'since', type: { name: 'Date' } },
      { name: 'level', type: { kind: 'LIST', ofType: { kind: 'NON_NULL', ofType: { name: 'BoundedLevel' } } } },
    ]); // biome-ignore format: a table
  });

  test('OpenAPI has them as JSON Schema', async () => {
    const { body } = await gateway.get('/openapi.json');
    expect(body.paths['/api/endpoints/query/bounded'].get.parameters.slice(0, 4)).toMatchObject([
      {
        name: 'size',
        schema: { type: 'integer', minimum: 1, maximum: 50, default: 20 },
        examples: { '5': { value: 5 }, '50': { value: 50 } },
      },
      { name: 'code', schema: { type: 'string', pattern: '^[a-z]+$', maxLength: 4 } },
      { name: 'since', schema: { type: 'string', format: 'date' } },
      {
        name: 'level',
        schema: { type: 'array', items: { enum: ['low', 'high'] } },
        style: 'form',
        explode: true,
      },
    ]);
  });
});

test('-0.0 is another value than 0.0, also in one operation', async () => {
  const sql = 'select ieee_divide(1, f) as f from given';
  const fields = ['0.0', '-0.0'].map((f, n) => `f${n}: echo(f: ${f}, sql: "${sql}") { f }`);
  const { body } = await gateway.graphql(`{ ${fields.join(' ')} }`);
  expect(body.data).toEqual({ f0: [{ f: 'Infinity' }], f1: [{ f: '-Infinity' }] });
  const sent = '{"f": -0.0, "sql": "select ieee_divide(2, f) as f from given"}';
  const headers = { 'content-type': 'application/json' };
  const answer = await gateway.send(`${query}/echo`, { method: 'POST', headers, body: sent });
  expect(answer.body.result).toEqual([{ f: '-Infinity' }]);
});
