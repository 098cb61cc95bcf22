import { getIntrospectionQuery, parse } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { introspectionScope } from '../../src/graphql/introspection.ts';
import { edgeRow } from '../support/edge-row.ts';
import { longestTurn } from '../support/longest-turn.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

let gateway: OpenGateway;
beforeAll(async () => {
  const row = edgeRow({ id: 'a', timestamp: '2026-01-15T11:30:00Z', project: 'ours' });
  gateway = await openGateway({ rows: { 'cloudflare.logs.prod': [row] }, now: '2026-01-15T12:00:00Z' });
  return gateway.close;
});

const error = ({ errors }: { errors?: { message: string; extensions: object }[] }) => ({
  message: errors?.[0]?.message,
  ...errors?.[0]?.extensions,
});
const ids = (rows: number, column = "'x'") =>
  `select ${column} as id from unnest(generate_array(1, ${rows})) n`;
const times = <T>(count: number, make: (n: number) => T) => Array.from({ length: count }, (_, n) => make(n));
const aliases = (count: number, field: string) => times(count, n => `a${n}: ${field}`).join(' ');

const ask = (query: string, variables: object = {}) => gateway.graphql(query, variables);

describe('the size of a result is bounded while it executes', () => {
  const sql = ids(1000);

  test('fields of rows count through fragments and aliases', async () => {
    const fields = times(20, n => `f${n}: logsAll(project: "ours", sql: $sql) { ...Row }`).join(' ');
    const document = `query ($sql: String!) { ${fields} } fragment Row on LogsAllRow { ${aliases(900, 'id')} }`;
    const { status, body } = await ask(document, { sql });
    expect([status, body.data, error(body)]).toEqual([
      400,
      undefined,
      {
        message: 'The result has more than 250000 fields; allowed: 250000. Ask for fewer rows or fields',
        code: 'result_too_large',
        status: 400,
      },
    ]);
    expect(body.extensions.request_id).toEqual(expect.any(String));
  });

  test.each([
    ['a fragment', '...Row', `fragment Row on LogsAllRow { ${aliases(300, 'id')} }`],
    ['an inline fragment', `... on LogsAllRow { ${aliases(300, 'id')} }`, ''],
    ['aliases', aliases(300, 'id'), ''],
  ])('contract 11.3: the fields of one list count through %s', async (_what, selection, fragment) => {
    const document = `query ($sql: String!) { logsAll(project: "ours", sql: $sql) { ${selection} } } ${fragment}`;
    const { status, body } = await ask(document, { sql });
    expect([status, error(body)]).toEqual([
      400,
      expect.objectContaining({ message: expect.stringContaining('more than 250000 fields') }),
    ]);
  });

  test('few rows of many fields are few fields', async () => {
    const fields = times(10, n => `f${n}: logsAll(project: "ours", sql: $sql) { ...Row }`).join(' ');
    const document = `query ($sql: String!) { ${fields} } fragment Row on LogsAllRow { ${aliases(400, 'id')} }`;
    const { status, body } = await ask(document, { sql: ids(3) });
    expect([status, body.errors, body.data?.f9[2].a399]).toEqual([200, undefined, 'x']);
  });

  test('rows as JSON count, whatever aliases they have', async () => {
    const document = `query ($sql: String!) { logsAllSql(project: "ours", sql: $sql) { ${aliases(400, 'rows')} } }`;
    const { status, body } = await ask(document, { sql });
    expect([status, error(body)]).toEqual([400, expect.objectContaining({ code: 'result_too_large' })]);
  });

  test('columns count, nested as they are', async () => {
    const wide = `select ${times(300, n => `struct(1 as x, 2 as y, 3 as z) as c${n}`).join(', ')}`;
    const document = `query ($sql: String!) { logsAllSql(project: "ours", sql: $sql) {
      ${aliases(50, 'columns { fields { ...Names } }')} } } fragment Names on SqlColumn { ${aliases(20, 'name')} }`;
    const { status, body } = await ask(document, { sql: wide });
    expect([status, error(body)]).toEqual([400, expect.objectContaining({ code: 'result_too_large' })]);
  });

  test('the bytes of the result count, as they are written', async () => {
    const document = `query ($sql: String!) { logsAll(project: "ours", sql: $sql) { ${aliases(100, 'id')} } }`;
    const { status, body } = await ask(document, { sql: ids(100, "repeat('x', 20000)") });
    expect([status, error(body)]).toEqual([
      400,
      {
        message: 'The result has more than 16777216 bytes; allowed: 16777216. Ask for fewer rows or fields',
        code: 'result_too_large',
        status: 400,
      },
    ]);
  });

  test('the bytes of the rows count, over all fields', async () => {
    const fields = times(10, n => `f${n}: logsAll(project: "ours", sql: $s${n}) { __typename }`).join(' ');
    const variables = Object.fromEntries(
      times(10, n => [`s${n}`, ids(100, `concat('${n}', repeat('x', 20000))`)]),
    );
    const document = `query (${times(10, n => `$s${n}: String!`).join(', ')}) { ${fields} }`;
    const { status, body } = await ask(document, variables);
    expect([status, error(body)]).toEqual([
      400,
      expect.objectContaining({
        code: 'result_too_large',
        message: expect.stringContaining('16777216 bytes of rows'),
      }),
    ]);
  });

  test('one row has a limit of its own, a lower one where its integers must stay exact', async () => {
    const { status, body } = await ask(
      'query ($sql: String!) { logsAll(project: "ours", sql: $sql) { id } }',
      {
        sql: `select string_agg(repeat('x', 1000000), '') as id from unnest(generate_array(1, 3)) n`,
      },
    );
    expect([status, body.data, error(body)]).toEqual([
      200,
      { logsAll: null },
      expect.objectContaining({ code: 'result_too_large' }),
    ]);
    const exact = await ask('query ($sql: String!) { logsAll(project: "ours", sql: $sql) { metadata } }', {
      sql: 'select generate_array(9007199254740993, 9007199254740993 + 20000) as metadata',
    });
    expect(error(exact.body)).toMatchObject({ message: expect.stringContaining('integers beyond 2^53') });
  });

  test.each([
    ['a long row', `array_to_string(array(select repeat('"ä', 300000) from unnest([1, 2, 3])), '')`, 1],
    ['integers beyond 2^53', 'generate_array(9007199254740993, 9007199254740993 + 20000)', 1],
    ['many rows', String.raw`repeat('\n€', 300)`, 900],
  ])('rows as JSON are those of REST, and none is too long: %s', async (_, value, count) => {
    const sql = `select ${value} as v, n, json '{"a":null}' as j from unnest(generate_array(1, ${count})) n order by n`;
    const document =
      'query ($sql: String!) { logsAllSql(project: "ours", sql: $sql) { rows columns { name } } }';
    const [{ text, body }, rest] = await Promise.all([
      ask(document, { sql }),
      gateway.get(`/api/endpoints/query/logs.all?project=ours&sql=${encodeURIComponent(sql)}`),
    ]);
    expect(body.data.logsAllSql.rows).toHaveLength(count);
    expect(text).toContain(`"rows":${rest.text.slice('{"result":'.length, -1)},"columns":[{"name":"v"}`);
  });

  test('what is within the limits is answered whole, as in one piece', async () => {
    const document = `query ($sql: String!) {
      few: logsAll(project: "ours", sql: $few) { id }
      many: logsAll(project: "ours", sql: $sql) { __typename ${aliases(200, 'id')} }
      sql: logsAllSql(project: "ours", sql: $sql) { rows columns { name fields { name } } }
      wrong: logsAll(project: "ours", isoTimestampEnd: "yesterday") { id }
    }`.replace('$sql: String!', '$sql: String!, $few: String!');
    const mixed = ids(1000, `if(mod(n, 2) = 0, concat('"ä€', cast(n as string)), null)`);
    const { body } = await ask(document, { sql: mixed, few: ids(2, 'cast(n as string)') });
    const { few, many, sql: untyped, wrong } = body.data;
    expect([few.length, many, wrong, error(body)]).toEqual([2, null, null, expect.anything()]);
    expect(untyped.columns).toEqual([{ name: 'id', fields: null }]);
    expect(untyped.rows).toHaveLength(1000);
    expect(untyped.rows).toContainEqual({ id: '"ä€1000' });
    expect(untyped.rows).toContainEqual({ id: null });
  });

  test('integers beyond 2^53 keep their digits in a large result, and JSON its form', async () => {
    const { text, body } = await ask(
      'query ($sql: String!) { logsAllSql(project: "ours", sql: $sql) { rows } }',
      {
        sql: `select 9223372036854775807 as n, json '{"a":[1,{"b":null}]}' as j, repeat('x', 500) as x from unnest(generate_array(1, 900)) n`,
      },
    );
    expect(text).toContain('{"n":9223372036854775807,"j":"{\\"a\\":[1,{\\"b\\":null}]}"');
    expect(body.data.logsAllSql.rows).toHaveLength(900);
  });

  test.each([
    ['eventMessage', 'event_message'],
    ['metadata', 'metadata'],
  ])('a column that `sql` leaves out is one error, not one a row: %s', async (field, column) => {
    const { body } = await ask(
      `query ($sql: String!) { logsAll(project: "ours", sql: $sql) { ${aliases(50, field)} } }`,
      { sql },
    );
    expect([body.data, body.errors.length, error(body)]).toEqual([
      { logsAll: null },
      1,
      {
        message: `Column "${column}" is not among those that \`sql\` returns`,
        code: 'invalid_query',
        status: 400,
      },
    ]);
  });
});

