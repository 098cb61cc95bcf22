import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import type { Engine } from '../../src/engine/engine.ts';
import { openGateway, testToken } from '../support/open-gateway.ts';
import { openRaw, readAnswers } from '../support/raw-connection.ts';

const otherToken = 'the-token-of-somebody-else';

const definition = (name: string, digit: number) => `/*
id: 57a11000-0000-4000-8000-00000000000${digit}
name: ${name}
description: Rows, or a query that runs until nobody waits for it.
columns:
  n: { type: STRING, description: A text. }
*/
select 'x' as n`;

const columns = [{ name: 'n', type: 'STRING', mode: 'NULLABLE' }] as const;
/** A megabyte, which makes an operation of GraphQL a large one. */
const rowsJson = Buffer.from(JSON.stringify(Array(100).fill({ n: 'x'.repeat(10_000) })));

const largest = Buffer.alloc(16_000_000, 'x');

const engine: Pick<Engine, 'describe' | 'run'> = {
  describe: async () => columns,
  run: async ({ endpoint }, { signal }) => {
    if (endpoint === 'large') return { columns, rowsJson, rowCount: 100 };
    if (endpoint === 'small') return { columns, rowsJson: Buffer.from('[]'), rowCount: 0 };
    if (endpoint === 'largest') return { columns, rowsJson: largest, rowCount: 1 };
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  },
};

async function open(connections: number) {
  const gateway = await openGateway({
    engine,
    sqlFiles: Object.fromEntries(
      ['waits', 'large', 'largest', 'small'].map((name, n) => [`${name}.sql`, definition(name, n)]),
    ),
    environment: {
      MAX_CONNECTIONS: String(connections),
      TOKEN_HASHES: createHash('sha256').update(otherToken).digest('hex'),
    },
  });
  onTestFinished(gateway.close);
  return gateway;
}

const path = '/api/endpoints/query/waits';
const get = (target: string, token = testToken) =>
  `GET ${target} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${token}\r\n\r\n`;
const unsent = `POST ${path} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${testToken}\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{`;

/** Sends a request, and resolves when the gateway has it. */
async function begin({ port, server }: Awaited<ReturnType<typeof open>>, bytes: string) {
  const connection = await openRaw(port);
  onTestFinished(() => void connection.socket.destroy());
  const arrived = once(server, 'request');
  connection.write(bytes);
  await arrived;
  return connection;
}

/** Sends a request on a connection of its own, and resolves when it is answered. */
async function ask(gateway: Awaited<ReturnType<typeof open>>, bytes: string) {
  const connection = await begin(gateway, bytes);
  await gateway.until(() => readAnswers(connection.text()).length === 1);
  return connection;
}

type Connection = Awaited<ReturnType<typeof ask>>;

/** The first of these connections that the gateway ends. */
const firstOf = (...connections: readonly Connection[]) =>
  Promise.race(connections.map(each => each.ended.then(() => each)));

const list = (token: string) => get('/api/endpoints', token);

test('contract 2.18: if all connections wait for an answer, a new one is asked to retry', async () => {
  const gateway = await open(1);
  await begin(gateway, get(path));
  const [answer] = readAnswers(await (await openRaw(gateway.port)).ended);
  expect(answer).toMatchObject({ status: 503, head: expect.stringMatching(/retry-after: 1/i) });
});

test('contract 11.3: what follows malformed bytes is dropped while the request before them is being answered', async () => {
  const gateway = await open(4);
  let errors = 0;
  gateway.server.on('clientError', () => errors++);
  const accepted = once(gateway.server, 'connection');
  const connection = await begin(gateway, get(path));
  const [socket] = await accepted;
  for (let time = 0; time < 5; time++) {
    const read = socket.bytesRead + 3;
    connection.write('\0\0\0');
    await gateway.until(() => socket.bytesRead === read);
  }
  expect(errors).toBe(1);
});

test('who leaves after CONNECT, behind a request in flight, ends nothing but its own connection', async () => {
  const gateway = await open(4);
  const connection = await begin(gateway, get(path));
  const connected = once(gateway.server, 'connect');
  connection.write('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n');
  const [, socket] = await connected;
  const closed = new Promise(resolve => socket.on('close', resolve));
  connection.socket.resetAndDestroy();
  await closed;
  expect((await gateway.get('/livez')).status).toBe(200);
});

test('contract 11.1: slow bodies on all connections keep nobody out: the first of them ends', async () => {
  const gateway = await open(2);
  const [first, second] = [await begin(gateway, unsent), await begin(gateway, unsent)];
  const other = await openRaw(gateway.port);
  onTestFinished(() => void other.socket.destroy());
  other.write(get('/livez'));
  await other.has('"alive"');
  expect(await first.ended).toBe('');
  expect(second.socket.destroyed).toBe(false);
  expect(gateway.events).toContainEqual({ type: 'http.connection_ended', reason: 'connection_limit' });
});

