import { request } from 'node:http';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { revokeToken } from '../../src/auth/manage-tokens.ts';
import { tokenFile } from '../../src/auth/token-file.ts';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { openRaw } from '../support/raw-connection.ts';

const rows = {
  'cloudflare.logs.prod': [edgeRow({ id: 'a', timestamp: '2026-01-15T11:00:00Z', project: 'ours' })],
};

/** Its rows are others each time the query runs. */
const drawnRows = `/*
id: 7e57ab1e-0000-4000-8000-000000000003
name: drawn.rows
description: A text of a thousand characters, drawn by each run.
parameters:
  project: { type: string, required: true, description: Reference of the project. }
columns:
  drawn: { type: STRING, description: The text. }
cacheSeconds: 100
staleIfErrorSeconds: 1000
*/
select repeat(generate_uuid(), 30) as drawn from \`cloudflare.logs.prod\` where project = @project`;

const origins = ['https://a.example', 'https://b.example'];

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    rows,
    now: '2026-01-15T12:00:00Z',
    tokens: { leaver: {} },
    sqlFiles: { 'drawn.rows.sql': drawnRows },
    environment: { CORS_ORIGINS: origins.join(',') },
  });
  return () => gateway.close();
});

const drawn = '/api/endpoints/query/drawn.rows?project=ours';
const invalidate = () =>
  gateway.send('/admin/invalidate', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"endpoint":"drawn.rows"}',
  });

/** Asks without what fetch would add; asks until it is a hit, whose answer may be one that lay ready. */
async function wire(path: string, headers: Record<string, string> = {}, init = { method: 'GET', body: '' }) {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number;
    headers: Record<string, unknown>;
    text: string;
  }>();
  const sent = init.body
    ? { 'content-type': 'application/json', 'content-length': String(init.body.length) }
    : {};
  request(
    gateway.origin + path,
    { method: init.method, headers: { 'x-api-key': testToken, ...sent, ...headers } },
    async response => {
      const text = Buffer.concat(await response.toArray()).toString('latin1');
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
    },
  )
    .on('error', reject)
    .end(init.body);
  return promise;
}

async function untilReady(path: string, headers: Record<string, string> = {}) {
  for (let time = 0; time < 3; time++) await wire(path, headers);
}