describe('introspection counts', () => {
  test('contract 11.2: each operation with it is executed in a turn of its own, however short', async () => {
    const document = parse('{ __schema { types { name } } }');
    const contextValue = { caller: { tokenId: 'ours', scopes: new Set(['introspect']) } };
    let begun = 0;
    const begin = async () => {
      await introspectionScope.onExecute?.({ args: { document, contextValue } } as never);
      begun++;
    };
    const all = times(3, begin);
    const ofTurns: number[] = [];
    for (let before = begun; begun < all.length; before = begun) {
      await new Promise(setImmediate);
      ofTurns.push(begun - before);
    }
    expect(Math.max(...ofTurns)).toBe(1);
  });

  test('what tools ask for is answered', async () => {
    const { body } = await ask(getIntrospectionQuery({ descriptions: true, inputValueDeprecation: true }));
    expect(body.errors).toBeUndefined();
    expect(body.data.__schema.types.length).toBeGreaterThan(10);
  });

  test.each([
    ['aliases of all types', `{ __schema { ${aliases(60, 'types { fields { ...F } }')} } } fragment F on __Field { ${aliases(40, 'name')} }`],
    ['inline fragments in a list of types', `{ __schema { types { ... on __Type { ${aliases(40, 'fields { ...F }')} } } } } fragment F on __Field { ${aliases(40, 'name')} }`],
    ['a type by variable', `query ($n: String!) { ${aliases(60, '__type(name: $n) { fields { ...F } }')} } fragment F on __Field { ${aliases(60, 'name')} }`],
    ['fragments on the query', `{ ...Q } fragment Q on Query { ${aliases(300, '__schema { types { ...T } }')} } fragment T on __Type { ${aliases(60, 'description')} }`],
  ])('%s: more than 50,000 fields are refused', async (_what, document) => {
    const { status, body } = await gateway.graphql(document, { n: 'LogsAllRow' });
    expect([status, error(body)]).toEqual([
      400,
      { message: 'The introspection asks for more than 50000 fields; allowed: 50000', code: 'invalid_graphql', status: 400 },
    ]);
  }); // biome-ignore format: a table

  test.each([
    ['two', 2],
    ['eighteen', 18],
  ])('%s fragments that spread one another are refused, and are no fault', async (_what, count) => {
    const spreads = times(count, n => `...F${n}`).join(' ');
    const fragments = times(count, n => `fragment F${n} on Query { __typename ${spreads} }`).join(' ');
    const { body } = await gateway.graphql(`{ ${spreads} } ${fragments}`);
    expect(error(body)).toMatchObject({ code: 'invalid_graphql' });
  });
});