test('contract 11.1: readers who stop on all connections keep nobody out', async () => {
  const gateway = await open(3);
  for (let n = 0; n < 3; n++) {
    const { socket } = await begin(gateway, get('/api/endpoints/query/largest'));
    socket.pause();
  }
  await gateway.until(() => gateway.http.unreadBytes() >= 3 * largest.length);
  const endedForNobody: number[] = [];
  const ask = async () => {
    const before = gateway.http.unreadBytes();
    const { status } = await gateway.get('/livez');
    if (status !== 200 && gateway.http.unreadBytes() !== before) endedForNobody.push(status);
    return status;
  };
  // First they may be reading still.
  await expect.poll(ask).toBe(200);
  expect(endedForNobody).toEqual([]);
  // Nobody had to wait until they had all the time that a reader has.
  expect(gateway.events).not.toContainEqual({ type: 'http.connection_ended', reason: 'slow_reader' });
  expect(gateway.events).toContainEqual({ type: 'http.connection_ended', reason: 'connection_limit' });
});

test.each([
  ['query strings', (text: string, token: string) => get(`/api/endpoints/query/small?sql=${text}`, token)],
  [
    'bodies',
    (text: string, token: string) =>
      `POST /api/endpoints/query/small HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${token}\r\nContent-Type: application/json\r\nContent-Length: ${text.length + 10}\r\n\r\n{"sql":"${text}"}`,
  ],
])(
  'contract 11.1: long %s of one token are read in turns, and no other token waits for all of them',
  async (_what, request) => {
    const gateway = await open(100);
    const order: string[] = [];
    const connections = await Promise.all(Array.from({ length: 52 }, () => openRaw(gateway.port)));
    const [short, long, ...many] = connections;
    const ask = async (connection: typeof short, bytes: string, name: string) => {
      connection?.write(bytes.replace('\r\n', '\r\nConnection: close\r\n'));
      expect(readAnswers((await connection?.ended) ?? '')).toMatchObject([{ status: 200 }]);
      order.push(name);
    };
    let arrived = 0;
    const haveArrived = new Promise<void>(resolve => {
      gateway.server.on('request', () => ++arrived === 40 && resolve());
    });
    const asked = many.map((each, n) => ask(each, request(`${n}`.padEnd(30_000, 'x'), testToken), 'one'));
    await haveArrived;
    const before = order.length;
    asked.push(ask(short, get('/api/endpoints/query/small', otherToken), 'short of another'));
    asked.push(ask(long, request('other'.padEnd(30_000, 'x'), otherToken), 'long of another'));
    await Promise.all(asked);
    for (const kind of ['short', 'long'])
      expect(order.indexOf(`${kind} of another`) - before).toBeLessThan(15);
  },
);

test.each([
  ['Content-Encoding', '/mcp', { 'content-encoding': 'x'.repeat(50_000) }],
  ['Content-Type', '/api/endpoints/waits/check', { 'content-type': 'x'.repeat(50_000) }],
  ['name of a source', `/api/sources/${'x'.repeat(50_000)}/rows`, {}],
])('contract 11.2: an error repeats the start of a long %s', async (_what, target, headers) => {
  const gateway = await open(4);
  const { status, body } = await gateway.send(target, { method: 'POST', headers, body: '{}' });
  expect(status).toBeGreaterThanOrEqual(400);
  expect(body.error.message.length).toBeLessThan(300);
});

