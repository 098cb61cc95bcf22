import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';

const rows = {
  'cloudflare.logs.prod': Array.from({ length: 50 }, (_, at) => ({
    ...edgeRow({ id: `r${at}`, timestamp: `2026-01-15T11:${10 + at}:00Z`, project: 'ours' }),
    event_message: 'from 203.0.113.7',
  })),
};

const cachedRows = `/*
id: 7e57ab1e-0000-4000-8000-000000000001
name: cached.rows
description: Rows of a project, cached.
parameters:
  project: { type: string, required: true, description: Reference of the project. }
columns:
  id: { type: STRING, description: Id. }
  event_message: { type: STRING, description: Message. }
cacheSeconds: 100
staleSeconds: 10
staleIfErrorSeconds: 1000
*/
select id, event_message from \`cloudflare.logs.prod\` where project = @project order by id`;

const publicRows = cachedRows
  .replace('000000000001', '000000000002')
  .replace('cached.rows', 'public.rows')
  .replace('cacheSeconds: 100', 'cacheSeconds: 100\npublic: true\nsandbox: true');

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    rows,
    now: '2026-01-15T12:00:00Z',
    tokens: { reader: {} },
    sqlFiles: { 'cached.rows.sql': cachedRows, 'public.rows.sql': publicRows },
  });
  return () => gateway.close();
});

const route = '/api/endpoints/query/cached.rows?project=ours';
let unique = 0;
/** A URL that nobody asked for before; what is not declared is ignored by the key. */
const once = () => `${route}&n=${unique++}`;

/** The answer's bytes as they came over the wire: fetch would undo the encoding, and sends no body by GET. */
function wire(path: string, headers: Record<string, string> = {}, method = 'GET', sent = '') {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number;
    headers: Record<string, unknown>;
    body: Buffer;
  }>();
  request(gateway.origin + path, { method, headers: { 'x-api-key': testToken, ...headers } }, response => {
    const parts: Buffer[] = [];
    response.on('data', part => parts.push(part));
    response.on('end', () =>
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(parts) }),
    );
  })
    .on('error', reject)
    .end(sent);
  return promise;
}

describe('contract 5.10: an answer says where it came from', () => {
  test('a miss, a hit and a stale answer', async () => {
    const facts = async () => {
      const { headers } = await gateway.get(route);
      return ['x-cache', 'cache-status', 'age', 'cache-control'].map(name => headers.get(name));
    };
    const control = 'private, max-age=100, stale-while-revalidate=10, stale-if-error=1000';
    expect(await facts()).toEqual(['MISS', 'saved-query-gateway; fwd=miss; stored', '0', control]);
    gateway.clock.advance(40_000);
    expect(await facts()).toEqual(['HIT', 'saved-query-gateway; hit; ttl=60', '40', control]);
    gateway.clock.advance(65_000);
    expect(await facts()).toEqual(['STALE', 'saved-query-gateway; hit; ttl=-5', '105', control]);
  });

  test('only a definition that says so lets shared caches keep the answer', async () => {
    const { headers } = await gateway.get('/api/endpoints/query/public.rows?project=ours');
    expect(headers.get('cache-control')).toMatch(/^public, max-age=100,/);
    expect(headers.get('x-accel-expires')).toBe('100');
    const own = await gateway.get(route);
    expect(own.headers.get('cache-control')).toMatch(/^private,/);
    expect(own.headers.get('x-accel-expires')).toBeNull();
  });

  test('what a GET has asked for in its body is kept by nobody: its URL does not say it', async () => {
    const ask = (project: string) => {
      const sent = JSON.stringify({ project });
      const headers = { 'content-type': 'application/json', 'content-length': String(sent.length) };
      return wire('/api/endpoints/query/public.rows', headers, 'GET', sent);
    };
    const [ours, others] = [await ask('ours'), await ask('others')];
    expect([ours.status, ours.body.equals(others.body)]).toEqual([200, false]);
    for (const { headers } of [ours, others]) {
      expect(headers['cache-control']).toBe('no-store');
      expect(headers).not.toHaveProperty('x-accel-expires');
    }
  });

  test('Vary names every header that changes the answer', async () => {
    const { headers } = await gateway.get(route);
    expect(headers.get('vary')).toBe(
      'Accept, Accept-Encoding, Authorization, X-API-KEY, LF-ENDPOINT-REDACT-PII',
    );
  });

  test('GraphQL says the same in its extensions', async () => {
    gateway.clock.advance(5_000_000); // past a refresh that another test may have left running
    await gateway.get(route);
    const { body } = await gateway.graphql('{ cachedRows(project: "ours") { id } }');
    expect(body.extensions.cache).toEqual([
      { path: 'cachedRows', state: 'hit', ageSeconds: expect.any(Number) },
    ]);
  });

  test('a stale public answer is kept for a second by proxies that count from their own request', async () => {
    const path = '/api/endpoints/query/public.rows?project=stale';
    const { headers } = await wire(path);
    gateway.clock.advance(105_000);
    // fetch would add Cache-Control: no-cache to this condition.
    const known = await wire(path, { 'if-none-match': String(headers.etag) });
    expect([known.status, known.headers['x-cache'], known.headers['x-accel-expires']]).toEqual([
      304,
      'STALE',
      '1',
    ]);
  });
});

