import type { IncomingMessage } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { maxPipelined } from '../../src/http-messages/http-limits.ts';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { openRaw, readAnswers } from '../support/raw-connection.ts';

const now = '2026-01-15T12:00:00Z';
const row = edgeRow({ id: 'a', timestamp: '2026-01-15T11:00:00Z', project: 'ours' });

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({ rows: { 'cloudflare.logs.prod': [row] }, now });
  return gateway.close;
});

const get = (path: string, more = '') =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${testToken}\r\n${more}\r\n`;
const logs = get('/api/endpoints/query/logs.all?project=ours');
const closing = get('/health', 'Connection: close\r\n');

test('contract 11.3: a connection has a limit of waiting requests; one more is refused, and it ends', async () => {
  const connection = await openRaw(gateway.port);
  // All come in one piece, so that none is answered before the last has come.
  connection.write(logs.repeat(500));
  const answers = readAnswers(await connection.ended);
  expect(answers).toHaveLength(1 + maxPipelined + 1);
  const last = answers.pop();
  expect(answers.map(({ status }) => status)).toEqual(Array(1 + maxPipelined).fill(200));
  expect(last).toMatchObject({ status: 429, head: expect.stringMatching(/\r\nconnection: close/i) });
  expect(last?.head).toMatch(/\r\nretry-after: 1\r\n/i);
  expect(last?.head).toMatch(/\r\nx-request-id: \S+/i);
  expect(JSON.parse(last?.body ?? '').error.code).toBe('too_many_requests');
});

test('contract 11.2: what follows a refused request is not parsed', async () => {
  let parsed = 0;
  const count = () => parsed++;
  gateway.server.on('request', count);
  const connection = await openRaw(gateway.port);
  connection.write(logs.repeat(500));
  await connection.ended;
  gateway.server.off('request', count);
  // The rest of one piece may be.
  expect(parsed).toBeLessThan(100);
});

test('contract 11.2: requests that come together on many connections begin in many turns of the event loop, in order', async () => {
  const count = 12;
  const connections = [];
  for (let n = 0; n < count; n++) connections.push(await openRaw(gateway.port));
  let turn = 0;
  let isOver = false;
  const next = () => {
    turn++;
    if (!isOver) setImmediate(next);
  };
  next();
  const begun: { readonly url: string | undefined; readonly turn: number }[] = [];
  const begin = ({ url }: IncomingMessage) => {
    begun.push({ url, turn });
    const endMs = performance.now() + 20;
    while (performance.now() < endMs);
  };
  gateway.server.prependListener('request', begin);
  for (const [n, connection] of connections.entries())
    connection.write(get(`/health?${n}`, 'Connection: close\r\n'));
  const answers = await Promise.all(connections.map(({ ended }) => ended));
  isOver = true;
  gateway.server.off('request', begin);
  expect(answers.map(answer => readAnswers(answer).map(({ status }) => status))).toEqual(
    Array(count).fill([200]),
  );
  expect(begun.map(({ url }) => url)).toEqual(connections.map((_, n) => `/health?${n}`));
  // Two of them have had their time, and who waits goes on beside what comes.
  const most = Math.max(
    ...Map.groupBy(begun, each => each.turn)
      .values()
      .map(({ length }) => length),
  );
  expect(most).toBeLessThanOrEqual(4);
});

test('contract 11.1, 11.4: a connection waits for one request of each other, however many these have sent', async () => {
  const count = 12;
  const each = 30;
  const connections = [];
  for (let n = 0; n < count; n++) connections.push(await openRaw(gateway.port));
  const late = await openRaw(gateway.port);
  const begun: string[] = [];
  const begin = ({ url = '' }: IncomingMessage) => {
    if (begun.length === 0) late.write(get('/livez', 'Connection: close\r\n'));
    begun.push(url);
    const endMs = performance.now() + 5;
    while (performance.now() < endMs);
  };
  gateway.server.prependListener('request', begin);
  for (const connection of connections)
    connection.write(get('/health').repeat(each - 1) + get('/health', 'Connection: close\r\n'));
  const answers = await Promise.all([...connections, late].map(({ ended }) => ended));
  gateway.server.off('request', begin);
  expect(answers.map(answer => readAnswers(answer).map(({ status }) => status))).toEqual([
    ...Array(count).fill(Array(each).fill(200)),
    [200],
  ]);
  // What one turn of the event loop takes, and one request of each connection.
  expect(begun.indexOf('/livez')).toBeLessThan(6 + 2 * count);
});

describe('contract 11.1, 11.2: a body of blank lines', () => {
  const blank = '\r\n'.repeat(30_000);
  const post = (head: string, body: string) =>
    `POST /graphql HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${testToken}\r\nConnection: close\r\nContent-Type: application/json\r\n${head}\r\n\r\n${body}`;

  /** Sends a request, and counts the parts in which its body is parsed, in all and in one turn of the event loop. */
  async function send(bytes: string, busyMs: number) {
    const connection = await openRaw(gateway.port);
    const parts: number[] = [];
    let turn = 0;
    let isOver = false;
    const next = () => {
      turn++;
      if (!isOver) setImmediate(next);
    };
    next();
    gateway.server.once('request', (request: IncomingMessage) => {
      const push = request.push;
      // Node calls it for each part.
      request.push = (...part) => {
        parts.push(turn);
        const endMs = performance.now() + busyMs;
        while (performance.now() < endMs);
        return push.apply(request, part);
      };
    });
    connection.write(bytes);
    const answers = readAnswers(await connection.ended);
    isOver = true;
    const most = Math.max(
      ...Map.groupBy(parts, each => each)
        .values()
        .map(({ length }) => length),
    );
    return { statuses: answers.map(({ status }) => status), count: parts.length, most };
  }

  test('is parsed at once, also where more requests follow', async () => {
    const head = `Content-Length: ${blank.length}`;
    const { statuses, count } = await send(post(head, blank) + logs, 0);
    expect(statuses).toEqual([400]);
    expect(count).toBeLessThan(100);
  });

  test('in chunks takes turns with other connections', async () => {
    const body = `${blank.length.toString(16)}\r\n${blank}\r\n0\r\n\r\n`;
    const { statuses, count, most } = await send(post('Transfer-Encoding: chunked', body), 0.5);
    expect(statuses).toEqual([400]);
    expect(count).toBeGreaterThan(1000);
    // What 30 ms of a turn take, and what is parsed before a connection looks at the time.
    expect(most).toBeLessThan(200);
  });
});

test('requests that wait while earlier answers are not read are all answered', async () => {
  const sql = encodeURIComponent("select repeat('x', 200000) as x");
  const connection = await openRaw(gateway.port);
  connection.socket.pause();
  const note = 'X-Note: '.padEnd(500, 'x');
  connection.write(
    get(`/api/endpoints/query/logs.all?project=ours&sql=${sql}`, `${note}\r\n`).repeat(20) + closing,
  );
  await gateway.until(() => gateway.http.unreadBytes() > 0);
  connection.socket.resume();
  const answers = readAnswers(await connection.ended);
  expect(answers.map(({ status }) => status)).toEqual(Array(21).fill(200));
});

describe('a request for another protocol is answered as any other', () => {
  const upgrade = get(
    '/api/endpoints/query/logs.all?project=ours',
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n',
  );

  test('and its connection goes on', async () => {
    const connection = await openRaw(gateway.port);
    for (let round = 1; round <= 3; round++) {
      connection.write(upgrade.replace('\r\n\r\n', `\r\nX-Request-Id: round-${round}\r\n\r\n`));
      await connection.has(`round-${round}`);
    }
    connection.write(closing);
    expect(readAnswers(await connection.ended).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  test.each([
    ['the first of several', upgrade + logs],
    ['one among several', logs + upgrade + logs],
    ['one whose answer is there at once', get('/health', 'Connection: Upgrade\r\nUpgrade: h2c\r\n') + logs],
  ])('%s that come together is the last that its connection answers', async (_what, bytes) => {
    const connection = await openRaw(gateway.port);
    connection.write(bytes);
    const answers = readAnswers(await connection.ended);
    expect(answers.map(({ status }) => status)).toEqual(Array(bytes.startsWith(logs) ? 2 : 1).fill(200));
  });
});

test('waiting requests up to the limit are answered, repeatedly on one connection', async () => {
  const connection = await openRaw(gateway.port);
  for (let round = 1; round <= 5; round++) {
    connection.write(logs.repeat(maxPipelined) + get(`/health?${round}`, `X-Request-Id: round-${round}\r\n`));
    await connection.has(`round-${round}`);
  }
  connection.write(closing);
  const statuses = readAnswers(await connection.ended).map(({ status }) => status);
  expect(statuses).toEqual(Array(5 * (maxPipelined + 1) + 1).fill(200));
});

test('contract 11.3: requests with an Expect that is refused count too', async () => {
  const connection = await openRaw(gateway.port);
  connection.write(logs + get('/health', 'Expect: the-unexpected\r\n').repeat(500));
  const statuses = readAnswers(await connection.ended).map(({ status }) => status);
  expect(statuses).toEqual([200, ...Array(maxPipelined).fill(417), 429]);
});
