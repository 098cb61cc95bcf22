import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const priced = `/*
id: 0d7c1f0a-55a1-4f0e-8a5b-3c1f9a2b4d02
name: priced
description: Prices.
parameters:
  size: { type: INT64, min: 1, max: 50, default: 20, description: How many. }
  states: { type: STRING, repeated: true, values: [open, paid], examples: [[open, paid]], description: States. }
  code: { type: STRING, required: true, maxLength: 4, description: A code. }
  project: { type: STRING, description: A project. }
columns:
  price: { type: NUMERIC, required: true, description: The price. }
maxBytesBilled: 1000
*/
select numeric '1.5' as price`;

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({ now: '2026-01-15T12:00:00Z', sqlFiles: { 'priced.sql': priced } });
  return gateway.close;
});

const catalogue = '/api/endpoints';
const namesOf = (body: { endpoints: { name: string }[] }) => body.endpoints.map(({ name }) => name);

describe('contract 10.5', () => {
  test('GET /api/endpoints lists saved queries with parameters, columns and limits', async () => {
    const { status, headers, body } = await gateway.get(catalogue);
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(namesOf(body)).toEqual(['logs.all', 'priced', 'usage.api-counts']);
    expect(body.endpoints[1]).toEqual({
      name: 'priced',
      id: '0d7c1f0a-55a1-4f0e-8a5b-3c1f9a2b4d02',
      description: 'Prices.',
      path: '/api/endpoints/query/priced',
      graphql: { field: 'priced' },
      parameters: [
        { name: 'size', type: 'INT64', repeated: false, required: false, description: 'How many.', min: '1', max: '50', default: '20' },
        { name: 'states', type: 'STRING', repeated: true, required: false, description: 'States.', values: ['open', 'paid'], examples: [['open', 'paid']] },
        { name: 'code', type: 'STRING', repeated: false, required: true, description: 'A code.', max_length: 4 },
        { name: 'project', type: 'STRING', repeated: false, required: false, description: 'A project.' },
      ], // biome-ignore format: a table
      columns: [
        { name: 'price', type: 'NUMERIC', repeated: false, required: true, description: 'The price.' },
      ],
      sandbox: false,
      redact_pii: false,
      labels: [],
      limits: { max_rows: 1000, max_bytes_billed: 1000 },
      cache: { fresh_seconds: 0, stale_seconds: 60, stale_if_error_seconds: 3600, warm_seconds: 0 },
      example: '/api/endpoints/query/priced?states=open&states=paid&code=%3Ccode%3E',
    });
  });

  test('the example of each is a request that is answered', async () => {
    const { body } = await gateway.get(catalogue);
    for (const { example } of body.endpoints) {
      const { status } = await gateway.get(example.replace('%3Ccode%3E', 'abcd'));
      expect([example, status]).toEqual([example, 200]);
    }
  });

  test('one of them by name or UUID, with its subsets, their columns and the fields of records', async () => {
    const { body } = await gateway.get(`${catalogue}/logs.all`);
    expect(body.subsets.map(({ name }: { name: string }) => name)).toEqual([
      'edge_logs', 'postgres_logs', 'function_edge_logs', 'function_logs', 'auth_logs', 'realtime_logs', 'storage_logs', 'postgrest_logs', 'pgbouncer_logs',
    ]); // biome-ignore format: one list
    const [{ columns }] = body.subsets;
    expect(columns).toMatchObject([
      { name: 'timestamp', type: 'TIMESTAMP', mode: 'NULLABLE' },
      { name: 'id', type: 'STRING' },
      { name: 'event_message', type: 'STRING' },
      { name: 'metadata', type: 'STRUCT', mode: 'REPEATED', fields: expect.arrayContaining([expect.objectContaining({ name: 'request' })]) },
    ]); // biome-ignore format: a table
    expect(body.graphql).toEqual({ field: 'logsAll', sql_field: 'logsAllSql' });
    expect((await gateway.get(`${catalogue}/${body.id}`)).body).toEqual(body);
  });

  test('only what the token may ask, and subsets only where it may send SQL', async () => {
    const keyOf = async (token: Promise<string>) => ({ 'x-api-key': await token });
    const one = await keyOf(gateway.issue({ endpoints: ['usage.*'], without: ['sandbox'] }));
    const { body } = await gateway.get(catalogue, one);
    expect(namesOf(body)).toEqual(['usage.api-counts']);
    expect(body.endpoints[0]).not.toHaveProperty('subsets');
    expect((await gateway.get(`${catalogue}/logs.all`, one)).status).toBe(403);
    const bound = await keyOf(gateway.issue({ parameters: { interval: 'daily' } }));
    const listed = (await gateway.get(catalogue, bound)).body;
    expect(namesOf(listed)).toEqual(['usage.api-counts']);
    expect(listed.endpoints[0].parameters[0]).toMatchObject({ name: 'interval', fixed: true });
    expect(listed.endpoints[0].example).not.toContain('interval');
    expect((await gateway.get(`${catalogue}/usage.api-counts`, bound)).status).toBe(200);
    expect((await gateway.get(`${catalogue}/logs.all`, bound)).status).toBe(403);
    expect((await gateway.get(catalogue, { 'x-api-key': 'no such token' })).status).toBe(401);
    expect((await gateway.send(catalogue, { method: 'POST' })).status).toBe(405);
  });
});

