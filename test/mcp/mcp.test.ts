import { readFile } from 'node:fs/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';

const edge = (id: string, project: string, text = 'hello') => ({
  ...edgeRow({ id, timestamp: '2026-01-15T11:59:00Z', project }),
  event_message: text,
});

const failing = (id: string, path: string, status_code: number) => {
  const row = edgeRow({ id, timestamp: '2026-01-15T11:59:00Z', project: 'failing', path });
  const [record] = row.metadata;
  return { ...row, metadata: [{ ...record, response: [{ status_code }] }] };
};

const numbers = `/*
id: 7e57ab1e-0000-4000-8000-000000000301
name: big.numbers
description: Integers beyond 2^53.
columns:
  n: { type: INT64, required: true, description: A number. }
*/
select 9007199254740993 as n`;

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    now: '2026-01-15T12:00:00Z',
    rows: {
      'cloudflare.logs.prod': [
        edge('a', 'ours', 'from 203.0.113.7'),
        edge('b', 'theirs'),
        failing('1', '/rest/v1/orders', 500),
        failing('2', '/rest/v1/orders', 503),
        failing('3', '/auth/v1/token', 500),
        failing('4', '/rest/v1/fine', 200),
        ...Array.from({ length: 90 }, (_, n) => edge(`long${n}`, 'long', 'x'.repeat(2000))),
      ],
    },
    sqlFiles: { 'big.numbers.sql': numbers },
    environment: { CORS_ORIGINS: 'https://studio.example,*' },
    tokens: {
      bound: { parameters: { project: 'ours' } },
      plain: { without: ['sandbox'] },
      narrow: { endpoints: ['usage.*'] },
      private: { scopes: ['force-redact'] },
      poor: { limits: { requestsPerMinute: 3, burst: 3 } },
    },
  });
  return gateway.close;
});

