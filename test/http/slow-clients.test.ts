import { once } from 'node:events';
import { connect } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../../src/composition/config.ts';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { openRaw, type RawConnection, readAnswers } from '../support/raw-connection.ts';

const now = '2026-01-15T12:00:00Z';
const row = edgeRow({ id: 'a', timestamp: '2026-01-15T11:00:00Z', project: 'ours' });
const rows = { 'cloudflare.logs.prod': [row] };

/** Its answer is written at once, and is kept. */
const short = `/*
id: 7e57ab1e-0000-4000-8000-000000000701
name: short
description: One row.
columns:
  x: { type: STRING, description: A text. }
cacheSeconds: 900
*/
select repeat('x', 14000) as x`;
const shortPath = '/api/endpoints/query/short';

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    rows,
    now,
    sqlFiles: { 'short.sql': short },
    environment: { RECEIVE_TIMEOUT_MS: '500', SEND_TIMEOUT_MS: '700' },
  });
  return gateway.close;
});

const logs = '/api/endpoints/query/logs.all';
const get = (path: string, more = '') =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${testToken}\r\n${more}\r\n`;
const post = (path: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${testToken}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
const endings = (reason: string) =>
  gateway.events.filter(event => event.type === 'http.connection_ended' && event.reason === reason).length;

/** An answer of this many megabytes. */
const large = (megabytes: number, mark = 'x') =>
  `${logs}?${new URLSearchParams({
    project: 'ours',
    sql: `select concat('${mark}', repeat('x', 9999)) as x from unnest(generate_array(1, ${megabytes * 100})) n`,
  })}`;

test('contract 2.26, 2.27: by default 408 comes within 20 s, and an answer that is not taken ends within 30 s', () => {
  const { RECEIVE_TIMEOUT_MS, SEND_TIMEOUT_MS } = readConfig({});
  expect(RECEIVE_TIMEOUT_MS).toBeLessThanOrEqual(20_000);
  expect(SEND_TIMEOUT_MS).toBeLessThanOrEqual(30_000);
});

describe('what does not arrive ends with 408 (contract 2.26)', () => {
  test.each([
    ['no byte at all', ''],
    ['half a head', `GET ${logs} HTTP/1.1\r\nHost: x\r\nX-A`],
    ['a body of which nothing comes', post(logs, 10)],
    ['a body that stops', `${post(logs, 10)}{"pro`],
    ['a long body that stops', `${post(logs, 200_000)}{"pro`],
    ['a GraphQL body that stops', `${post('/graphql', 50)}{"query`],
    ['a long GraphQL body that stops', `${post('/graphql', 200_000)}{"query`],
    ['rows to load that stop', `${post('/api/sources/postgres.logs/rows', 200_000)}{"event`],
  ])('%s', async (_what, bytes) => {
    const before = endings('slow_sender');
    const connection = await openRaw(gateway.port);
    connection.write(bytes);
    const [answer] = readAnswers(await connection.ended);
    expect(answer).toMatchObject({ status: 408, head: expect.stringMatching(/\r\nx-request-id: \S+/i) });
    expect(answer?.body).toContain('"request_timeout"');
    // By its own progress, before the time that a whole request may take.
    if (bytes.startsWith('POST')) {
      expect(answer?.body).toContain('Nothing of the request body arrived within 500 ms');
    }
    expect(endings('slow_sender')).toBe(before + 1);
  });

  test('a body that comes byte by byte makes progress, but not for ever', async () => {
    const connection = await openRaw(gateway.port);
    sendSlowly(connection);
    const startedMs = performance.now();
    const [answer] = readAnswers(await connection.ended);
    expect(answer?.status).toBe(408);
    // Longer than one time-out, for it made progress.
    expect(performance.now() - startedMs).toBeGreaterThan(1000);
  });

  test('half a head ends by a time-out of its own, before a body that comes byte by byte', async () => {
    const own = await openGateway({ rows, now, environment: { RECEIVE_TIMEOUT_MS: '1000' } });
    onTestFinished(own.close);
    const body = await openRaw(own.port);
    const sent = sendSlowly(body);
    await own.until(() => sent() > 10);
    const head = await openRaw(own.port);
    head.write(`GET ${logs} HTTP/1.1\r\nHost: x\r\nX-A`);
    expect(readAnswers(await head.ended)).toMatchObject([{ status: 408 }]);
    expect(body.text()).toBe('');
  });

  test.each([
    ['a byte', 1, 1500],
    ['sixteen bytes', 16, 60_000],
  ])('a body in chunks of %s is read whole', async (_what, size, length) => {
    const body = `{"project":"ours"${' '.repeat(length)}}`;
    const chunks = body
      .match(new RegExp(`.{1,${size}}`, 'g'))!
      .map(each => `${each.length.toString(16)}\r\n${each}\r\n`);
    const connection = await openRaw(gateway.port);
    connection.write(chunked(post(logs, 0), 'Connection: close\r\n'));
    connection.write(`${chunks.join('')}0\r\n\r\n`);
    expect((await connection.ended).startsWith('HTTP/1.1 200')).toBe(true);
  });
});