describe('variables and extensions count', () => {
  const wide = Object.fromEntries(times(60_000, n => [`k${n}`, n]));
  const list = `[1${',1'.repeat(300_000)}]`;

  test.each([
    ['an object of 60,000 members', 'variables', JSON.stringify(wide)],
    ['a list of 300,000', 'variables', list],
    ['a list 200,000 deep', 'variables', `${'['.repeat(200_000)}${']'.repeat(200_000)}`],
    ['as extensions', 'extensions', list],
  ])('%s: refused before it is looked at (contract 11.2)', async (_what, member, value) => {
    const query = 'query ($p: String!) { usageApiCounts(interval: HOURLY, project: $p) { timestamp } }';
    const body = `{"query":"${query}","${member}":{"p":${value}}}`;
    const { status, text } = await gateway.send('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    // Cut: the message that must not come has a megabyte.
    expect([status, error(JSON.parse(text.length > 1000 ? '{"errors":[{}]}' : text))]).toEqual([
      400,
      {
        message: 'The variables and extensions have more than 10000 values; allowed: 10000',
        code: 'invalid_graphql',
        status: 400,
      },
    ]);
  });
});

test('contract 11.2: a list of half a million operations is refused before it is looked at', async () => {
  const body = `[0${',0'.repeat(500_000)}]`;
  const headers = { 'content-type': 'application/json' };
  const ask = () => gateway.send('/graphql', { method: 'POST', headers, body });
  const { result, turnMs } = await longestTurn(ask);
  expect([result.status, turnMs < 100]).toEqual([400, true]);
});

test('contract 11.2: the patterns of a hundred fields are read in many turns of the event loop', async () => {
  // The other case of each character of a large range is found one by one.
  const field = (n: number) =>
    `f${n}: usageApiCounts(interval: MINUTELY, project: "(?i)[\\\\x{100}-\\\\x{10FFFF}]x${n}") { timestamp }`;
  const { result, turnMs } = await longestTurn(() => ask(`{ ${times(100, field).join(' ')} }`));
  expect([result.status, result.body.errors, turnMs < 100]).toEqual([200, undefined, true]);
});

test('contract 11.2: the event loop turns between the long texts of one request', async () => {
  const texts = times(15, n => `${ids(1)} -- ${n} ${'x'.repeat(10_000)}`);
  const { events } = gateway;
  const started = () => events.filter(({ type }) => type === 'engine.query_started').length;
  const before = started();
  let longestStep = 0;
  let seen = before;
  const watch = () => {
    const now = started();
    longestStep = Math.max(longestStep, now - seen);
    seen = now;
    if (now < before + texts.length) setImmediate(watch);
  };
  watch();
  // Comments make no difference to the key: equal texts would be one query.
  const field = (sql: string, n: number) =>
    `f${n}: logsAll(project: "x${n}", sql: ${JSON.stringify(sql)}) { id }`;
  const { body } = await ask(`{ ${texts.map(field).join(' ')} }`);
  expect([body.errors, longestStep]).toEqual([undefined, 1]);
});

describe('a document that could harm whoever reads it', () => {
  const deep = (levels: number) => `{ ${'a { '.repeat(levels)} a ${'} '.repeat(levels)} }`;

  test.each([
    ['2,500 selections deep', deep(2500)],
    ['51 deep', deep(50)],
    ['a list 2,400 deep', `{ logsAll(project: ${'['.repeat(2400)}1${']'.repeat(2400)}) { id } }`],
    ['an object 700 deep', `{ logsAll(project: ${'{a:'.repeat(700)}1${'}'.repeat(700)}) { id } }`],
  ])('%s: 400 invalid_graphql', async (_what, document) => {
    const { status, body } = await gateway.graphql(document);
    expect([status, error(body)]).toEqual([
      400,
      {
        message: 'The document is nested more than 50 levels deep; allowed: 50',
        code: 'invalid_graphql',
        status: 400,
      },
    ]);
  });

  test('50 deep is read: it does not fit the schema', async () => {
    const { body } = await gateway.graphql(deep(49));
    expect(error(body)).toMatchObject({ message: expect.stringContaining('Cannot query field "a"') });
  });
});

test.each([
  ['450 equal fields', `{ ${times(450, () => 'logsAll(project: "x") { id }').join(' ')} }`, 'more than 10 fields of the name "logsAll"'],
  ['equal names', `{ logsAll(project: "x") { ${'id '.repeat(11)} } }`, 'more than 10 fields of the name "id" in one selection'],
  ['fragments', `{ ...F0 } ${times(101, n => `fragment F${n} on Query { __typename }`).join(' ')}`, 'more than 100 fragments'],
  ['spreads', `{ ${'...F '.repeat(101)} } fragment F on Query { __typename }`, 'more than 100 spreads'],
  ['inline fragments', `{ ${'...{ __typename } '.repeat(101)} }`, 'more than 100 spreads'],
])('a document with too many %s is refused before it is compared', async (_what, document, message) => {
  const { status, body } = await gateway.graphql(document);
  expect(status).toBe(400);
  expect(body.errors.length).toBeLessThan(3);
  expect(error(body)).toMatchObject({ code: 'invalid_graphql', message: expect.stringContaining(message) });
}); // biome-ignore format: a table

describe('a GET whose parts do not parse: 400 invalid_graphql', () => {
  test.each([
    'query={__typename}&variables={',
    'query={__typename}&extensions=nonsense',
    'query={__typename}&variables=5',
    'query={__typename}&variables=[1]',
    'query={__typename}&extensions="x"',
    'query={__typename}&variables={}}',
    '',
    'query=',
    'operationName=x',
  ])('%s', async query => {
    const { status, body } = await gateway.get(`/graphql?${query}`, { accept: 'application/json' });
    expect([status, error(body)]).toEqual([400, expect.objectContaining({ code: 'invalid_graphql' })]);
  });

  test.each([
    ['application/json', '{"query":5}'],
    ['application/json', '{"query":"{__typename}","variables":"{"}'],
    ['application/json', '{"query":"{__typename}","extensions":5}'],
    ['application/json', '{"query":"{__typename}","operationName":{}}'],
  ])('and so is a POST of %s: %s', async (type, body) => {
    const answer = await gateway.send('/graphql', {
      method: 'POST',
      headers: { 'content-type': type },
      body,
    });
    expect([answer.status, error(answer.body)]).toEqual([
      400,
      expect.objectContaining({ code: 'invalid_graphql' }),
    ]);
  });

  test('an Accept of events alone is 406', async () => {
    const { status, body } = await gateway.get('/graphql?query={__typename}', {
      accept: 'text/event-stream',
    });
    expect([status, error(body)]).toEqual([406, expect.objectContaining({ code: 'not_acceptable' })]);
  });
});
