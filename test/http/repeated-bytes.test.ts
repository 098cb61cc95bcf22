import { once } from 'node:events';
import type { Socket } from 'node:net';
import { beforeAll, describe, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { openRaw, type RawConnection, readAnswers } from '../support/raw-connection.ts';

const now = '2026-01-15T12:00:00Z';
const rows = {
  'cloudflare.logs.prod': [edgeRow({ id: 'a', timestamp: '2026-01-15T11:59:00Z', project: 'ours' })],
};

let gateway: OpenGateway;
/** Requests that Node has parsed. */
let parsed = 0;
beforeAll(async () => {
  gateway = await openGateway({ rows, now, environment: { SEND_TIMEOUT_MS: '700', CACHE_MEMORY_MB: '16' } });
  gateway.server.on('request', () => parsed++);
  return gateway.close;
});

const counts = '/api/endpoints/query/usage.api-counts?project=ours&interval=minutely';
const get = (path: string, more = '') =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${testToken}\r\n${more}\r\n`;
/** An answer with so many characters, told from others by its mark. */
const text = (length: number, mark = 'x') =>
  `${counts}&sql=${encodeURIComponent(`select repeat('${mark}', ${length}) as text`)}`;
const post = (path: string, body: string) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${testToken}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const operation = (length: number) =>
  JSON.stringify({
    query:
      'query ($sql: String) { usageApiCounts(project: "ours", interval: MINUTELY, sql: $sql) { timestamp totalRestRequests } }',
    variables: {
      sql: `select datetime '2026-01-01 10:00:00' as timestamp, n as total_rest_requests from unnest(generate_array(1, ${length})) n`,
    },
  });

type WholeAnswer = ReturnType<typeof readAnswers>[number];

/** The answers that have come whole. */
function whole(connection: RawConnection) {
  return readAnswers(connection.text()).filter(
    ({ head, body }) => body.length === Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0),
  );
}

/** Sends bytes and waits for the answer to them. */
async function ask(connection: RawConnection, bytes: string) {
  const before = whole(connection).length;
  connection.write(bytes);
  await gateway.until(() => whole(connection).length > before);
  return whole(connection)[before]!;
}

/** Opens a connection, with the server's side of it. */
async function openBoth(): Promise<[RawConnection, Socket]> {
  const accepted = once(gateway.server, 'connection');
  const connection = await openRaw(gateway.port);
  const [socket] = await accepted;
  return [connection, socket];
}

/** Sends texts one after the other, each when the server has read the one before. */
async function sendApart([connection, socket]: [RawConnection, Socket], texts: readonly string[]) {
  for (const each of texts) {
    const read = socket.bytesRead + each.length;
    connection.write(each);
    await gateway.until(() => socket.bytesRead === read);
  }
}

/** Asks on a new connection until an answer comes to bytes that were not parsed: the second at the soonest. */
async function untilReady(bytes: string, [connection]: [RawConnection, Socket] | [RawConnection]) {
  const answers = [];
  for (
    const [before, start] = [parsed, whole(connection).length];
    parsed - before === whole(connection).length - start;
  ) {
    answers.push(await ask(connection, bytes));
    if (answers.length > 100) throw new Error('It is parsed each time');
  }
  return answers;
}

const answered = () =>
  gateway.events.filter(({ type }) => type === 'http.answered' || type === 'endpoint.answered');

test('contract 11.5: a long body is whole, and what was read of it from the socket is freed at once', async () => {
  const [connection, socket] = await openBoth();
  const read: Buffer[] = [];
  socket.on('data', (bytes: Buffer) => read.push(bytes));
  const body = JSON.stringify({ query: `{ ${' '.repeat(900_000)}__typename }` });
  const answer = await ask(connection, post('/graphql', body));
  expect(JSON.parse(answer.body).data).toEqual({ __typename: 'Query' });
  // Each is read into 64 KiB; one that fills less of them is left to V8.
  const freed = read.filter(({ buffer }) => buffer.byteLength === 0);
  expect(freed.length).toBeGreaterThan(5);
  // The end of the body was found all the same.
  expect((await untilReady(get(text(10, 'f')), [connection, socket])).at(-1)).toMatchObject({ status: 200 });
});

describe('the same bytes once more are answered without being parsed', () => {
  test.each([
    ['short rows', get(text(10))],
    ['rows that are not joined to the head', get(text(40_000))],
    ['rows from another origin', get(text(10), 'Origin: https://a.example\r\n')],
    ['rows in an encoding', get(text(4000), 'Accept-Encoding: gzip\r\n')],
    ['a short operation', post('/graphql', operation(10))],
    ['a long operation', post('/graphql', operation(1000))],
    ['rows that the caller has', ''],
  ])('%s: with the head, the bytes, the events of a parsed one', async (_what, given) => {
    const connection = await openRaw(gateway.port);
    const tag = /etag: (\S+)/.exec((await ask(connection, get(text(10)))).head)?.[1];
    const bytes = given || get(text(10), `If-None-Match: ${tag}\r\n`);
    const [byParser, found] = (await untilReady(bytes, [connection])).slice(-2) as [WholeAnswer, WholeAnswer];
    const changing = /^(Date|server-timing|x-request-id): (.*)$/gm;
    expect(found.head.replace(changing, '$1')).toBe(byParser.head.replace(changing, '$1'));
    expect([...found.head.matchAll(changing)].map(([, name]) => name)).toContain('Date');
    const withoutId = (body: string) => body.replace(/"request_id":"[^"]+"/, '');
    expect(withoutId(found.body)).toBe(withoutId(byParser.body));
    expect(found.status).toBe(given ? 200 : 304);
    const events = answered().map(event => ({ ...event, requestId: '', ms: 0, stages: [] }));
    expect(events.slice(-2)).toEqual(events.slice(-4, -2));
    const ids = [found, byParser].map(({ head }) => /x-request-id: (\S+)/.exec(head)?.[1]);
    expect(new Set(ids).size).toBe(2);
    expect(found.body.includes('request_id')).toBe(found.body.includes(ids[0]!));
  });

  test('on other connections too, from their second request on', async () => {
    const bytes = get(text(11));
    await untilReady(bytes, await openBoth());
    const before = parsed;
    const connection = await openRaw(gateway.port);
    for (let time = 0; time < 3; time++) expect((await ask(connection, bytes)).status).toBe(200);
    expect(parsed).toBe(before + 1);
  });

  test('among other requests, in the order that they came in', async () => {
    const known = get(text(12, 'k'));
    await untilReady(known, await openBoth());
    const both = await openBoth();
    const [connection] = both;
    const query = `select count(*) as slow from unnest(generate_array(1, 1000)) a, unnest(generate_array(1, 1000)) b where mod(a * b, 7) = 3`;
    const slow = get(`${counts}&sql=${encodeURIComponent(query)}`);
    for (const bytes of [
      known,
      slow,
      known,
      post('/api/endpoints/query/logs.all', '{"project":"ours"}'),
      known,
    ]) {
      await sendApart(both, [bytes]);
    }
    await gateway.until(() => whole(connection).length === 5);
    const said = whole(connection).map(({ body }) => /k{12}|slow|"id"/.exec(body)?.[0]);
    expect(said).toEqual(['k'.repeat(12), 'slow', 'k'.repeat(12), '"id"', 'k'.repeat(12)]);
  });
});

describe('bytes that are another request where they stand', () => {
  // Each but for its last part is a beginning; what would be remembered, or answered, by its last part alone is wrong.
  test.each([
    ['the end of a head', [`GET ${text(20, 'a')} HTTP/1.1\r\nX-Note: `]],
    ['the end of a head after a request', [get('/livez'), `GET ${text(20, 'a')} HTTP/1.1\r\nX-Note: `]],
    ['a head that follows a request at once', [`${get('/livez')}GET ${text(20, 'a')} HTTP/1.1\r\nX-Note: `]],
    [
      'the end of a head whose start ended a body',
      [
        post('/api/endpoints/query/logs.all', '{"project":"ours"          }').slice(0, -10),
        `         }GET ${text(20, 'a')} HTTP/1.1\r\nX-Note: `,
      ],
    ],
  ])('%s', async (_what, starts) => {
    // As part of a head its first line is a header's value.
    const bytes = get(text(20, 'b'));
    const both = await openBoth();
    for (let round = 0; round < 4; round++) {
      const before = whole(both[0]).length;
      const answers = 1 + (/livez|logs\.all/.test(starts.join('')) ? 1 : 0);
      await sendApart(both, [...starts, bytes]);
      await gateway.until(() => whole(both[0]).length === before + answers);
      expect(whole(both[0]).at(-1)?.body).toContain('a'.repeat(20));
    }
    const others = await untilReady(bytes, await openBoth());
    expect(new Set(others.map(({ body }) => body))).toEqual(
      new Set([`{"result":[{"text":"${'b'.repeat(20)}"}]}`]),
    );
    await sendApart(both, [...starts, bytes]);
    await gateway.until(() => (whole(both[0]).at(-1)?.body ?? '').includes('a'.repeat(20)));
    expect(both[0].text()).not.toContain('b'.repeat(20));
  });

  test('a body', async () => {
    const bytes = get(text(21, 'b'));
    await untilReady(bytes, await openBoth());
    const head = post(text(21, 'a'), 'x'.repeat(bytes.length)).replace(/x+$/, '');
    const both = await openBoth();
    await sendApart(both, [get('/livez')]);
    await gateway.until(() => whole(both[0]).length === 1);
    await sendApart(both, [head, bytes]);
    await gateway.until(() => whole(both[0]).length === 2);
    expect(whole(both[0])[1]?.status).toBe(400);
    // After a body that was read to its end, a request is one again.
    expect((await ask(both[0], bytes)).body).toContain('b'.repeat(21));
  });

  test('several requests at once are as many answers', async () => {
    const bytes = get(text(22, 'b'));
    const connection = await openRaw(gateway.port);
    const first = (await untilReady(bytes, [connection])).length;
    for (const more of [5, 10]) {
      connection.write(bytes.repeat(5));
      await gateway.until(() => whole(connection).length === first + more);
    }
    expect(new Set(whole(connection).map(({ status }) => status))).toEqual(new Set([200]));
  });
});

test('contract 11.2: long answers to requests that come together on many connections are written in many turns of the event loop', async () => {
  const bytes = get(text(200_000, 'long'));
  const pairs: Awaited<ReturnType<typeof openBoth>>[] = [];
  for (let n = 0; n < 20; n++) pairs.push(await openBoth());
  for (const pair of pairs) await untilReady(bytes, pair);
  let turn = 0;
  let isOver = false;
  const next = () => {
    turn++;
    if (!isOver) setImmediate(next);
  };
  next();
  const written: number[] = [];
  for (const [, socket] of pairs) {
    const write = socket.write;
    socket.write = (...args: unknown[]) => {
      if (Buffer.isBuffer(args[0])) {
        written.push(turn);
        const endMs = performance.now() + 15;
        while (performance.now() < endMs);
      }
      return Reflect.apply(write, socket, args);
    };
  }
  const before = pairs.map(([connection]) => whole(connection).length);
  for (const [connection] of pairs) connection.write(bytes);
  await gateway.until(() => pairs.every(([connection], at) => whole(connection).length > before[at]!));
  isOver = true;
  expect(written).toHaveLength(pairs.length);
  // Two of them have had their time.
  const most = Math.max(
    ...Map.groupBy(written, each => each)
      .values()
      .map(({ length }) => length),
  );
  expect(most).toBeLessThanOrEqual(5);
});

test('contract 2.27: a reader who stops is cut off, and its bytes are let go', async () => {
  const ends = () =>
    gateway.events.filter(event => event.type === 'http.connection_ended' && event.reason === 'slow_reader');
  const bytes = get(text(100_000));
  const both = await openBoth();
  await untilReady(bytes, both);
  const [before, count] = [parsed, ends().length];
  both[0].socket.pause();
  while (gateway.http.unreadBytes() === 0) await sendApart(both, [bytes]);
  expect(parsed).toBe(before);
  await gateway.until(() => ends().length > count);
  expect(gateway.http.unreadBytes()).toBe(0);
  both[0].socket.destroy();
});

test('a reader who takes a while gets all of it, and the connection serves on', async () => {
  const bytes = get(text(100_000));
  const both = await openBoth();
  let sent = (await untilReady(bytes, both)).length;
  both[0].socket.pause();
  for (; gateway.http.unreadBytes() === 0; sent++) await sendApart(both, [bytes]);
  both[0].socket.resume();
  await gateway.until(() => whole(both[0]).length === sent);
  await gateway.until(() => gateway.http.unreadBytes() === 0);
  const before = parsed;
  expect((await ask(both[0], bytes)).status).toBe(200);
  expect(parsed).toBe(before);
});

// Names of Node that no documentation promises: another version of it may have others.
test.each<[string, (socket: Socket) => void]>([
  ['no parser among the listeners', socket => (socket.listeners = () => [])],
  ['another listener before the parser', socket => void socket.on('data', () => undefined)],
])('with %s everything is parsed', async (_what, change) => {
  const bytes = get(text(15));
  await untilReady(bytes, await openBoth());
  gateway.server.prependOnceListener('connection', change);
  const connection = await openRaw(gateway.port);
  const before = parsed;
  for (let time = 0; time < 3; time++) expect((await ask(connection, bytes)).status).toBe(200);
  connection.write(get(text(15), 'Connection: close\r\n'));
  expect(readAnswers(await connection.ended)).toHaveLength(4);
  expect(parsed).toBe(before + 4);
});

test('without the length of the queue of a handle, a reader who stops is cut off all the same', async () => {
  const bytes = get(text(100_001));
  const both = await openBoth();
  const { _handle: handle } = both[1] as unknown as { _handle: object };
  Object.defineProperty(handle, 'writeQueueSize', { value: undefined });
  await untilReady(bytes, both);
  both[0].socket.pause();
  while (gateway.http.unreadBytes() === 0) await sendApart(both, [bytes]);
  await gateway.until(() => both[1].destroyed);
  expect(gateway.http.unreadBytes()).toBe(0);
  both[0].socket.destroy();
});

test('after CONNECT a connection reads nothing', async () => {
  const bytes = get(text(14));
  const connection = await openRaw(gateway.port);
  const first = await untilReady(bytes, [connection]);
  connection.write(`CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n${bytes}`);
  const answers = readAnswers(await connection.ended);
  expect(answers.slice(first.length).map(({ status }) => status)).toEqual([405]);
});

test('a gateway that stops parses them again: the answer ends the connection', async () => {
  const bytes = get(text(13));
  const connection = await openRaw(gateway.port);
  const { length } = await untilReady(bytes, [connection]);
  const stopped = gateway.http.stop({ quietMs: 20, deadlineMs: 10_000 });
  while (gateway.server.listening) await new Promise(setImmediate);
  connection.write(bytes);
  const answers = readAnswers(await connection.ended);
  expect(answers).toHaveLength(length + 1);
  expect(answers.at(-1)).toMatchObject({
    status: 200,
    head: expect.stringMatching(/\r\nconnection: close/i),
  });
  await stopped;
});