describe('an unknown name is answered with the one that was probably meant', () => {
  const sql = async (text: string) =>
    (await gateway.get(`/api/endpoints/query/logs.all?project=p&sql=${encodeURIComponent(text)}`)).body.error
      .message;

  test.each([
    ['select id from edge_log', 'Table not found: edge_log; Did you mean edge_logs? at [1:16]'],
    ['select tiemstamp from edge_logs', 'Unrecognized name: tiemstamp; Did you mean timestamp? at [1:8]'],
    ['select e.event_mesage from edge_logs e', 'Name event_mesage not found inside e; Did you mean event_message? at [1:10]'],
    ['select m.reqest from edge_logs, unnest(metadata) m', '; Did you mean request? at [1:10]'],
    ['select path from edge_logs', 'Unrecognized name: path; path is a field in metadata[].request[] at [1:8]'],
    ['select 1 from edge_logs t where t.STATUS_CODE > 1', 'not found inside t; STATUS_CODE is a field in metadata[].response[] at [1:35]'],
    ['select m.country from edge_logs, unnest(metadata) m', '; country is a field in request[].cf[] at [1:10]'],
    ['select metadata.request from edge_logs', '…; UNNEST gives the elements of an array at [1:17]'],
    ['select tmestamp_trunc(timestamp, day) from edge_logs', 'Function not found: tmestamp_trunc; Did you mean timestamp_trunc? at [1:8]'],
    ['select id from `orders`', "Table not found: orders; the caller's SQL can read subsets only at [1:16]"],
  ])('%s', async (text, message) => {
    expect(await sql(text)).toContain(message);
  }); // biome-ignore format: a table

  test('of endpoints, those that the token covers', async () => {
    const messageFor = async (headers = {}) =>
      (await gateway.get('/api/endpoints/query/usage.api-cuonts', headers)).body.error.message;
    expect(await messageFor()).toBe(
      'No endpoint has the name or UUID "usage.api-cuonts"; Did you mean usage.api-counts?',
    );
    const other = { 'x-api-key': await gateway.issue({ endpoints: ['logs.*'] }) };
    expect(await messageFor(other)).toBe('No endpoint has the name or UUID "usage.api-cuonts"');
  });

  test('of endpoints, none that does not take a parameter which the token fixes', async () => {
    const headers = { 'x-api-key': await gateway.issue({ parameters: { interval: 'daily' } }) };
    const message = async (name: string) =>
      (await gateway.get(`/api/endpoints/query/${name}`, headers)).body.error.message;
    expect(await message('usage.api-cuonts')).toContain('Did you mean usage.api-counts?');
    expect(await message('logs.al')).not.toContain('Did you mean');
  });

  test('by GraphQL, fields, arguments and columns of what the token may ask alone', async () => {
    const headers = { 'x-api-key': await gateway.issue({ endpoints: ['usage.*'] }) };
    const message = async (query: string, own = {}) => {
      const { body } = await gateway.graphql(query, {}, own);
      return body.errors.map((error: { message: string }) => error.message).join(' ');
    };
    const asked = {
      field: '{ logsAl(project: "x") { id } }',
      argument: '{ logsAll(projec: "x") { id } }',
      column: '{ logsAll(project: "x") { event_message } }',
      type: '{ __typename ...f } fragment f on LogsAllRo { id }',
      columnOfType: '{ __typename ...f } fragment f on LogsAllRow { eventMesage }',
    };
    for (const query of Object.values(asked)) {
      expect([query, await message(query)]).toEqual([query, expect.stringContaining('Did you mean')]);
      expect([query, await message(query, headers)]).toEqual([
        query,
        expect.not.stringContaining('Did you mean'),
      ]);
    }
    for (const [query, meant] of [
      ['{ usageApiCount(project: "x", interval: DAILY) { timestamp } }', '"usageApiCounts"'],
      ['{ usageApiCounts(projct: "x", interval: DAILY) { timestamp } }', '"project"'],
      ['{ usageApiCounts(project: "x", interval: DAILY) { timestmp } }', '"timestamp"'],
    ] as const) {
      expect(await message(query, headers)).toMatch(new RegExp(`Did you mean ${meant}`));
      expect(await message(query, headers)).not.toMatch(/logs/i);
    }
  });
});

test('while the engine is away, the list has the subsets that were known before', async () => {
  let isAway = false;
  const away = async () => {
    if (isAway) throw new GatewayError('unavailable', 'It is away');
  };
  const own = await openGateway({
    engine: {
      run: async () => expect.fail('It runs nothing'),
      describe: async () => [{ name: 'n', type: 'INT64', mode: 'NULLABLE' }],
      subsets: () => away().then(() => [{ name: 'things', columns: [] }]),
      tablesVersion: () => away().then(() => '1'),
    },
    sqlFiles: {
      'things.all.sql': `/*
id: 7e57ab1e-0000-4000-8000-000000000009
name: things.all
description: Things.
columns:
  n: { type: INT64, description: A number. }
sandbox: true
*/
with things as (select 1 as n) select n from things
`,
    },
  });
  onTestFinished(() => own.close());
  const names = async () => (await own.get('/api/endpoints')).body.endpoints?.[0].subsets;
  expect(await names()).toEqual([{ name: 'things', columns: [] }]);
  isAway = true;
  expect(await names()).toEqual([{ name: 'things', columns: [] }]);
});
