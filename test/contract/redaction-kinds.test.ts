import { beforeAll, describe, expect, test } from 'vitest';
import { longestTurn } from '../support/longest-turn.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const redact = { 'lf-endpoint-redact-pii': 'true' };
const plainly = { 'lf-endpoint-redact-pii': 'false' };
const message = 'from 203.0.113.7 or 2001:db8::1 by ada@example.com';

/** A saved query without a source that a caller may send SQL to. */
const savedQuery = (name: string, id: number, settings: string) => `/*
id: 7e57ab1e-0000-4000-8000-00000000001${id}
name: ${name}
description: A message that the caller sends.
parameters:
  message: { type: string, description: Any text. }
  at: { type: timestamp, description: Any time. }
columns:
  message: { type: STRING, description: The message. }
sandbox: true
${settings}
*/
with messages as (select @message as message) select message from messages`;

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    now: '2026-01-15T12:00:00Z',
    environment: { REDACT_KINDS: 'ipv4, email' },
    sqlFiles: {
      'plain.messages.sql': savedQuery('plain.messages', 1, ''),
      'own.messages.sql': savedQuery(
        'own.messages',
        2,
        'redactKinds: [ipv6]\nredactPii: true\ncacheSeconds: 60',
      ),
    },
  });
  return () => gateway.close();
});

const ask = (endpoint: string, parameters: Record<string, string>, headers: Record<string, string> = {}) =>
  gateway.get(`/api/endpoints/query/${endpoint}?${new URLSearchParams(parameters)}`, headers);

test.each([1, 3000])(
  'contract 9.1, 9.8: in JSON columns keys stay and values do not, in %d rows',
  async count => {
    const json = '{"203.0.113.7":["203.0.113.7"]}';
    const sql = `select json '${json}' as j, [struct(json '${json}' as j)] as nested, '${json}' as s from unnest(generate_array(1, ${count}))`;
    const { body } = await ask('plain.messages', { sql }, redact);
    const j = '{"203.0.113.7":["REDACTED"]}';
    expect(new Set(body.result.map((row: unknown) => JSON.stringify(row)))).toEqual(
      new Set([JSON.stringify({ j, nested: [{ j }], s: '{"REDACTED":["REDACTED"]}' })]),
    );
  },
);

describe('contract 9.5: each kind is switchable', () => {
  test('by configuration', async () => {
    const { body } = await ask('plain.messages', { message }, redact);
    expect(body.result).toEqual([{ message: 'from REDACTED or 2001:db8::1 by REDACTED' }]);
  });

  test('by endpoint, from the cache too', async () => {
    for (const state of ['MISS', 'HIT', 'HIT']) {
      const { body, headers } = await ask('own.messages', { message });
      expect(body.result).toEqual([{ message: 'from 203.0.113.7 or REDACTED by ada@example.com' }]);
      expect(headers.get('x-cache')).toBe(state);
    }
    const plain = await ask('own.messages', { message }, { 'lf-endpoint-redact-pii': 'false' });
    expect(plain.body.result).toEqual([{ message }]);
  });

  test('in GraphQL as in REST', async () => {
    const query = `{ ownMessages(message: ${JSON.stringify(message)}) { message } }`;
    const { body } = await gateway.graphql(query);
    expect(body.data.ownMessages[0].message).toBe('from 203.0.113.7 or REDACTED by ada@example.com');
  });
});

