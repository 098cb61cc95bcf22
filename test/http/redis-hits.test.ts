import { once } from 'node:events';
import type { Socket } from 'node:net';
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { openRaw, type RawConnection, readAnswers } from '../support/raw-connection.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';

/** Each run says its number, and an address. */
const counted = `/*
id: 7e57ab1e-0000-4000-8000-000000000017
name: counted
description: The number of the run.
parameters:
  project: { type: string, required: true, description: Reference of the project. }
columns:
  run: { type: INT64, description: The number. }
  address: { type: STRING, description: An address. }
cacheSeconds: 100
staleSeconds: 0
staleIfErrorSeconds: 0
*/
select 1 as run, '10.1.2.3' as address from \`cloudflare.logs.prod\` where project = @project`;

const columns = [
  { name: 'run', type: 'INT64', mode: 'NULLABLE' },
  { name: 'address', type: 'STRING', mode: 'NULLABLE' },
] as const;

let redis: RedisServer;
let gateway: OpenGateway;
/** Requests that Node has parsed. */
let parsed = 0;
let runs = 0;

/** Every hit asks Redis. */
async function open(): Promise<[RedisServer, OpenGateway]> {
  const server = await startRedisServer();
  const opened = await openGateway({
    now: '2026-01-15T12:00:00Z',
    tokens: { leaver: {}, slow: { limits: { requestsPerMinute: 8 } } },
    sqlFiles: { 'counted.sql': counted },
    engine: {
      describe: async () => columns,
      async run() {
        const rowsJson = Buffer.from(JSON.stringify([{ run: ++runs, address: '10.1.2.3' }]));
        return { columns, rowsJson, rowCount: 1 };
      },
    },
    environment: { REDIS_URL: server.url, CACHE_MEMORY_MB: '0' },
  });
  opened.server.on('request', () => parsed++);
  return [server, opened];
}

beforeAll(async () => {
  [redis, gateway] = await open();
  return async () => {
    await gateway.close();
    await redis.stop();
  };
});

const get = (project: string, more = '', token = testToken) =>
  `GET /api/endpoints/query/counted?project=${project} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${token}\r\n${more}\r\n`;
const operation = JSON.stringify({ query: '{ counted(project: "graphql") { run address } }' });
const post = `POST /graphql HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${testToken}\r\nContent-Type: application/json\r\nContent-Length: ${operation.length}\r\n\r\n${operation}`;

async function ask(connection: RawConnection, bytes: string) {
  const start = connection.text().length;
  connection.write(bytes);
  for (;;) {
    const [answer] = readAnswers(connection.text().slice(start));
    const length = Number(/content-length: (\d+)/i.exec(answer?.head ?? '')?.[1] ?? 0);
    if (answer?.head.includes('\r\n') && answer.body.length === length) return answer;
    await new Promise(setImmediate);
  }
}

/** Asks until bytes are answered without being parsed. @returns that answer */
async function untilKnown(connection: RawConnection, bytes: string) {
  for (let time = 0; time < 20; time++) {
    const before = parsed;
    const answer = await ask(connection, bytes);
    if (parsed === before) return answer;
  }
  throw new Error('It is parsed each time');
}

const runOf = (body: string) => Number(/"run":(\d+)/.exec(body)?.[1]);
const reads = async () =>
  Number(/cmdstat_mget:calls=(\d+)/.exec(await redis.command('INFO commandstats'))?.[1]);

test.each([
  ['REST', get('rest')],
  ['REST in an encoding', get('coded', 'Accept-Encoding: gzip\r\n')],
  ['GraphQL', post],
])('%s: known bytes are answered when Redis has confirmed their rows, without a query', async (_, bytes) => {
  const connection = await openRaw(gateway.port);
  await untilKnown(connection, bytes);
  const [readsBefore, parsedBefore, runsBefore] = [await reads(), parsed, runs];
  const answers = [];
  for (let time = 0; time < 5; time++) answers.push(await ask(connection, bytes));
  expect([parsed - parsedBefore, runs - runsBefore]).toEqual([0, 0]);
  expect((await reads()) - readsBefore).toBe(5);
  for (const { head, body } of answers) {
    expect(/x-cache: HIT|"cache":/i.test(head + body)).toBe(true);
    expect(Number(/^server-timing: cache;dur=(\S+)/m.exec(head)?.[1] ?? 1)).toBeGreaterThan(0.02);
  }
  expect(gateway.events.findLast(({ type }) => type === 'http.answered')).toMatchObject({
    status: 200,
    endpoint: 'counted',
    cache: 'hit',
    rows: 1,
  });
});