test('contract 11.1: bodies that are on their way hold 32 MB of one token, and no other token waits for them', async () => {
  const gateway = await open(100);
  const long = (token: string) =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${token}\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n\r\n`;
  for (let n = 0; n < 32; n++) await begin(gateway, long(testToken));
  const [refused] = readAnswers(await (await begin(gateway, long(testToken))).ended);
  expect(refused).toMatchObject({ status: 429 });
  const other = await begin(gateway, `${long(otherToken)}${' '.repeat(1_048_576)}`);
  // It is read to its end, and the query runs.
  await gateway.until(() => gateway.events.some(({ type }) => type === 'engine.query_started'));
  expect(other.text()).toBe('');
});

test('contract 11.1: one token waits on three quarters of the connections at most', async () => {
  const gateway = await open(4);
  const waiting = [];
  for (let n = 0; n < 3; n++) waiting.push(await begin(gateway, get(path)));
  const answered = async (bytes: string) => {
    const connection = await begin(gateway, bytes);
    await gateway.until(() => readAnswers(connection.text()).length === 1);
    return { ...readAnswers(connection.text())[0], ended: connection.ended };
  };
  const refused = await answered(get(path));
  expect(refused).toMatchObject({ status: 429, head: expect.stringMatching(/retry-after: 1/i) });
  // Kept open, it would be idle, and the next new connection would take the place of somebody else's idle one.
  expect(refused.head).toMatch(/connection: close/i);
  await refused.ended;
  expect(await answered(get('/readyz'))).toMatchObject({ status: 200 });
  expect(await answered(get('/api/endpoints', otherToken))).toMatchObject({ status: 200 });
  // Who leaves makes room.
  waiting[0]!.socket.destroy();
  await expect.poll(async () => (await gateway.get('/api/endpoints')).status).toBe(200);
});

test('contract 11.1: new connections take the places of idle ones of the token that has the most', async () => {
  const gateway = await open(5);
  const other = await ask(gateway, list(otherToken));
  const many = [];
  for (let n = 0; n < 6; n++) many.push(await ask(gateway, list(testToken)));
  for (const { ended } of many.slice(0, 2)) expect(readAnswers(await ended)).toHaveLength(1);
  expect([other, ...many].map(({ socket }) => socket.destroyed)).toEqual([
    false,
    ...[true, true, false, false, false, false],
  ]);
  // A connection counts for the token of its last request.
  for (const each of many.slice(2)) {
    each.write(list(otherToken));
    await gateway.until(() => readAnswers(each.text()).length === 2);
  }
  const late = await ask(gateway, list(testToken));
  expect(await firstOf(other, ...many.slice(2), late)).toBe(other);
  await ask(gateway, list(testToken));
  expect(await firstOf(...many.slice(2), late)).toBe(many[2]);
});

test('contract 11.1: of two tokens with many connections the one with more loses the first, however new they are', async () => {
  const gateway = await open(6);
  const connections = [];
  for (const token of [otherToken, otherToken, ...Array(4).fill(testToken)])
    connections.push(await ask(gateway, list(token)));
  await ask(gateway, list(testToken));
  expect(await firstOf(...connections)).toBe(connections[2]);
});

test('contract 11.1: a token with few connections loses none to new ones', async () => {
  const gateway = await open(9);
  const asked = get('/api/endpoints', otherToken);
  const few = [await begin(gateway, asked), await begin(gateway, asked)];
  const answers = (count: number) =>
    gateway.until(() => few.every(each => readAnswers(each.text()).length === count));
  await answers(1);
  for (let n = 0; n < 6; n++) await begin(gateway, get(path));
  const sending = await begin(gateway, unsent);
  // The place of the request that its token has been sending for the longest, rather than that of an idle connection.
  await begin(gateway, get(path));
  expect(readAnswers(await sending.ended)).toEqual([]);
  expect(readAnswers(await (await openRaw(gateway.port)).ended)).toMatchObject([{ status: 503 }]);
  for (const each of few) each.write(asked);
  await answers(2);
});

test('contract 11.1: an idle connection is its token’s after a probe and after a repeated answer, too', async () => {
  const gateway = await open(8);
  const small = get('/api/endpoints/query/small', otherToken);
  // The first answer is what the next connection's request repeats.
  (await ask(gateway, small)).socket.destroy();
  await gateway.until(() => gateway.http.connections() === 0);
  const few = [await ask(gateway, get('/livez', otherToken)), await ask(gateway, small)];
  const withoutToken = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';
  const many = [];
  for (let n = 0; n < 7; n++) many.push(await ask(gateway, withoutToken));
  expect(await firstOf(...few, ...many)).toBe(many[0]);
});

test('contract 11.1: who makes up a token for each connection takes none from a token with fewer than all of them', async () => {
  const gateway = await open(8);
  const few = [await ask(gateway, list(otherToken)), await ask(gateway, list(otherToken))];
  const many = [];
  for (let n = 0; n < 7; n++) many.push(await ask(gateway, list(`made-up-${n}`)));
  expect(await firstOf(...few, ...many)).toBe(many[0]);
});

test('contract 11.1: none of the connections that arrive at once makes way before its request could be read', async () => {
  const gateway = await open(3);
  for (let n = 0; n < 2; n++) await begin(gateway, get(path));
  const probe = async () => {
    const connection = await openRaw(gateway.port);
    connection.write(get('/livez', otherToken).replace('\r\n', '\r\nConnection: close\r\n'));
    return readAnswers(await connection.ended).map(({ status }) => status);
  };
  const answers = await Promise.all(Array.from({ length: 4 }, probe));
  expect(answers.flat().filter(status => status === 200).length).toBeGreaterThan(0);
  expect(answers).toEqual(answers.map(() => [expect.toBeOneOf([200, 503])]));
});

test('contract 11.1: large GraphQL operations of one token keep no other token waiting', async () => {
  const gateway = await open(200);
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const ask = (query: string, token: string, signal?: AbortSignal) =>
    gateway.send('/graphql', {
      method: 'POST',
      headers: { 'x-api-key': token, 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
      ...(signal && { signal }),
    });
  // Each holds its place until the field ends that never does, or waits for one.
  const query = '{ large { n } waits { n } }';
  const many = Array.from({ length: 20 }, () => ask(query, testToken, leaving.signal));
  const run = () =>
    gateway.events.filter(event => event.type === 'engine.query' && event.endpoint === 'large');
  await gateway.until(() => run().length === 20);
  expect((await ask('{ large { n } }', otherToken)).body.data.large).toHaveLength(100);
  leaving.abort();
  await Promise.allSettled(many);
});