describe('the same request once more', () => {
  test('gets the new rows as soon as there are some', async () => {
    const seen = new Set<string>();
    for (let round = 0; round < 3; round++) {
      await untilReady(drawn);
      const [first, second] = [await wire(drawn), await wire(drawn)];
      expect([first.headers['x-cache'], second.text]).toEqual(['HIT', first.text]);
      seen.add(first.text);
      await invalidate();
    }
    expect(seen.size).toBe(3);
  });

  test('has the age of the rows and the time it took, each time', async () => {
    await invalidate();
    await untilReady(drawn);
    for (const age of ['0', '1', '2']) {
      const { headers } = await wire(drawn);
      expect(headers).toMatchObject({
        'x-cache': 'HIT',
        age,
        'cache-status': `saved-query-gateway; hit; ttl=${100 - Number(age)}`,
      });
      expect(headers['server-timing']).toMatch(/^cache;dur=\d+\.\d\d$/);
      gateway.clock.advance(1000);
    }
    gateway.clock.advance(-60_000);
    expect((await wire(drawn)).headers.age).toBe('0');
    gateway.clock.advance(60_000);
  });

  test('with a tag of the rows is answered 304; POST knows no such condition', async () => {
    await untilReady(drawn);
    const { headers } = await wire(drawn);
    const condition = { 'if-none-match': String(headers.etag) };
    expect((await wire(drawn, condition)).status).toBe(304);
    expect((await wire(drawn, condition, { method: 'POST', body: '{}' })).status).toBe(200);
  });

  test('in each encoding has a tag of that encoding, and a 304 that names none', async () => {
    const tags = new Set<unknown>();
    for (const coding of ['gzip', 'br', 'zstd']) {
      const accept = { 'accept-encoding': coding };
      await untilReady(drawn, accept);
      const { headers } = await wire(drawn, accept);
      expect([headers['x-cache'], headers['content-encoding']]).toEqual(['HIT', coding]);
      tags.add(headers.etag);
      const known = await wire(drawn, { ...accept, 'if-none-match': String(headers.etag) });
      expect([known.status, known.headers.etag, known.text]).toEqual([304, headers.etag, '']);
      for (const name of ['content-encoding', 'content-type', 'content-length']) {
        expect(known.headers).not.toHaveProperty(name);
      }
    }
    expect(tags.size).toBe(3);
  });

  test('from a page of another origin is allowed to that origin', async () => {
    for (const origin of [...origins, ...origins]) {
      const { headers } = await wire(drawn, { origin });
      expect(headers['access-control-allow-origin']).toBe(origin);
    }
  });

  // Joined to the head, sent as it lies ready, and too long for that.
  test.each([10_000, 40_000, 300_000])('has the same bytes, with a text of %i characters', async length => {
    const sql = encodeURIComponent(`select repeat('é-', ${length / 2}) as long`);
    const path = `/api/endpoints/query/usage.api-counts?project=ours&interval=hourly&sql=${sql}`;
    await untilReady(path);
    const { text, headers } = await wire(path);
    const body = `{"result":[{"long":"${'é-'.repeat(length / 2)}"}]}`;
    expect(Buffer.from(text, 'latin1').toString()).toBe(body);
    expect(Number(headers['content-length'])).toBe(Buffer.byteLength(body));
  });

  // What is repeated gets a head that was rendered before; the first request with other labels, one that Node writes.
  test.each([
    ['GET HTTP/1.1', '', 200],
    ['GET HTTP/1.1', '', 304],
    ['HEAD HTTP/1.1', '', 200],
    ['HEAD HTTP/1.1', '', 304],
    ['GET HTTP/1.0', 'Connection: keep-alive\r\n', 200],
    ['GET HTTP/1.1', 'Connection: close\r\n', 200],
  ])('has the head that Node would write: %s %j %i', async (words, more, status) => {
    const [method, version] = words.split(' ');
    const { headers } = await wire(drawn);
    const condition = status === 304 ? `If-None-Match: ${headers.etag}\r\n` : '';
    const head = async (labels: string) => {
      const connection = await openRaw(gateway.port);
      const lines = `${method} ${drawn} ${version}\r\nHost: x\r\nX-API-KEY: ${testToken}\r\n`;
      const asked = `${lines}X-Request-Id: its-own\r\n${more}${condition}${labels}\r\n`;
      connection.write(asked);
      await connection.has('its-own');
      // A connection that stays open takes another request.
      if (!more.includes('close')) connection.write(`${lines}Connection: close\r\n\r\n`);
      const text = await connection.ended;
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+) [\w ]+\r\n/g)].map(([, each]) => Number(each));
      expect(statuses).toEqual(more.includes('close') ? [status] : [status, 200]);
      const found = text.slice(0, text.indexOf('\r\n\r\n')).split('\r\n');
      const changing =
        /^(Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT|server-timing: (\w+;dur=\d+\.\d\d(, )?)+)$/;
      return found.map(line => (changing.test(line) ? line.split(':')[0] : line)).sort();
    };
    for (let time = 0; time < 3; time++) await head('');
    expect(await head('')).toEqual(
      await head(`LF-ENDPOINT-LABELS: first=${words}${status}${more.length}\r\n`),
    );
  });

  test('with a tag of other rows gets the rows, and one who always has a tag is answered from memory, too', async () => {
    await invalidate();
    const [old] = [await wire(drawn)];
    await invalidate();
    await untilReady(drawn, { 'if-none-match': String(old.headers.etag) });
    const { status, headers } = await wire(drawn, { 'if-none-match': String(old.headers.etag) });
    expect([status, headers['server-timing']]).toEqual([200, expect.stringMatching(/^cache;dur=\S+$/)]);
    const known = { 'if-none-match': String(headers.etag), accept: 'application/json' };
    for (const stages of [/^auth;/, /^cache;/]) {
      const { status, headers, text } = await wire(drawn, known);
      expect([status, text, headers['server-timing']]).toEqual([304, '', expect.stringMatching(stages)]);
    }
  });

  test('with another body is another request', async () => {
    const path = '/api/endpoints/query/logs.all';
    const ask = async (project: string) =>
      JSON.parse((await wire(path, {}, { method: 'GET', body: JSON.stringify({ project }) })).text).result
        .length;
    expect([await ask('ours'), await ask('nobody'), await ask('ours')]).toEqual([1, 0, 1]);
  });

  test('is refused once its token is revoked, whether the rows are cached or not', async () => {
    const file = `${gateway.directory}/tokens.json`;
    const token = gateway.token('leaver');
    const paths = [drawn, '/api/endpoints/query/logs.all?project=ours'];
    const statuses = async () => {
      const found = [];
      for (const path of paths) found.push((await wire(path, { 'x-api-key': token })).status);
      return found;
    };
    for (let time = 0; time < 2; time++) expect(await statuses()).toEqual([200, 200]);
    await revokeToken(tokenFile(file), { id: token.slice(4, 12), clock: gateway.clock });
    await vi.waitFor(async () => expect(await statuses()).toEqual([401, 401]));
  });
});

