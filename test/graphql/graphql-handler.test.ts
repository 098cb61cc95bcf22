import { beforeAll, describe, expect, test } from 'vitest';
import { graphqlName } from '../../src/endpoints/names.ts';
import { bringPages } from '../page/built-pages.ts';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';

const rows = {
  'cloudflare.logs.prod': [
    edgeRow({ id: 'a', timestamp: '2026-01-15T11:30:00.5Z', project: 'ours' }),
    {
      ...edgeRow({ id: 'b', timestamp: '2026-01-15T11:40:00Z', project: 'ours' }),
      event_message: 'from 203.0.113.7',
    },
    edgeRow({ id: 'c', timestamp: '2026-01-15T11:50:00.000001Z', project: 'theirs', path: '/auth/v1/token' }),
  ],
};

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({ rows, now: '2026-01-15T12:00:00Z' });
  return gateway.close;
});

const codes = (body: { errors: { extensions: { code: string } }[] }) =>
  body.errors.map(({ extensions }) => extensions.code);

test('contract 11.3: a field that would be named "then" is refused, since the executor would await what has it', async () => {
  for (const query of ['{ then: __typename }', '{ logsAll(project: "ours") { then: id } }']) {
    const { body } = await gateway.graphql(query);
    expect(codes(body)).toEqual(['invalid_graphql']);
    expect(body.errors[0].message).toContain('may be named "then"');
  }
});

test('contract 11.3: a column or a member named "then" is no promise', async () => {
  const ask = (field: string, sql: string) =>
    gateway.graphql(`query ($sql: String!) { rows: ${field} }`, { sql });
  const whole = await ask(
    'logsAllSql(project: "x", sql: $sql) { rows }',
    'select 9007199254740993 as `then`',
  );
  expect(whole.text).toContain('"rows":[{"then":9007199254740993}]');
  const own = 'logsAll(project: "x", sql: $sql) { id metadata }';
  const values = ['json \'{"then":1}\'', 'struct(1 as `then`)', '[struct(1 as `then`)]'];
  const answers = values.map(value => ask(own, `select 'a' as id, ${value} as metadata, 2 as \`then\``));
  const member = '{"then":1}';
  for (const [at, shown] of [member, member, `[${member}]`].entries()) {
    expect((await answers[at])?.text).toContain(`{"data":{"rows":[{"id":"a","metadata":${shown}}]}`);
  }
});

describe('both handlers return the same rows', () => {
  test('contract 3.2: logsAll', async () => {
    const { body } = await gateway.graphql(
      '{ logsAll(project: "ours") { id timestamp eventMessage metadata } }',
    );
    const rest = await gateway.get('/api/endpoints/query/logs.all?project=ours');
    expect(body.data.logsAll).toEqual(
      rest.body.result.map((row: Record<string, unknown>) => ({
        id: row.id,
        timestamp: row.id === 'a' ? '2026-01-15T11:30:00.5Z' : '2026-01-15T11:40:00Z',
        eventMessage: row.event_message,
        metadata: row.metadata,
      })),
    );
    expect(body.data.logsAll).toHaveLength(2);
  });

  test('contract 3.2: usageApiCounts', async () => {
    const { body } = await gateway.graphql(
      `query ($interval: UsageInterval!) {
        usageApiCounts(project: "ours", interval: $interval) {
          timestamp totalRestRequests totalStorageRequests totalAuthRequests totalRealtimeRequests
        }
      }`,
      { interval: 'HOURLY' },
    );
    const rest = await gateway.get('/api/endpoints/query/usage.api-counts?project=ours&interval=hourly');
    expect(rest.body.result).toHaveLength(1);
    expect(body.data.usageApiCounts).toEqual([
      {
        timestamp: `${rest.body.result[0].timestamp}Z`,
        totalRestRequests: 2,
        totalStorageRequests: 0,
        totalAuthRequests: 0,
        totalRealtimeRequests: 0,
      },
    ]);
  });

  test('contract 5.3: and one cache entry, what REST stored, GraphQL hits', async () => {
    await gateway.get('/api/endpoints/query/usage.api-counts?project=shared&interval=daily');
    const { body } = await gateway.graphql(
      '{ usageApiCounts(project: "shared", interval: DAILY) { timestamp } }',
    );
    expect(body.extensions.cache).toEqual([{ path: 'usageApiCounts', state: 'hit', ageSeconds: 0 }]);
  });
});