/** Sends a body of 150 bytes in fifteen seconds. @returns how many bytes of it were sent */
function sendSlowly(connection: RawConnection): () => number {
  let sent = 0;
  connection.write(post(logs, 150));
  const timer = setInterval(() => {
    sent++;
    connection.write(' ');
  }, 100);
  onTestFinished(() => clearInterval(timer));
  return () => sent;
}

test.each(['/graphql', logs, '/admin/invalidate', '/mcp', '/api/sources/postgres.logs/rows'])(
  'a request that announces no body is answered as one with an empty body, at once: POST %s',
  async path => {
    const statuses: number[][] = [];
    for (const length of ['Content-Length: 0\r\n', '']) {
      const connection = await openRaw(gateway.port);
      connection.write(post(path, 0).replace('Content-Length: 0\r\n', `${length}Connection: close\r\n`));
      statuses.push(readAnswers(await connection.ended).map(({ status }) => status));
    }
    expect(statuses).toEqual([[expect.any(Number)], statuses[0]]);
    expect(statuses[1]).not.toEqual([408]);
  },
);

test.each([
  ['a limit of a body', post(logs, 20_000_000), 413],
  ['a token', post('/api/sources/postgres.logs/rows', 20_000_000).replace(testToken, 'other'), 401],
])(
  'who sends a whole body before reading the answer, as nginx does, gets the refusal for %s',
  async (_what, head, status) => {
    const socket = connect(gateway.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const failures: Error[] = [];
    socket.on('error', error => failures.push(error));
    socket.write(head);
    await new Promise<void>(resolve => socket.write(Buffer.alloc(20_000_000, ' '), () => resolve()));
    let answer = '';
    socket.setEncoding('latin1').on('data', part => {
      answer += part;
    });
    await once(socket, 'close');
    expect(failures).toEqual([]);
    expect(readAnswers(answer).map(each => each.status)).toEqual([status]);
  },
);

describe('a body in more chunks than its length explains ends its connection (contract 2.28, 11.2)', () => {
  test.each([
    ['REST', post(logs, 0), 413],
    ['GraphQL', post('/graphql', 0), 413],
    ['no token', post(logs, 0).replace(testToken, 'other'), 401],
    ['no body read', post('/livez', 0).replace('POST', 'GET'), 200],
  ])('%s', async (_what, head, status) => {
    const connection = await openRaw(gateway.port);
    connection.write(chunked(head) + '1\r\n \r\n'.repeat(3000));
    const [answer] = readAnswers(await connection.ended);
    expect(answer?.status).toBe(status);
    if (status === 413) expect(answer?.body).toContain('allowed: 2000, and one more for each 16 bytes');
  });

  test('almost all of it stays unread', async () => {
    const accepted = once(gateway.server, 'connection');
    const connection = await openRaw(gateway.port);
    const [socket] = await accepted;
    connection.write(chunked(post(logs, 0)) + '1\r\n \r\n'.repeat(300_000));
    await connection.ended;
    // The system hands over 64 KiB at a time.
    expect(socket.bytesRead).toBeGreaterThan(0);
    expect(socket.bytesRead).toBeLessThanOrEqual(4 * 65_536);
  });

  test('of what was read with the first too many, little is parsed', async () => {
    const msOf = async (chunks: number) => {
      const before = process.threadCpuUsage();
      for (let times = 0; times < 10; times++) {
        const connection = await openRaw(gateway.port);
        connection.write(chunked(post(logs, 0)) + '1\r\n \r\n'.repeat(chunks));
        expect(readAnswers(await connection.ended)[0]?.status).toBe(413);
      }
      return process.threadCpuUsage(before).user / 1000;
    };
    // The system hands over the 60 KB of the longer ones at once. Parsed to their end they take three times as long.
    let [short, long] = [Infinity, Infinity];
    for (let round = 0; round < 4; round++) {
      short = Math.min(short, await msOf(2700));
      long = Math.min(long, await msOf(10_000));
    }
    expect(long).toBeLessThan(2 * short);
  });
});

/** The headers of a request whose body comes in chunks. */
function chunked(headers: string, more = ''): string {
  return headers.replace('Content-Length: 0\r\n', `${more}Transfer-Encoding: chunked\r\n`);
}

describe('an answer that its reader does not take ends (contract 2.27)', () => {
  test.each([
    ['', ''],
    [' of a body that is sent while it is written', '&format=csv'],
  ])('a reader%s who stops is cut off, and its bytes are let go', async (_what, format) => {
    const before = endings('slow_reader');
    const connection = await openRaw(gateway.port);
    connection.socket.pause();
    connection.write(get(large(16) + format));
    await gateway.until(() => gateway.http.unreadBytes() > 0);
    // All that is in memory for it, what is still to be written too.
    expect(gateway.http.unreadBytes()).toBeGreaterThanOrEqual(10_000_000);
    await gateway.until(() => endings('slow_reader') > before);
    expect(gateway.http.unreadBytes()).toBe(0);
    connection.socket.resume();
    expect((await connection.ended).length).toBeLessThan(16_000_000);
  });

  test.each([
    ['a body', ''],
    ['one that is sent while it is written', '&format=ndjson'],
  ])('a reader who takes %s bit by bit gets all of it, however long it takes', async (_what, format) => {
    const connection = await openRaw(gateway.port);
    const timer = setInterval(() => {
      connection.socket.pause();
      setTimeout(() => connection.socket.resume(), 80);
    }, 90);
    onTestFinished(() => clearInterval(timer));
    connection.write(get(large(10) + format, 'Connection: close\r\n'));
    const text = await connection.ended;
    expect(text.startsWith('HTTP/1.1 200')).toBe(true);
    // Of each row its name, the mark and 9,999 more; what frames chunks has none.
    expect(text.slice(text.indexOf('\r\n\r\n')).match(/x/g)).toHaveLength(1000 * 10_001);
  });

  test.each([
    [
      'that are not kept',
      `${logs}?${new URLSearchParams({ project: 'ours', sql: "select repeat('x', 14000) as x" })}`,
      16,
    ],
    ['that are repeated', shortPath, 16],
    ['that are repeated by the bytes of their request', shortPath, 1],
  ])('a reader of short answers %s who stops is cut off', async (_what, path, atOnce) => {
    expect((await gateway.get(path)).status).toBe(200);
    const before = endings('slow_reader');
    const accepted = once(gateway.server, 'connection');
    const connection = await openRaw(gateway.port);
    onTestFinished(() => void connection.socket.destroy());
    const [socket] = await accepted;
    connection.socket.pause();
    const answered = () => gateway.events.filter(({ type }) => type === 'http.answered').length;
    const first = answered();
    // The system takes megabytes of them, and then a part of one.
    for (let sent = 0; socket.writableLength === 0; ) {
      connection.write(get(path).repeat(atOnce));
      sent += atOnce;
      await gateway.until(() => answered() >= first + sent || socket.writableLength > 0);
    }
    expect(gateway.http.unreadBytes()).toBeGreaterThan(0);
    await gateway.until(() => endings('slow_reader') > before);
    expect(gateway.http.unreadBytes()).toBe(0);
  });

  test('beyond the bound over all connections, the slowest readers end, and others are served', async () => {
    const own = await openGateway({ rows, now, environment: { MAX_UNREAD_MB: '24' } });
    onTestFinished(own.close);
    const ended = { type: 'http.connection_ended', reason: 'unread_limit' };
    const readers = await Promise.all([0, 1, 2, 3].map(() => openRaw(own.port)));
    for (const [at, reader] of readers.entries()) {
      reader.socket.pause();
      reader.write(get(large(10, String(at))));
    }
    await own.until(() => own.events.some(event => isDeepStrictEqual(event, ended)));
    expect(own.http.unreadBytes()).toBeLessThanOrEqual(24 * 1024 * 1024);
    expect((await own.get(large(10, 'y'))).body.result).toHaveLength(1000);
    for (const { socket } of readers) socket.destroy();
  });

  test('an answer that waits for the one before it on its connection is not its reader’s fault', async () => {
    const slow = `${logs}?${new URLSearchParams({
      project: 'ours',
      sql: 'select count(*) as n from unnest(generate_array(1, 20000)) a, unnest(generate_array(1, 8000)) b where mod(a * b, 7) = 3',
    })}`;
    const connection = await openRaw(gateway.port);
    connection.write(get(slow) + get(`${logs}?project=ours`, 'Connection: close\r\n'));
    expect(readAnswers(await connection.ended).map(({ status }) => status)).toEqual([200, 200]);
  });

  test('HEAD of a large answer has its length and no body', async () => {
    const connection = await openRaw(gateway.port);
    connection.write(get(large(1), 'Connection: close\r\n').replace('GET', 'HEAD'));
    const text = await connection.ended;
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(text).toMatch(/\r\ncontent-length: 10\d{5}\r\n/i);
    expect(text.endsWith('\r\n\r\n')).toBe(true);
  });
});

describe('connections have a limit', () => {
  test('one that never sent a request makes place for a new one, then one that is idle', async () => {
    const own = await openGateway({ rows, now, environment: { MAX_CONNECTIONS: '3' } });
    onTestFinished(own.close);
    const used = await openRaw(own.port);
    used.write(get(`${logs}?project=ours`));
    await used.has('"result"');
    const silent = [await openRaw(own.port), await openRaw(own.port)];
    const fourth = await openRaw(own.port);
    fourth.write(get(`${logs}?project=ours`));
    await fourth.has('"result"');
    expect(await silent[0]!.ended).toBe('');
    used.write(get(`${logs}?project=ours`));
    await own.until(() => readAnswers(used.text()).length === 2);
    expect(own.events).toContainEqual({ type: 'http.connection_ended', reason: 'connection_limit' });
    for (const { socket } of [used, fourth, ...silent]) socket.destroy();
  });
});