test('rows served because the query failed say so', async () => {
  const own = await openGateway({
    rows,
    now: '2026-01-15T12:00:00Z',
    sqlFiles: { 'drawn.rows.sql': drawnRows },
    environment: { QUERY_TIMEOUT_MS: '600' },
  });
  onTestFinished(own.close);
  // The first query of a busy machine may take longer than that.
  let { status, text } = await own.get(drawn);
  while (status !== 200) ({ status, text } = await own.get(drawn));
  own.clock.advance(200_000);
  process.kill(own.enginePid(), 'SIGSTOP');
  const answer = await own.get(drawn);
  const facts = ['x-cache', 'cache-status', 'age'].map(name => answer.headers.get(name));
  expect([answer.status, answer.text, ...facts]).toEqual([
    200,
    text,
    'STALE',
    'saved-query-gateway; hit; ttl=-100; detail=stale-if-error',
    '200',
  ]);
});

describe('the same operation once more', () => {
  const fields = 'totalAuthRequests totalRealtimeRequests totalRestRequests totalStorageRequests timestamp';
  const query = `query ($sql: String) { usageApiCounts(project: "ours", interval: HOURLY, sql: $sql) { ${fields} } }`;

  // Above 5,000 fields a result is written in slices, above 64 KB a repeated one is not joined to its headers.
  test.each([1, 60, 1000])('has the members data and extensions alone, with %i rows', async count => {
    const sql = `select datetime '2026-01-01 10:00:00' as timestamp, n as total_rest_requests, 2 as total_storage_requests,
      3 as total_auth_requests, 4 as total_realtime_requests from unnest(generate_array(1, ${count})) n order by n`;
    const body = JSON.stringify({ query, variables: { sql } });
    const states: unknown[] = [];
    for (let time = 0; time < 4; time++) {
      const { status, text, headers } = await wire('/graphql', {}, { method: 'POST', body });
      expect([status, Number(headers['content-length'])]).toEqual([200, text.length]);
      const { data, extensions, ...others } = JSON.parse(text);
      expect(others).toEqual({});
      expect(data.usageApiCounts.map((row: Record<string, number>) => row.totalRestRequests)).toEqual(
        Array.from({ length: count }, (_, n) => n + 1),
      );
      states.push(extensions.cache[0].state);
    }
    expect(states).toEqual(['miss', 'hit', 'hit', 'hit']);
  });
});