test('timestamp arguments take what REST takes, empty text and null too', async () => {
  const ids = async (bounds: string) => {
    const { body } = await gateway.graphql(`{ logsAll(project: "ours", ${bounds}) { id } }`);
    return body.data.logsAll.map((row: { id: string }) => row.id);
  };
  expect(await ids('isoTimestampStart: "2026-01-15T12:30:00.5+01:00"')).toEqual(['b']);
  expect(await ids('isoTimestampEnd: "2026-01-15 11:30:00.5"')).toEqual(['a']);
  expect(await ids('isoTimestampStart: "", isoTimestampEnd: null')).toEqual(['b', 'a']);
});

test('a field that fails leaves its neighbours their rows', async () => {
  const { status, body } = await gateway.graphql(`{
    good: logsAll(project: "ours") { id }
    bad: logsAll(project: "ours", isoTimestampStart: "yesterday") { id }
  }`);
  expect(status).toBe(200);
  expect(body.data).toEqual({ good: [{ id: 'b' }, { id: 'a' }], bad: null });
  expect(body.errors).toMatchObject([
    {
      message: expect.stringContaining('Parameter "iso_timestamp_start" is "yesterday"'),
      path: ['bad'],
      extensions: { code: 'invalid_parameter', status: 400 },
    },
  ]);
});

test('equal fields of one operation run one query, fifty aliases are allowed', async () => {
  const before = gateway.events.filter(({ type }) => type === 'engine.query').length;
  const fields = Array.from({ length: 50 }, (_, n) => `f${n}: logsAll(project: "ours") { id }`);
  const { body } = await gateway.graphql(`{ ${fields.join('\n')} }`);
  expect(Object.values(body.data)).toEqual(Array.from({ length: 50 }, () => [{ id: 'b' }, { id: 'a' }]));
  expect(gateway.events.filter(({ type }) => type === 'engine.query')).toHaveLength(before + 1);
});

test('contract 2.5, 5.4: redaction by header holds here too, and never mixes', async () => {
  const message = async (headers: Record<string, string>) => {
    const { body } = await gateway.graphql('{ logsAll(project: "ours") { eventMessage } }', {}, headers);
    return body.data.logsAll[0].eventMessage;
  };
  expect(await message({ 'lf-endpoint-redact-pii': 'true' })).toBe('from REDACTED');
  expect(await message({})).toBe('from 203.0.113.7');
});

