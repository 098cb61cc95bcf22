import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, describe, expect, test } from 'vitest';
import { createRandom } from '../support/create-random.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { openRaw, type RawConnection } from '../support/raw-connection.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';
import { propertySeed } from '../support/seed-properties.ts';

/** Its rows say which parameter they are for. */
const echo = `/*
id: 7e57ab1e-0000-4000-8000-000000000016
name: echo
description: The parameter.
parameters:
  project: { type: string, required: true, description: What to say. }
columns:
  said: { type: STRING, description: The parameter. }
cacheSeconds: 100
*/
select @project as said from \`cloudflare.logs.prod\``;

const columns = [{ name: 'said', type: 'STRING', mode: 'NULLABLE' }] as const;

const engine = {
  describe: async () => columns,
  async run({ parameters }: { parameters: readonly { name: string; value: unknown }[] }) {
    const said = String(parameters.find(({ name }) => name === 'project')?.value);
    return { columns, rowsJson: Buffer.from(JSON.stringify([{ said }])), rowCount: 1 };
  },
};

const get = (said: string, more = '') =>
  `GET /api/endpoints/query/echo?project=${said} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${testToken}\r\n${more}\r\n`;
const post = (path: string, body: string, head = `Content-Length: ${body.length}`) =>
  `POST ${path} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${testToken}\r\nContent-Type: application/json\r\n${head}\r\n\r\n${body}`;
const operation = (said: string) =>
  post('/graphql', JSON.stringify({ query: `{ echo(project: "${said}") { said } }` }));
const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

/** Asked so often before that their bytes are known. */
const known = [get('a'), get('b'), get('c', 'Accept-Encoding: gzip\r\n'), operation('a'), operation('b')];
const restPath = '/api/endpoints/query/echo?project=rest';

/** Each ends where a request ends: most of them hold the bytes of a known one as something else. */
const requests = [
  ...known,
  ...known,
  ...known,
  'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n',
  `GET /livez HTTP/1.1\r\nHost: x\r\nX-Note: ${get('a')}`,
  `HEAD /livez HTTP/1.1\r\nHost: x\r\nX-Note: ${get('b')}`,
  `\r\n${get('a')}`,
  get('a', 'X-Request-Id: mine\r\n'),
  get('new'),
  get('a', 'Connection: keep-alive\r\n'),
  get('a', 'Expect: the-unexpected\r\n'),
  get('a', 'If-None-Match: *\r\n'),
  get('a', 'Authorization: Bearer garbage\r\n'),
  get('a', 'Accept: text/csv\r\n'),
  get('a', 'Cache-Control: no-cache\r\n'),
  get('a').replace('HTTP/1.1', 'HTTP/1.0').replace('Host: x', 'Connection: keep-alive'),
  get('a').replace('GET /', 'GET http://x/'),
  get('a').replace('GET', 'HEAD'),
  `\r\n\r\n${get('b')}`,
  'GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n',
  post(restPath, JSON.stringify({ project: 'body' })),
  post(restPath, get('a')),
  post('/graphql', get('b')),
  post(restPath, `${chunk(get('a'))}0\r\n\r\n`, 'Transfer-Encoding: chunked'),
  post(restPath, `${chunk('{"project":')}${chunk('"parts"}')}0\r\n\r\n`, 'Transfer-Encoding: chunked'),
  post(restPath, operation('a')),
];

/** The connection ends with the answer to the first request of these: the rest must not be answered. */
const last = [
  'GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
  `GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n${get('a')}`,
  get('a', 'Connection: close\r\n'),
  post(restPath, `${chunk(get('a'))}0\r\n\r\n`, `Content-Length: 5\r\nTransfer-Encoding: chunked`),
  post(restPath, `zz\r\n${get('b')}`, 'Transfer-Encoding: chunked'),
  `GET /livez HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n${get('b')}`,
  `GET /livez HTTP/1.1\r\nHost : x\r\n\r\n${get('a')}`,
];

/** Whether the next connection is one on which everything is parsed. */
let isParsed = false;
const sequences = 40;
const cleanup = new AsyncDisposableStack();
afterAll(() => cleanup.disposeAsync());

async function open(environment: Record<string, string>): Promise<OpenGateway> {
  const options = { engine, sqlFiles: { 'echo.sql': echo }, now: '2026-01-15T12:00:00Z' };
  const gateway = cleanup.adopt(await openGateway({ ...options, environment }), each => each.close());
  gateway.server.prependListener('connection', socket => {
    if (isParsed) socket.listeners = () => [];
  });
  return gateway;
}