async function connect(token = testToken) {
  const client = new Client({ name: 'test', version: '1' });
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${gateway.origin}/mcp`), { requestInit: { headers } }),
  );
  onTestFinished(() => client.close());
  return client;
}

type Result = {
  isError?: boolean;
  content: { text: string }[];
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts on what it finds
  structuredContent?: any;
};

async function call(client: Client, name: string, given: Record<string, unknown>) {
  await client.listTools(); // from then on the client holds results against the tools' schemas
  return (await client.callTool({ name, arguments: given })) as Result;
}

const namesOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name);

describe('the official client', () => {
  test('finds each saved query as a tool with typed input and output', async () => {
    const client = await connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      'big_numbers',
      'logs_all',
      'logs_all_sql',
      'usage_api-counts',
      'usage_api-counts_sql',
      'describe_subsets',
    ]);
    const usage = tools[3]!;
    expect(usage.inputSchema).toMatchObject({
      properties: {
        interval: { type: 'string', enum: ['minutely', 'hourly', 'daily'] },
        project: { type: 'string' },
      },
      required: ['interval', 'project'],
      additionalProperties: false,
    });
    expect(usage.outputSchema).toMatchObject({
      properties: { rows: { items: { properties: { total_rest_requests: { type: 'integer' } } } } },
    });
    expect(usage.annotations).toMatchObject({ readOnlyHint: true });
    expect(client.getInstructions()).toContain('_sql');
  });

  test('calls one, and gets rows that fit its schema', async () => {
    const client = await connect();
    const { structuredContent, content } = await call(client, 'logs_all', { project: 'ours' });
    expect(structuredContent).toMatchObject({ rows: [{ id: 'a' }], row_count: 1, age_seconds: 0 });
    expect(JSON.parse(content[0]!.text)).toEqual(structuredContent);
    const { structuredContent: counts } = await call(client, 'usage_api-counts', {
      project: 'ours',
      interval: 'hourly',
    });
    expect(counts.rows).toEqual([expect.objectContaining({ total_rest_requests: expect.any(Number) })]);
  });

  test('asks SQL of its own, with the columns of the subsets at hand', async () => {
    const client = await connect();
    const { resources } = await client.listResources();
    expect(await client.listResourceTemplates()).toEqual({ resourceTemplates: [] });
    expect(resources.map(({ uri }) => uri)).toEqual([
      'saved-query://dialect',
      'saved-query://logs.all/subsets',
      'saved-query://usage.api-counts/subsets',
    ]);
    const { contents } = await client.readResource({ uri: 'saved-query://logs.all/subsets' });
    expect(contents[0]).toMatchObject({ text: expect.stringContaining('## pgbouncer_logs') });
    expect(contents[0]).toMatchObject({ text: expect.stringContaining('- `timestamp` TIMESTAMP') });
    const { structuredContent } = await call(client, 'logs_all_sql', {
      project: 'long',
      sql: 'select count(*) as n from edge_logs',
    });
    expect(structuredContent).toMatchObject({
      rows: [{ n: 90 }],
      columns: [{ name: 'n', type: 'INT64', mode: 'NULLABLE' }],
    });
  });

  test('finds the columns of the subsets by a tool, too: many agents read no resources', async () => {
    const client = await connect();
    const text = async (given: Record<string, unknown>) =>
      (await call(client, 'describe_subsets', given)).content[0]!.text;
    const all = await text({ saved_query: 'logs.all' });
    expect(all).toContain('cross join unnest(t.metadata) as m');
    expect(all).toContain('## pgbouncer_logs');
    const one = await text({ saved_query: 'logs.all', subset: 'postgres_logs' });
    expect(one).toContain('error_severity STRING');
    expect(one).not.toContain('## edge_logs');
    expect(one).not.toContain('cross join');
    expect(await text({ saved_query: 'logs.al' })).toContain('Did you mean logs.all?');
    expect(await text({})).toContain('is missing; allowed: logs.all, usage.api-counts');
    expect(await text({ saved_query: 'logs.all', subset: 'edge' })).toContain('allowed: edge_logs, ');
    expect(await text({ saved_query: 'logs.all', subsets: 'edge_logs' })).toContain('Did you mean subset?');
    const narrow = await connect(gateway.token('narrow'));
    const refused = await call(narrow, 'describe_subsets', { saved_query: 'logs.all' });
    expect([refused.isError, refused.content[0]!.text]).toEqual([
      true,
      expect.not.stringContaining('edge_logs'),
    ]);
  });

  test('is told what was wrong, where, and what was probably meant', async () => {
    const client = await connect();
    const error = async (name: string, given: Record<string, unknown>) => {
      const { isError, content } = await call(client, name, given);
      expect(isError).toBe(true);
      return JSON.parse(content[0]!.text).error;
    };
    const sql = 'select tiemstamp from edge_logs';
    expect(await error('logs_all_sql', { project: 'ours', sql })).toMatchObject({
      code: 'invalid_query',
      message: expect.stringContaining('Did you mean timestamp?'),
      line: 1,
      column: 8,
    });
    const table = { project: 'ours', sql: 'select * from `cloudflare.logs.prod`' };
    expect(await error('logs_all_sql', table)).toMatchObject({
      code: 'sandbox_refused',
      hint: expect.stringMatching(
        /edge_logs, postgres_logs, .*pgbouncer_logs \(timestamp, id, event_message, metadata\[\]\)/,
      ),
    });
    expect((await error('logs_all', { project: 'ours', projct: 'x' })).message).toContain(
      'No argument is named',
    );
    expect((await error('logs_all', { projct: 'ours' })).message).toContain('Did you mean project?');
    expect((await error('logs_all', {})).code).toBe('invalid_parameter');
    for (const [given, is] of [
      [{}, 'missing'],
      [{ sql: ' ' }, 'no text'],
      [{ sql: 5 }, 'no text'],
    ] as const) {
      expect((await error('logs_all_sql', { project: 'ours', ...given })).message).toBe(
        `The argument "sql" is ${is}; allowed: one SELECT statement`,
      );
    }
    expect((await error('logs_all', { project: 'ours', sql: 'select 1' })).message).toContain('"sql"');
    await expect(client.callTool({ name: 'log_all', arguments: {} })).rejects.toThrow(
      /No tool has the name "log_all"; Did you mean logs_all\?; allowed: .*describe_subsets$/,
    );
  });

  test('is told that no row is no error', async () => {
    const { content } = await call(await connect(), 'logs_all', { project: 'nobody' });
    expect(JSON.parse(content[0]!.text)).toMatchObject({
      rows: [],
      note: expect.stringContaining('match nothing'),
    });
  });

  test('integers beyond 2^53 keep their digits on the wire', async () => {
    const { text } = await post({ method: 'tools/call', params: { name: 'big_numbers', arguments: {} } });
    expect(text).toContain('"rows":[{"n":9007199254740993}]');
  });
});

describe('contract 8.8, 9.1: tokens, fixed parameters, scopes and redaction are those of REST', () => {
  test('a fixed parameter is no argument, and no other value passes', async () => {
    const client = await connect(gateway.token('bound'));
    const { tools } = await client.listTools();
    const logs = tools.find(({ name }) => name === 'logs_all')!;
    expect(logs.inputSchema.properties).not.toHaveProperty('project');
    expect(logs.inputSchema.required).toEqual([]);
    const ids = async (name: string, given: object) =>
      (await call(client, name, { ...given })).structuredContent?.rows.map(({ id }: { id: string }) => id);
    expect(await ids('logs_all', {})).toEqual(['a']);
    expect(await ids('logs_all', { project: 'ours' })).toEqual(['a']);
    expect(await ids('logs_all_sql', { sql: 'select id from edge_logs' })).toEqual(['a']);
    for (const name of ['logs_all', 'logs_all_sql']) {
      const { isError, content } = await call(client, name, {
        project: 'theirs',
        ...(name === 'logs_all_sql' && { sql: 'select id from edge_logs' }),
      });
      expect([isError, JSON.parse(content[0]!.text).error.code]).toEqual([true, 'forbidden']);
    }
    expect(tools.map(({ name }) => name)).not.toContain('big_numbers');
  });

  test('who may send no SQL sees neither the tool nor the resources', async () => {
    const client = await connect(gateway.token('plain'));
    expect(await namesOf(client)).toEqual(['big_numbers', 'logs_all', 'usage_api-counts']);
    expect((await client.listResources()).resources).toEqual([]);
    await expect(client.readResource({ uri: 'saved-query://logs.all/subsets' })).rejects.toThrow(
      'No resource',
    );
    for (const name of ['logs_all_sql', 'describe_subsets'])
      await expect(client.callTool({ name, arguments: {} })).rejects.toThrow('No tool');
  });

  test('a token sees the saved queries that it covers', async () => {
    const client = await connect(gateway.token('narrow'));
    expect(await namesOf(client)).toEqual(['usage_api-counts', 'usage_api-counts_sql', 'describe_subsets']);
    await expect(client.callTool({ name: 'logs_all', arguments: {} })).rejects.toThrow('No tool');
  });

  test('contract 9.1: rows are redacted', async () => {
    const client = await connect(gateway.token('private'));
    const { structuredContent } = await call(client, 'logs_all', { project: 'ours' });
    expect(structuredContent.rows[0].event_message).toBe('from REDACTED');
  });

  test('requests count', async () => {
    const headers = { authorization: `Bearer ${gateway.token('poor')}` };
    const statuses = [];
    for (let n = 0; n < 4; n++) statuses.push((await post({ method: 'tools/list' }, headers)).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
  });
});

test('the question of docs/agents.md is answered by the SQL there', async () => {
  const page = await readFile(new URL('../../docs/agents.md', import.meta.url), 'utf8');
  const sql = /```sql\n([\s\S]*?)```/.exec(page)?.[1];
  const client = await connect();
  const { structuredContent } = await call(client, 'logs_all_sql', { project: 'failing', sql });
  expect(structuredContent.rows).toEqual([
    { path: '/rest/v1/orders', failures: 2 },
    { path: '/auth/v1/token', failures: 1 },
  ]);
});

test('a large result is cut, and says how to get the rest', async () => {
  const client = await connect();
  const { structuredContent, content } = await call(client, 'logs_all', { project: 'long' });
  const { rows, row_count, note } = structuredContent;
  expect(row_count).toBe(90);
  expect(rows.length).toBeGreaterThan(5);
  expect(rows.length).toBeLessThan(20);
  expect(content[0]!.text.length).toBeLessThan(40_000);
  expect(note).toBe(
    `${rows.length} of 90 rows are shown: a result has at most 32768 bytes. For the rest narrow the parameters, ` +
      'select fewer columns, aggregate or page with ORDER BY, LIMIT and OFFSET by logs_all_sql, or GET /api/endpoints/query/logs.all with ' +
      'the same arguments, sql too (and format=csv).',
  );
  const { structuredContent: one } = await call(client, 'logs_all_sql', {
    project: 'long',
    sql: "select string_agg(event_message, '') as all_of_it from edge_logs",
  });
  expect(one).toMatchObject({ rows: [], row_count: 1, note: expect.stringContaining('0 of 1 rows') });
});

/** Posts a message, or any other text, as an agent does that has no library. */
async function post(message: object | string, headers: Record<string, string> = {}) {
  const body = typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', id: 1, ...message });
  const response = await fetch(`${gateway.origin}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${testToken}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...headers,
    },
    body,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, error: text && JSON.parse(text).error };
}