describe("a caller's own SQL", () => {
  const ask = async (field: string, sql: string) =>
    (await gateway.graphql(`query ($sql: String!) { ${field} }`, { sql })).body;

  test('that returns columns of the saved query gives typed rows', async () => {
    const sql = 'select id, timestamp from edge_logs order by id limit 1';
    const { data } = await ask('logsAll(project: "ours", sql: $sql) { id timestamp }', sql);
    expect(data.logsAll).toEqual([{ id: 'a', timestamp: '2026-01-15T11:30:00.5Z' }]);
  });

  test('that leaves a column out fails when the column is selected', async () => {
    const { data, errors } = await ask(
      'logsAll(project: "ours", sql: $sql) { metadata }',
      'select id from edge_logs',
    );
    expect(data).toEqual({ logsAll: null });
    expect(errors[0]).toMatchObject({
      message: 'Column "metadata" is not among those that `sql` returns',
      extensions: { code: 'invalid_query' },
    });
  });

  test.each([
    ['timestamp', 'cast(null as timestamp)', 'is NULL, which its field can not be'],
    ['metadata', 'cast(null as string)', 'is NULL, which its field can not be'],
    ['id', '[id]', 'is ARRAY<STRING> in the result of `sql`; allowed: String'],
    ['event_message', 'struct(id)', 'is STRUCT in the result of `sql`; allowed: String'],
  ])(
    'that gives %s the value %s, which its type does not have, is no fault of ours',
    async (name, value, problem) => {
      const sql = `select ${value} as ${name} from edge_logs`;
      const { data, errors } = await ask(`logsAll(project: "ours", sql: $sql) { ${graphqlName(name)} }`, sql);
      expect(data).toEqual({ logsAll: null });
      expect(errors).toHaveLength(1);
      expect(errors[0]).toMatchObject({
        message: `Column "${name}" ${problem}`,
        extensions: { code: 'invalid_query', status: 400 },
      });
      expect(gateway.events.filter(({ type }) => type === 'http.bug')).toEqual([]);
    },
  );

  test('that gives other types where a text takes them all gives texts', async () => {
    const sql = 'select 9007199254740993 as id, true as event_message from edge_logs limit 1';
    const { data } = await ask('logsAll(project: "ours", sql: $sql) { id eventMessage }', sql);
    expect(data.logsAll).toEqual([{ id: '9007199254740993', eventMessage: 'true' }]);
  });

  test('of any shape gives typed columns and rows as JSON, in the form of REST', async () => {
    const sql = `select timestamp_trunc(timestamp, hour) as hour, count(*) as n, array_agg(struct(id, 9007199254740993 as big) order by id) as rows_
      from edge_logs group by hour`;
    const { data } = await ask(
      'logsAllSql(project: "ours", sql: $sql) { columns { name type repeated fields { name type } } rows }',
      sql,
    );
    expect(data.logsAllSql.columns).toEqual([
      { name: 'hour', type: 'TIMESTAMP', repeated: false, fields: null },
      { name: 'n', type: 'INT64', repeated: false, fields: null },
      {
        name: 'rows_',
        type: 'STRUCT',
        repeated: true,
        fields: [
          { name: 'id', type: 'STRING' },
          { name: 'big', type: 'INT64' },
        ],
      },
    ]);
    const query = new URLSearchParams({ project: 'ours', sql });
    const rest = await gateway.get(`/api/endpoints/query/logs.all?${query}`);
    expect(data.logsAllSql.rows).toEqual(rest.body.result);
    expect(rest.text).toContain('9007199254740993');
  });

  test('contract 4.8: that reaches for a foreign table is refused, with its place in the text', async () => {
    const { errors } = await ask(
      'logsAllSql(project: "ours", sql: $sql) { rows }',
      'select *\nfrom `cloudflare.logs.prod`',
    );
    expect(errors[0].extensions).toMatchObject({ code: 'sandbox_refused', status: 400, line: 2, column: 6 });
  });
});