test.each<[string, () => unknown]>([
  ['Redis has lost', () => redis.command('FLUSHALL')],
  ['are past their time', () => gateway.clock.advance(101_000)],
  [
    'were invalidated',
    () =>
      gateway.send('/admin/invalidate', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"endpoint":"counted"}',
      }),
  ],
])('rows that %s are not given again', async (_, change) => {
  const connection = await openRaw(gateway.port);
  const before = runOf((await untilKnown(connection, get('changing'))).body);
  await change();
  const { status, body } = await ask(connection, get('changing'));
  expect([status, runOf(body) > before]).toEqual([200, true]);
  expect(runOf((await untilKnown(connection, get('changing'))).body)).toBe(runOf(body));
});

test('a caller who wants no addresses gets none, and one who sends the tag 304', async () => {
  const connection = await openRaw(gateway.port);
  const plain = await untilKnown(connection, get('private'));
  const redacted = await untilKnown(connection, get('private', 'LF-ENDPOINT-REDACT-PII: true\r\n'));
  expect([plain.body.includes('10.1.2.3'), redacted.body.includes('10.1.2.3')]).toEqual([true, false]);
  const tag = /etag: (\S+)/.exec(plain.head)?.[1];
  expect((await untilKnown(connection, get('private', `If-None-Match: ${tag}\r\n`))).status).toBe(304);
});

test('a revoked token gets no rows, one over its limit neither', async () => {
  const connection = await openRaw(gateway.port);
  const bytes = get('tokens', '', gateway.token('leaver'));
  await untilKnown(connection, bytes);
  await gateway.revoke(gateway.token('leaver'));
  await vi.waitFor(async () => expect((await ask(connection, bytes)).status).toBe(401));
  const slow = get('tokens', '', gateway.token('slow'));
  await untilKnown(connection, slow);
  const statuses = [];
  for (let time = 0; time < 8; time++) statuses.push((await ask(connection, slow)).status);
  expect([statuses[0], statuses.at(-1)]).toEqual([200, 429]);
});

test('while Redis is frozen: each gets its answer in its turn, who leaves none, and a gateway that stops ends with them', async () => {
  const [frozen, own] = await open();
  let isClosed = false;
  onTestFinished(async () => {
    if (!isClosed) await own.close();
    await frozen.stop();
  });
  const connect = async (): Promise<[RawConnection, Socket]> => {
    const accepted = once(own.server, 'connection');
    const connection = await openRaw(own.port);
    return [connection, (await accepted)[0]];
  };
  const [[queue, queued], [leaver, left], [last]] = [await connect(), await connect(), await connect()];
  for (const project of ['a', 'b', 'c']) await untilKnown(queue, get(project));
  for (const connection of [leaver, last]) await untilKnown(connection, get('a'));
  const start = queue.text().length;
  process.kill(frozen.pid, 'SIGSTOP');
  leaver.write(get('a'));
  last.write(get('a'));
  const sent = queued.bytesRead;
  for (const [at, project] of ['a', 'b', 'c'].entries()) {
    queue.write(get(project));
    while (queued.bytesRead < sent + (at + 1) * get(project).length) await new Promise(setImmediate);
  }
  leaver.socket.destroy();
  await own.until(() => readAnswers(queue.text().slice(start)).length === 3 && left.destroyed);
  const said = readAnswers(queue.text().slice(start));
  expect(said.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(own.events.filter(({ type }) => type === 'http.bug')).toEqual([]);
  isClosed = true;
  await own.close();
  expect(readAnswers(await last.ended).at(-1)?.status).toBe(200);
});