describe('attacks', () => {
  const list = { method: 'tools/list' };

  test.each([
    ['no token', { authorization: '' }, 401, 'unauthorized'],
    ['a wrong token', { authorization: 'Bearer nobody' }, 401, 'unauthorized'],
    ['a page elsewhere, though REST is open to all', { origin: 'https://evil.example' }, 403, 'forbidden'],
    [
      'a page whose name looks like this machine',
      { origin: 'http://localhost.evil.example' },
      403,
      'forbidden',
    ],
    ['an opaque origin', { origin: 'null' }, 403, 'forbidden'],
    ['a page that the configuration names', { origin: 'https://studio.example' }, 200, undefined],
    ['a page on this machine', { origin: 'http://localhost:6274' }, 200, undefined],
  ])('%s', async (_what, headers, status, code) => {
    const answer = await post(list, headers);
    expect([answer.status, answer.error?.code]).toEqual([status, code]);
  });

  test.each([
    ['no JSON', '{', 400, -32700],
    ['an empty body', '', 400, -32700],
    ['no JSON-RPC', '{"hello":1}', 400, -32700],
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', 400, -32600],
    ['an unknown method', '{"jsonrpc":"2.0","id":1,"method":"tools/burn"}', 200, -32601],
    ['no parameters', '{"jsonrpc":"2.0","id":1,"method":"tools/call"}', 200, -32602],
    [
      'parameters of another type',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}',
      200,
      -32602,
    ],
    [
      'arguments of another type',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"logs_all","arguments":[]}}',
      200,
      -32602,
    ],
    [
      'a beginning without a version',
      '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}',
      200,
      -32602,
    ],
    [
      'arguments by the thousand',
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"logs_all","arguments":{${Array.from({ length: 10_000 }, (_, n) => `"a${n}":1`)}}}}`,
      400,
      -32600,
    ],
    [
      'arguments by the thousand behind marks that only some decoders take off',
      `\ufeff\ufeff{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"logs_all","arguments":{${Array.from({ length: 10_000 }, (_, n) => `"a${n}":1`)}}}}`,
      400,
      -32700,
    ],
    ['a deep nest', '['.repeat(100_000), 400, -32600],
    [
      'a deep message',
      `{"jsonrpc":"2.0","id":1,"method":"x","params":${'{"a":'.repeat(50_000)}`,
      400,
      -32700,
    ],
  ])('broken messages are answered as JSON-RPC: %s', async (_what, body, status, code) => {
    const answer = await post(body);
    expect(answer.status).toBe(status);
    expect(answer.error).toMatchObject({ code, message: expect.any(String) });
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  test('arguments that JavaScript gives a meaning of its own are only names', async () => {
    for (const name of ['__proto__', 'constructor', 'toString']) {
      const given = `{"project":"ours","${name}":"x"}`;
      const params = `{"name":"logs_all","arguments":${given}}`;
      const { text } = await post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`);
      expect(text).not.toContain('internal');
    }
  });

  test('other methods, types and sizes', async () => {
    const status = async (init: RequestInit) => (await gateway.send('/mcp', init)).status;
    expect(await status({ method: 'GET', headers: { accept: 'text/event-stream' } })).toBe(405);
    expect(await status({ method: 'DELETE' })).toBe(405);
    expect((await post('x'.repeat(1_100_000))).status).toBe(413);
    expect((await post(list, { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await post(list, { 'mcp-protocol-version': '1999-01-01' })).status).toBe(400);
  });

  test('whoever takes JSON gets it, whatever else is accepted', async () => {
    for (const accept of ['*/*', 'application/json', 'application/json;q=0.5, text/event-stream', '']) {
      expect([accept, (await post(list, { accept })).status]).toEqual([accept, 200]);
    }
    const answer = await post(list, { accept: 'text/event-stream' });
    expect([answer.status, answer.error.code]).toEqual([406, 'not_acceptable']);
  });

  test('a notification is accepted without an answer', async () => {
    const { status, text } = await post('{"jsonrpc":"2.0","method":"notifications/initialized"}');
    expect([status, text]).toEqual([202, '']);
  });
});

test('GET /llms.txt says what is served, to everybody', async () => {
  const response = await fetch(`${gateway.origin}/llms.txt`);
  const text = await response.text();
  expect(response.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
  expect(text).toMatch(/^# Saved queries\n\n> /);
  expect(text).toContain('- [logs.all](/api/endpoints/query/logs.all): ');
  expect(text).toContain('  - `project` (required): ');
  // Each link leads somewhere.
  const links = [...text.matchAll(/\]\((\/[^)]*)\)/g)].map(([, link = '']) => link);
  expect(links.length).toBeGreaterThan(5);
  for (const link of links) expect((await gateway.get(link)).status).not.toBe(404);
});
