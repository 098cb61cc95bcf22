import { deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const sourceId = '0b1c2d3e-4f50-4617-8293-a4b5c6d7e8f9';

let gateway: OpenGateway;

beforeAll(async () => {
  gateway = await openGateway({
    sources: {
      'shop.logs.yaml': `name: shop.logs
id: ${sourceId.toUpperCase()}
columns:
  id: { type: STRING, required: true, generated: true }
  timestamp: { type: TIMESTAMP, required: true }
  event_message: STRING
  project: STRING
  level: STRING
`,
    },
    sqlFiles: {
      'shop.all.sql': `/*
id: 5b6c7d8e-1111-4222-8333-944455556669
name: shop.all
description: Everything.
columns:
  event_message: { type: STRING, description: Message. }
sandbox: true
*/
with events as (select * from \`shop.logs\`), edge as (select * from \`cloudflare.logs.prod\`)
select event_message from events
`,
    },
    tokens: {
      writer: { scopes: ['write'] },
      reader: {},
      bound: { scopes: ['write'], parameters: { project: 'abc' } },
    },
  });
});

afterAll(() => gateway.close());

type Sent = { query?: string; path?: string; headers?: Record<string, string> };

const post = (
  body: string | Buffer,
  { query = 'source_name=shop.logs', path = '/api/logs', headers = {} }: Sent = {},
) => gateway.send(`${path}?${query}`, { method: 'POST', body: body as BodyInit, headers });

const log = (event: object, source = 'cloudflare.logs.prod') =>
  post(JSON.stringify([event]), { query: `source_name=${source}` });

const ask = async (sql: string, name = 'shop.all', more = '') => {
  const { body } = await gateway.get(`/api/endpoints/query/${name}?sql=${encodeURIComponent(sql)}${more}`);
  return body.result ?? body.error.message;
};

/** Waits until the rows can be seen. */
const sees = (sql: string, rows: unknown, name?: string, more?: string) =>
  expect.poll(() => ask(sql, name, more)).toEqual(rows);

const event = (event_message: string) => ({ event_message, level: 'info' });

describe('the forms of a body', () => {
  const two = (name: string) => [event(`${name} 1`), event(`${name} 2`)];
  const array = JSON.stringify(two('plain'));
  const cases: [string, string | Buffer, Sent][] = [
    ['array', JSON.stringify(two('array')), {}],
    ['batch', JSON.stringify({ other: [{}], batch: two('batch') }), {}],
    ['object', JSON.stringify(event('object 1')), {}],
    [
      'ndjson',
      two('ndjson')
        .map(each => `${JSON.stringify(each)}\n`)
        .join(''),
      {},
    ],
    ['older', JSON.stringify(two('older')), { path: '/logs' }],
    ['uuid', JSON.stringify(two('uuid')), { query: `source=${sourceId}` }],
    ['gzip', gzipSync(array.replaceAll('plain', 'gzip')), { headers: { 'content-encoding': 'gzip' } }],
    [
      'zstd',
      zstdCompressSync(array.replaceAll('plain', 'zstd')),
      { headers: { 'content-encoding': 'zstd' } },
    ],
    [
      'deflate',
      deflateSync(array.replaceAll('plain', 'deflate')),
      { headers: { 'content-encoding': 'deflate' } },
    ],
    ['message', '{"message":"message 1"}', {}],
  ];

  test.each(cases)('%s', async (_name, body, sent) => {
    const { status, body: answer } = await post(body, sent);
    expect([status, answer.message]).toEqual([200, 'Logged!']);
  });

  test('have brought each event once', () =>
    sees(
      `select regexp_extract(event_message, '^[a-z]+') as form, count(*) as n from events group by form order by form`,
      cases
        .map(([form]) => ({ form, n: ['object', 'message'].includes(form) ? 1 : 2 }))
        .sort((a, b) => (a.form < b.form ? -1 : 1)),
    ));
});

test.each([
  ['no source', '[]', { query: '' }, 400, 'invalid_request'],
  ['an unknown source', '[]', { query: 'source_name=nothing' }, 404, 'source_not_found'],
  ['a body that ends too early', '[{"event_message":"a"}', {}, 400, 'invalid_body'],
  ['a body of no objects', '[1,"a",[{}]]', {}, 400, 'invalid_body'],
  ['no gzip at all', 'abc', { headers: { 'content-encoding': 'gzip' } }, 400, 'invalid_body'],
  [
    'an encoding that is not offered',
    'abc',
    { headers: { 'content-encoding': 'br' } },
    415,
    'unsupported_media_type',
  ],
  [
    'more than it may be when decoded',
    gzipSync(Buffer.alloc(17 * 1024 * 1024, 32)),
    { headers: { 'content-encoding': 'gzip' } },
    413,
    'body_too_large',
  ],
  ['no token', '[]', { headers: { 'x-api-key': '' } }, 401, 'unauthorized'],
] as [string, string | Buffer, Sent, number, string][])(
  '%s is refused',
  async (_what, body, sent, status, code) => {
    const answer = await post(body, sent);
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
  },
);

test.each([
  ['the scope write sends', 'writer', 200],
  ['no such scope does not', 'reader', 403],
  ['fixed parameters does not', 'bound', 403],
])('a token with %s', async (_what, name, status) => {
  const bearer = { authorization: `Bearer ${gateway.token(name)}` };
  expect((await post('[{"event_message":"of a token"}]', { headers: bearer })).status).toBe(status);
});

test('events among which some are none are kept', async () => {
  const answer = await post(
    `[{"event_message":"kept","level":1}, 5, {"event_message": nothing}, {"deep":${'['.repeat(90_000)}${']'.repeat(90_000)}}]`,
  );
  expect(answer.body).toMatchObject({ events: 1, rejected: 3, problem: 'event 2 is not a JSON object' });
  await sees(`select level from events where event_message = 'kept'`, [{ level: '1' }]);
});

describe('an event at the edge, as Vector sends it', () => {
  test('has its objects in arrays, and all other fields are NULL', async () => {
    await log({
      event_message: 'edge 1',
      project: 'default',
      timestamp: '2026-01-14T09:00:00.123456789Z',
      metadata: {
        request: {
          method: 'GET',
          path: '/rest/v1/a',
          protocol: 'HTTP/1.1',
          headers: { user_agent: 'curl', cf_connecting_ip: '10.0.0.1' },
        },
        response: { status_code: '200' },
      },
    });
    const sql = `select t.id, t.timestamp, r.method, r.url, h.user_agent, s.status_code from edge_logs t
      cross join unnest(t.metadata) m cross join unnest(m.request) r cross join unnest(r.headers) h cross join unnest(m.response) s`;
    const row = {
      method: 'GET',
      url: null,
      user_agent: 'curl',
      status_code: 200,
      timestamp: 1768381200123456,
    };
    await sees(
      sql,
      [{ id: expect.stringMatching(/^[0-9a-f-]{36}$/), ...row }],
      'logs.all',
      '&project=default',
    );
  });

  test('brings fields that nobody declared, and queries see them', async () => {
    await log({
      event_message: 'edge 2',
      metadata: {
        request: { method: 'PUT', 'x-new': 5, _p: 'reserved' },
        Extra: { deep: [{ a: true }, { a: false, b: 1.5 }] },
        tags: ['a', 'b'],
      },
    });
    const sql = `select r._x_new as x, m.tags, (select string_agg(cast(d.a as string), ' ' order by d.a) from unnest(m.extra) e, unnest(e.deep) d) as deep
      from edge_logs t cross join unnest(t.metadata) m cross join unnest(m.request) r where event_message = 'edge 2'`;
    await sees(sql, [{ x: 5, tags: ['a', 'b'], deep: 'false true' }], 'logs.all', '&project=default');
    await log({ event_message: 'edge 3', metadata: { request: { 'x-new': 1.5 }, tags: 'c' } });
    await sees(
      sql.replace('edge 2', 'edge 3'),
      [{ x: 1.5, tags: ['c'], deep: null }],
      'logs.all',
      '&project=default',
    );
  });

  test('contract 10.5: brings fields that the list of what can be asked has from then on', async () => {
    const fields = async () => {
      const { body } = await gateway.get('/api/endpoints/logs.all');
      type Named = { name: string; columns: Named[]; fields: Named[] };
      const named = (all: readonly Named[], name: string) => all.find(each => each.name === name);
      const subset = named(body.subsets, 'pgbouncer_logs');
      return named(subset?.columns ?? [], 'metadata')?.fields.map(({ name }) => name);
    };
    expect(await fields()).not.toContain('unheard_of');
    await log({ event_message: 'pool', metadata: { unheard_of: 1 } }, 'pgbouncer.logs.prod');
    await expect.poll(fields).toContain('unheard_of');
  });

  test('of a wrong type is kept, and its text with it', async () => {
    const metadata = { request: { method: 7, cf: 'none' }, response: { status_code: 'teapot' } };
    const text = JSON.stringify({ event_message: 'edge 4', timestamp: 'yesterday', metadata });
    await post(text, { query: 'source_name=cloudflare.logs.prod' });
    await sees(
      `select _original as text, r.method, s.status_code, array_length(r.cf) as cfs, timestamp > '2026-01-01' as is_now from edge, unnest(metadata) m, unnest(m.request) r, unnest(m.response) s where event_message = 'edge 4'`,
      [{ text, method: '7', status_code: null, cfs: 0, is_now: true }],
    );
    const unfit = { type: 'events.unfit', source: 'cloudflare.logs.prod', values: 3 };
    expect(gateway.events).toContainEqual(unfit);
  });
});

const inTwoDaysMs = Date.now() + 2 * 86_400_000;

test.each([
  ['is absent', undefined, 'now'],
  ['is empty', '', 'now'],
  ['is long ago', '1999-12-31T23:59:59Z', 946684799000000],
  ['is in two days', new Date(inTwoDaysMs).toISOString(), inTwoDaysMs * 1000],
  ['is in the year 9000', '9000-01-01T00:00:00Z', 'now'],
  ['is a count of milliseconds', 946684799000, 946684799000000],
])('a time that %s', async (what, timestamp, expected) => {
  const sentMicros = Date.now() * 1000;
  await post(JSON.stringify({ event_message: `time ${what}`, timestamp }));
  const answeredMicros = Date.now() * 1000;
  const [at, near] = typeof expected === 'number' ? [expected, 0] : [sentMicros, answeredMicros - sentMicros];
  await sees(
    `select timestamp from events where event_message = 'time ${what}' and timestamp between timestamp_micros(${at}) and timestamp_micros(${at + near})`,
    [{ timestamp: expect.any(Number) }],
  );
});

test('an event that brings its id is there once, however often it is sent', async () => {
  const own = (n: number) => ({ id: `own-${n}`, event_message: 'with id' });
  await post(JSON.stringify([own(1), own(1), own(2)]));
  await post(JSON.stringify([own(2), own(3)]));
  await sees(`select id from events where event_message = 'with id' order by id`, [
    { id: 'own-1' },
    { id: 'own-2' },
    { id: 'own-3' },
  ]);
});

test.each([
  ['function_edge_logs', 'deno-relay-logs', {}],
  ['realtime_logs', 'realtime.logs.prod', { metadata: 'text' }],
  ['storage_logs', 'storage.logs.prod.2', { metadata: { level: 'info' } }],
  ['auth_logs', 'gotrue.logs.prod', { metadata: [{ level: 'info' }] }],
])('%s has events without a project under the default one', async (subset, source, more) => {
  await log({ event_message: 'of nobody', ...more }, source);
  await sees(
    `select event_message from ${subset}`,
    [{ event_message: 'of nobody' }],
    'logs.all',
    '&project=default',
  );
});