describe('contract 9.6: messages of errors are redacted as rows are', () => {
  const failures = {
    'a value that a parameter does not take': { at: 'ada@example.com' },
    'a value that the engine names': {
      message: 'ada@example.com',
      sql: 'select cast(message as int64) as message from messages',
    },
    'a name in SQL': { sql: 'select `ada@example.com` as message from messages' },
  };
  test.each(Object.entries(failures))('%s', async (_, parameters) => {
    const plain = await ask('plain.messages', parameters, { 'lf-endpoint-redact-pii': 'false' });
    expect(plain.status).toBe(400);
    const redacted = await ask('plain.messages', parameters, redact);
    expect(redacted.text).not.toContain('ada@example.com');
    expect(redacted.body.error.message).toBe(
      plain.body.error.message.replaceAll('ada@example.com', 'REDACTED'),
    );
    expect(redacted.body.error.errors[0]).toEqual({
      ...plain.body.error.errors[0],
      message: redacted.body.error.message,
    });
  });

  test('of a saved query that is not there', async () => {
    const { status, body } = await ask('ada@example.com', {});
    expect([status, body.error.message]).toEqual([404, 'No endpoint has the name or UUID "REDACTED"']);
  });

  test.each([
    ['an unknown route', 'GET', '/a/ada@example.com', ''],
    ['an unknown asset', 'GET', '/assets/ada@example.com', ''],
    ['a saved query that is not listed', 'GET', '/api/endpoints/ada@example.com', ''],
    ['a check for none', 'POST', '/api/endpoints/ada@example.com/check', '{"sql":"select 1"}'],
    ['rows for an unknown source', 'POST', '/api/sources/ada@example.com/rows', '{}'],
    ['events for an unknown source', 'POST', '/api/logs?source_name=ada@example.com', '{}'],
    ['an order to invalidate what is not there', 'POST', '/admin/invalidate', '{"endpoint":"ada@example.com"}'],
    ['an order that is no JSON', 'POST', '/admin/invalidate', 'ada@example.com'],
  ])('of %s', async (_what, method, path, body) => {
    const headers = { 'content-type': 'application/json' };
    const { status, text } = await gateway.send(path, { method, headers, ...(body && { body }) });
    expect([status, text]).toEqual([expect.any(Number), expect.stringContaining('REDACTED')]);
    expect([status, text]).toEqual([expect.any(Number), expect.not.stringContaining('ada@')]);
    expect(status).toBeGreaterThanOrEqual(400);
  }); // biome-ignore format: a table

  test.each([
    ['a redaction header of another value', '', { 'lf-endpoint-redact-pii': 'ada@example.com' }, '{}'],
    ['an Accept without a format that is offered', '', { ...plainly, accept: 'ada@example.com' }, '{}'],
    ['an encoded body', '', { ...plainly, 'content-encoding': 'ada@example.com' }, '{}'],
    ['a body of another type', '', { ...plainly, 'content-type': 'ada@example.com' }, '{}'],
    ['a body that is no JSON', '', plainly, 'ada@example.com'],
    ['another `explain`', '?explain=ada%40example.com', plainly, '{}'],
  ])('of a request that can not be read, whatever it asks for: %s', async (_what, search, headers, body) => {
    const { status, text } = await gateway.send(`/api/endpoints/query/plain.messages${search}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    expect([status, text]).toEqual([expect.any(Number), expect.stringContaining('REDACTED')]);
    expect([status, text]).toEqual([expect.any(Number), expect.not.stringContaining('ada@')]);
    expect(status).toBeGreaterThanOrEqual(400);
  });

  test.each([
    ['of a query', '/api/endpoints/query/plain.messages', '{"message":ada@example.com}'],
    ['with its start alone', '/api/endpoints/query/plain.messages', `ada@example.com${' '.repeat(50)}`],
    [
      'with its end alone',
      '/api/endpoints/query/plain.messages',
      '[1, 2, 3, 4, 5, 6, 7, 8, 9, ada@example.com',
    ],
    ['of rows', '/api/sources/postgres.logs/rows', '{"event_message":ada@example.com}'],
    ['of events', '/api/logs?source_name=postgres.logs', '{"event_message":ada@example.com}'],
    ['of GraphQL', '/graphql?query={__typename}&variables={"message":ada@example.com}', ''],
  ])('of a body that is no JSON, and repeats no part of an address: %s', async (_what, path, body) => {
    const headers = { 'content-type': 'application/json' };
    const { status, text } = await gateway.send(path, body ? { method: 'POST', headers, body } : {});
    expect([status, text]).toEqual([400, expect.stringContaining("Unexpected token 'a'")]);
    expect(text).not.toContain('ada@');
  });

  test('of rows that do not fit beside others that are loaded', async () => {
    const rows = [
      { id: 'a', timestamp: '2026-01-15T11:00:00Z', project: 'ours', event_message: 'fits' },
      { id: 'b', timestamp: 'ada@example.com', project: 'ours', event_message: 'does not' },
    ];
    const body = rows.map(row => JSON.stringify(row)).join('\n');
    const answered = await gateway.send('/api/sources/postgres.logs/rows', { method: 'POST', body });
    expect([answered.status, answered.body]).toEqual([
      200,
      expect.objectContaining({
        rows: 1,
        problems: [{ line: 2, reason: expect.stringContaining('REDACTED') }],
      }),
    ]);
    expect(answered.text).not.toContain('ada@');
  });

  test('of a GraphQL request without an operation', async () => {
    const headers = { 'content-type': 'ada@example.com' };
    const { status, text } = await gateway.send('/graphql', { method: 'POST', headers, body: 'x' });
    expect([status, text]).toEqual([415, expect.stringContaining('REDACTED')]);
  });

  test("in the words of MCP's library", async () => {
    const said = async (body: object, more: Record<string, string>) => {
      const headers = { 'content-type': 'application/json', accept: 'application/json', ...more };
      return gateway.send('/mcp', { method: 'POST', headers, body: JSON.stringify(body) });
    };
    const call = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const version = await said(call, { 'mcp-protocol-version': 'ada@example.com' });
    expect([version.status, version.body.error.message]).toEqual([400, expect.stringContaining('REDACTED')]);
    const capabilities = { experimental: { 'ada@example.com': 1 } };
    const clientInfo = { name: 'x', version: '1' };
    const params = { protocolVersion: '2025-11-25', clientInfo, capabilities };
    const { status, body } = await said({ ...call, method: 'initialize', params }, {});
    expect([status, body.error.message]).toEqual([200, 'Invalid params: REDACTED: Invalid input']);
  });

  test("in the words of MCP's server, unless plain rows are asked for", async () => {
    const said = async (method: string, params: object, headers: Record<string, string> = {}) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      const type = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
      return (await gateway.send('/mcp', { method: 'POST', headers: { ...type, ...headers }, body })).text;
    };
    for (const [method, params] of [
      ['tools/call', { name: 'ada@example.com' }],
      ['tools/call', { name: 'plain_messages', arguments: { 'ada@example.com': 1 } }],
      ['tools/call', { name: 'describe_subsets', arguments: { saved_query: 'ada@example.com' } }],
      ['tools/call', { name: 'describe_subsets', arguments: { saved_query: 'plain.messages', subset: 'ada@example.com' } }],
      ['resources/read', { uri: 'saved-query://ada@example.com' }],
    ] as const) {
      const redacted = await said(method, params);
      expect(redacted).toContain('REDACTED');
      expect(redacted).not.toContain('ada@');
      expect(await said(method, params, { 'lf-endpoint-redact-pii': 'false' })).toContain('ada@example.com');
    } // biome-ignore format: a table
  });

  test('of a check of SQL, and of what it could not read', async () => {
    const check = async (body: string, headers: Record<string, string>) => {
      const type = { 'content-type': 'application/json' };
      const path = '/api/endpoints/plain.messages/check';
      return (await gateway.send(path, { method: 'POST', headers: { ...type, ...headers }, body })).text;
    };
    const bodies = ['ada@example.com', JSON.stringify({ sql: 'select `ada@example.com` from messages' })];
    for (const body of bodies) {
      const text = await check(body, redact);
      expect([body, text]).toEqual([body, expect.stringContaining('REDACTED')]);
      expect([body, text]).toEqual([body, expect.not.stringContaining('ada@example.com')]);
    }
    expect(await check(bodies[1]!, {})).toContain('ada@example.com');
    const unread = await check('{}', { 'lf-endpoint-redact-pii': 'ada@example.com' });
    expect(unread).toContain('is \\"REDACTED\\"');
  });

  test("in GraphQL's own words, unless plain rows are asked for", async () => {
    const query = 'query ($message: String) { plainMessages(message: $message) { message } }';
    const ask = (headers: Record<string, string>) =>
      gateway.graphql(query, { message: ['ada@example.com'] }, headers);
    const plain = await ask({ 'lf-endpoint-redact-pii': 'false' });
    expect(plain.body.errors[0].message).toContain('got invalid value ["ada@example.com"]');
    const redacted = plain.body.errors[0].message.replaceAll('ada@example.com', 'REDACTED');
    for (const headers of [redact, {}]) {
      expect((await ask(headers)).body.errors[0].message).toBe(redacted);
    }
  });

  test('in GraphQL, and where a query is only explained', async () => {
    const query = '{ plainMessages(at: "ada@example.com") { message } }';
    expect((await gateway.graphql(query)).text).toContain('ada@example.com');
    expect((await gateway.graphql(query, {}, redact)).text).not.toContain('ada@example.com');
    const explained = { explain: 'true', sql: 'select `ada@example.com` as message from messages' };
    expect((await ask('plain.messages', explained)).text).toContain('ada@example.com');
    expect((await ask('plain.messages', explained, redact)).text).not.toContain('ada@example.com');
  });
});

test('contract 11.2: redacting rows of hostile text holds the event loop for less than 100 ms', async () => {
  const sql =
    "select repeat('1:', 30000) as message from messages cross join unnest(generate_array(1, 100)) as n";
  await ask('plain.messages', { sql: sql.replace('100)', '1)') }, redact);
  const { result, turnMs } = await longestTurn(() => ask('own.messages', { sql }, redact));
  expect(result.status).toBe(200);
  expect(result.text).toContain('"message":"REDACTED:');
  expect(turnMs).toBeLessThan(100);
});