/** Bytes that are sent at once. */
type Part = {
  readonly bytes: string;
  /** Requests that end in them. */
  readonly ends: number;
  /** Whether the next part waits for the answers to them, not only until the server has read them. */
  readonly isAwaited: boolean;
};

/** @returns all that is answered to parts that are sent one after the other */
async function exchange(gateway: OpenGateway, parts: readonly Part[], parsesAll: boolean): Promise<string> {
  isParsed = parsesAll;
  const accepted = once(gateway.server, 'connection');
  const connection: RawConnection = await openRaw(gateway.port);
  // Parts that are small would wait for one another otherwise.
  connection.socket.setNoDelay();
  const [socket]: Socket[] = await accepted;
  let [sent, ended] = [0, 0];
  const isRead = (isAwaited: boolean) =>
    socket!.bytesRead === sent && (!isAwaited || connection.text().split('HTTP/1.1 ').length > ended);
  for (const { bytes, ends, isAwaited } of parts) {
    connection.write(bytes);
    sent += bytes.length;
    ended += ends;
    while (!socket!.destroyed && !isRead(isAwaited)) await new Promise(setImmediate);
  }
  return connection.ended;
}

/** Joins requests, and cuts what comes of it elsewhere. */
function drawParts(random: () => number): Part[] {
  const draw = (max: number) => Math.floor(random() * max);
  const parts: Part[] = [];
  for (let left = 3 + draw(6); left > 0; left--) {
    const bytes = requests[draw(requests.length)]!;
    const [isJoined, isCut, isAwaited] = [draw(5) === 0, draw(5) === 0, draw(5) > 0];
    const at = 1 + draw(bytes.length - 1);
    const before = isJoined ? parts.pop() : undefined;
    if (before) parts.push({ bytes: before.bytes + bytes, ends: before.ends + 1, isAwaited });
    else if (isCut)
      parts.push(
        { bytes: bytes.slice(0, at), ends: 0, isAwaited },
        { bytes: bytes.slice(at), ends: 1, isAwaited },
      );
    else parts.push({ bytes, ends: 1, isAwaited });
  }
  // Whole: what came after the answer would reset the connection.
  parts.push(whole(last[draw(last.length)]!));
  return parts;
}

const whole = (bytes: string): Part => ({ bytes, ends: 1, isAwaited: true });

/** What differs from answer to answer; rows are a miss again where a busy machine's Redis was late. */
const changing =
  /^(Date|server-timing|x-request-id|x-cache|cache-status): .*$|"(request_id|state)":"[^"]*"/gim;

/** Answers without what differs, their headers in one order. */
const comparable = (text: string) =>
  text
    .replace(changing, '$1$2')
    .split('\r\n\r\n')
    .map(part => part.split('\r\n').sort().join('\n'))
    .join('\n\n');

describe.each(['memory', 'Redis'])('rows from %s', tier => {
  test('what comes on a connection is answered as on one where everything is parsed', async () => {
    const redis: RedisServer | undefined =
      tier === 'Redis' ? cleanup.adopt(await startRedisServer(), each => each.stop()) : undefined;
    const gateway = await open(
      redis
        ? { REDIS_URL: redis.url, CACHE_MEMORY_MB: '0', BATCH_WINDOW_MS: '0' }
        : { CACHE_MEMORY_MB: '16', BATCH_WINDOW_MS: '0' },
    );
    const warming = [...new Set(requests)].flatMap(each => [each, each, each, each]);
    await exchange(gateway, [...warming, last[0]!].map(whole), false);
    let parsed = 0;
    gateway.server.on('request', () => parsed++);
    const ask = async (parts: readonly Part[], parsesAll: boolean) => {
      const before = parsed;
      const text = comparable(await exchange(gateway, parts, parsesAll));
      return { text, parsed: parsed - before };
    };
    let unparsed = 0;
    const random = createRandom(propertySeed);
    for (let n = 0; n < sequences; n++) {
      const parts = drawParts(random);
      const [expected, found] = [await ask(parts, true), await ask(parts, false)];
      unparsed += expected.parsed - found.parsed;
      expect(found.text, JSON.stringify(parts)).toBe(expected.text);
    }
    // It is no comparison of parsed ones with parsed ones. A busy machine's Redis may be late: then all are.
    if (!redis) expect(unparsed).toBeGreaterThan(10);
  });
});