describe('contract 5.11: ETag and If-None-Match', () => {
  test('a matching tag answers 304 without a body; a list, a weak form and * match too', async () => {
    const { headers } = await wire(route);
    const tag = String(headers.etag);
    expect(tag).toMatch(/^"[\w-]{22}"$/);
    for (const given of [tag, `W/${tag}`, `"other", ${tag}`, '*']) {
      const answer = await wire(route, { 'if-none-match': given });
      expect([answer.status, answer.body.length, answer.headers.etag]).toEqual([304, 0, tag]);
      expect(answer.headers).toMatchObject({ 'cache-control': headers['cache-control'], vary: headers.vary });
      expect(answer.headers).not.toHaveProperty('content-length');
    }
    expect((await wire(route, { 'if-none-match': '"other"' })).status).toBe(200);
    expect((await wire(route, { 'if-none-match': tag }, 'HEAD')).status).toBe(304);
  });

  test('equal rows have equal tags, also when a new query found them', async () => {
    const before = await wire(route);
    gateway.clock.advance(200_000);
    const after = await wire(route);
    expect(after.headers['x-cache']).not.toBe('HIT');
    expect(after.headers.etag).toBe(before.headers.etag);
  });

  test('redacted and coded forms have tags of their own', async () => {
    const forms: Record<string, string>[] = [
      {},
      { 'lf-endpoint-redact-pii': 'true' },
      { 'accept-encoding': 'gzip' },
      { 'accept-encoding': 'br' },
    ];
    const tags = await Promise.all(forms.map(async headers => (await wire(route, headers)).headers.etag));
    expect(new Set(tags).size).toBe(4);
  });

  test('contract 5.12: endpoints that are not cached have none', async () => {
    const { headers } = await wire('/api/endpoints/query/logs.all?project=ours');
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'x-cache': 'BYPASS',
      'cache-status': 'saved-query-gateway; fwd=bypass',
    });
    expect(headers).not.toHaveProperty('etag');
  });
});

describe('content encodings', () => {
  test.each([
    ['gzip', 'gzip'],
    ['br, gzip', 'br'],
    ['gzip, deflate, br, zstd', 'zstd'],
    ['zstd;q=0.1, gzip', 'gzip'],
    ['*', 'zstd'],
    ['gzip;q=0', undefined],
    ['deflate', undefined],
    ['identity, gzip;q=0.5', undefined],
    [undefined, undefined],
  ])('Accept-Encoding %s gives %s, on a miss and on a hit', async (accept, coding) => {
    const decode = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync };
    const headers: Record<string, string> = accept === undefined ? {} : { 'accept-encoding': accept };
    const path = once();
    const plain = await wire(path);
    for (const answer of [await wire(path, headers), await wire(path, headers)]) {
      expect(answer.headers['content-encoding']).toBe(coding);
      const body = coding ? decode[coding as keyof typeof decode](answer.body) : answer.body;
      expect(body.equals(plain.body)).toBe(true);
      expect(Number(answer.headers['content-length'])).toBe(answer.body.length);
    }
  });

  test('short bodies go out as they are', async () => {
    const { headers } = await wire('/api/endpoints/query/cached.rows?project=none', {
      'accept-encoding': 'gzip',
    });
    expect(headers).not.toHaveProperty('content-encoding');
  });

  test('uncached answers and GraphQL are coded too', async () => {
    const rest = await wire('/api/endpoints/query/logs.all?project=ours', { 'accept-encoding': 'gzip' });
    expect(rest.headers['content-encoding']).toBe('gzip');
    const query = encodeURIComponent('{ cachedRows(project: "ours") { id eventMessage } }');
    const graphql = await wire(`/graphql?query=${query}`, { 'accept-encoding': 'gzip' });
    expect(graphql.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept, Accept-Encoding' });
  });
});

describe('Cache-Control: no-cache in a request', () => {
  const noCache = { 'cache-control': 'no-cache' };

  test('runs the query for a token with that scope, and the next caller hits what it found', async () => {
    await gateway.get(route);
    for (let time = 0; time < 2; time++) {
      const { headers } = await gateway.get(route, noCache);
      const facts = [headers.get('x-cache'), headers.get('cache-status')];
      expect(facts).toEqual(['MISS', 'saved-query-gateway; fwd=request; stored']);
    }
    expect((await gateway.get(route)).headers.get('x-cache')).toBe('HIT');
  });

  test('is ignored for a token without it', async () => {
    await gateway.get(route);
    const answer = await gateway.get(route, { ...noCache, 'x-api-key': gateway.token('reader') });
    expect(answer.headers.get('x-cache')).toBe('HIT');
  });
});