describe('contract 3.1: requests that can not be answered', () => {
  const post = (body: string, headers: Record<string, string> = {}) =>
    gateway.send('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });

  test.each([
    ['no token', '{"query":"{__typename}"}', { 'x-api-key': '' }, 401, 'unauthorized'],
    ['a garbage token', '{"query":"{__typename}"}', { 'x-api-key': 'garbage' }, 401, 'unauthorized'],
    ['malformed JSON', '{"query', {}, 400, 'invalid_graphql'],
    ['no query', '{}', {}, 400, 'invalid_graphql'],
    ['a list', '[]', {}, 400, 'invalid_graphql'],
    ['a body of 2 MB', ' '.repeat(2_000_000), {}, 413, 'body_too_large'],
    ['a form', 'query=x', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
    ['an Accept without JSON', '{"query":"{__typename}"}', { accept: 'text/csv' }, 406, 'not_acceptable'],
    ['an Accept of events and of lines of JSON', '{"query":"{__typename}"}', { accept: 'text/event-stream, application/x-ndjson' }, 406, 'not_acceptable'],
    ['an Accept of parts and of problems', '{"query":"{__typename}"}', { accept: 'multipart/mixed, application/problem+json' }, 406, 'not_acceptable'],
  ])('%s', async (_what, body, headers, status, code) => {
    const answer = await post(body, headers as Record<string, string>);
    expect([answer.status, codes(answer.body)]).toEqual([status, [code]]);
    expect(answer.body.extensions).toMatchObject({ request_id: answer.headers.get('x-request-id') });
  }); // biome-ignore format: a table

  test.each([
    ['application/graphql-response+json, application/json;q=0.9', 'application/graphql-response+json'],
    ['application/json', 'application/json'],
    ['text/csv', 'application/json'],
  ])('a request with the Accept %s that fails before its operation gets %s', async (accept, type) => {
    // Apollo's client reads the errors of a 401 in the first type alone.
    const { status, headers, body } = await post('{"query":"{__typename}"}', { accept, 'x-api-key': '' });
    expect([status, codes(body)]).toEqual([401, ['unauthorized']]);
    expect(headers.get('content-type')).toBe(`${type}; charset=utf-8`);
    expect(headers.get('vary')).toBe('Accept');
  });

  test.each([
    ['a document that does not parse', '{ logsAll('],
    ['an unknown field', '{ nothing }'],
    ['an unknown enum value', '{ usageApiCounts(project: "x", interval: WEEKLY) { timestamp } }'],
    ['a missing argument', '{ usageApiCounts(interval: DAILY) { timestamp } }'],
  ])('%s: 400 where the caller reads graphql-response, 200 where it reads JSON', async (_what, query) => {
    const strict = await gateway.graphql(query, {}, { accept: 'application/graphql-response+json' });
    expect([strict.status, new Set(codes(strict.body))]).toEqual([400, new Set(['invalid_graphql'])]);
    expect(strict.body.extensions).toEqual({ request_id: strict.headers.get('x-request-id') });
    expect((await gateway.graphql(query)).status).toBe(200);
  });

  test('a value that an argument does not take is named, with its type and its place', async () => {
    const asked = 'logsAll(project: "x", isoTimestampStart: 5) { id }';
    const { errors } = (await gateway.graphql(`{ ${asked} }`)).body;
    expect(errors).toMatchObject([{ locations: [{ line: 1, column: 44 }] }]);
    expect(errors[0].message).toMatch(/"DateTime".*"must be a string such as .*; found: 5/);
    const query = 'query ($from: DateTime) { logsAll(project: "x", isoTimestampStart: $from) { id } }';
    const { body } = await gateway.graphql(query, { from: 5 });
    expect(body.errors[0].message).toMatch(/"\$from".*"must be a string such as .*; found: 5/);
    expect(codes(body)).toEqual(['invalid_graphql']);
  });

  test.each([
    ['a variable of the wrong type', { project: 1 }],
    ['a missing variable', {}],
  ])('%s: the same', async (_what, variables) => {
    const query = 'query ($project: String!) { logsAll(project: $project) { id } }';
    const strict = await gateway.graphql(query, variables, { accept: 'application/graphql-response+json' });
    const lenient = await gateway.graphql(query, variables);
    expect([strict.status, lenient.status]).toEqual([400, 200]);
    for (const { body } of [strict, lenient]) {
      expect(codes(body)).toEqual(['invalid_graphql']);
      expect(body).not.toHaveProperty('data');
    }
  });
});

test.each(['application/json ; charset=utf-8', 'Application/JSON', 'application/graphql+json'])(
  'contract 3.1: a POST of the type %s is JSON, as by REST',
  async type => {
    const { status, body } = await gateway.graphql('{ __typename }', {}, { 'content-type': type });
    expect([status, body.data]).toEqual([200, { __typename: 'Query' }]);
  },
);

test.each([
  ['application/graphql-response+json, application/json;q=0.9', 'application/graphql-response+json'],
  ['application/json;q=0.9, application/graphql-response+json', 'application/graphql-response+json'],
  ['application/json, application/graphql-response+json', 'application/json'],
  ['text/event-stream, multipart/mixed, */*;q=0.1', 'application/json'],
  ['Application/*', 'application/json'],
])('an answer to Accept: %s is %s, and says what that depends on', async (accept, type) => {
  const { headers } = await gateway.graphql('{ __typename }', {}, { accept });
  expect(headers.get('content-type')).toBe(`${type}; charset=utf-8`);
  expect(headers.get('vary')).toBe('Accept, Accept-Encoding');
});

test('contract 3.1: an operation is answered whatever its URL ends with', async () => {
  const headers = { accept: 'application/json' };
  const { body } = await gateway.get('/graphql?query={__typename}&from=/health', headers);
  expect(body.data).toEqual({ __typename: 'Query' });
});

test.each([
  [
    '100 saved queries',
    `{ ${Array.from({ length: 101 }, (_, n) => `f${n}: logsAll(project: "x") { id }`)} }`,
  ],
  ['5,000 tokens', `{ ${'__typename '.repeat(4999)} }`],
])('a document of more than %s is refused with 400, whatever is accepted', async (limit, query) => {
  for (const accept of ['application/graphql-response+json', 'application/json', '*/*']) {
    const { status, body } = await gateway.graphql(query, {}, { accept });
    expect([status, codes(body)]).toEqual([400, ['invalid_graphql']]);
    expect(body.errors[0].message).toContain(`more than ${limit.replace(',', '')}`);
  }
});

test('contract 3.3: rows are typed', async () => {
  const typeOf = async (name: string) => {
    const field = 'name type { kind name ofType { name } }';
    const { body } = await gateway.graphql(`{ __type(name: "${name}") { kind fields { ${field} } } }`);
    const types = body.data.__type.fields.map(({ name: key, type }: TypedField) => [
      key,
      type.kind === 'NON_NULL' ? `${type.ofType.name}!` : type.name,
    ]);
    return Object.fromEntries(types);
  };
  expect(await typeOf('LogsAllRow')).toEqual({
    id: 'String!',
    timestamp: 'DateTime!',
    eventMessage: 'String',
    metadata: 'JSON!',
  });
  const counter = 'BigInt!';
  expect(await typeOf('UsageApiCountsRow')).toEqual({
    timestamp: 'DateTime!',
    totalRestRequests: counter,
    totalStorageRequests: counter,
    totalAuthRequests: counter,
    totalRealtimeRequests: counter,
  });
  const { body } = await gateway.graphql('{ __type(name: "UsageInterval") { enumValues { name } } }');
  expect(body.data.__type.enumValues.map(({ name }: { name: string }) => name).sort()).toEqual([
    'DAILY',
    'HOURLY',
    'MINUTELY',
  ]);
});

type TypedField = {
  readonly name: string;
  readonly type: { readonly kind: string; readonly name: string; readonly ofType: { readonly name: string } };
};

test('contract 2.12, 3.3: integers beyond 2^53 keep their digits', async () => {
  const big = `/*
id: 00000000-0000-0000-0000-000000000001
name: big
description: A big number.
columns:
  n: { type: INT64, required: true, description: A number. }
*/
select 9223372036854775807 as n`;
  const own = await openGateway({ now: '2026-01-15T12:00:00Z', sqlFiles: { 'big.sql': big } });
  try {
    expect((await own.get('/api/endpoints/query/big')).text).toBe('{"result":[{"n":9223372036854775807}]}');
    expect((await own.graphql('{ big { n } }')).text).toContain('"big":[{"n":9223372036854775807}]');
  } finally {
    await own.close();
  }
});

test('GraphiQL is for browsers in development, without a token', async () => {
  await bringPages();
  for (const path of ['/graphql', '/graphql?query={__typename}']) {
    const page = await fetch(gateway.origin + path, { headers: { accept: 'text/html' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  }
  const data = await fetch(`${gateway.origin}/graphql?query={__typename}`);
  expect(data.status).toBe(401);
  const own = await openGateway({ now: '2026-01-15T12:00:00Z', environment: { NODE_ENV: 'production' } });
  try {
    const answer = await fetch(`${own.origin}/graphql`, {
      headers: { accept: 'text/html', 'x-api-key': testToken },
    });
    expect(answer.headers.get('content-type')).toContain('application/json');
  } finally {
    await own.close();
  }
});
