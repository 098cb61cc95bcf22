import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { encodeParts } from '../../src/http-messages/content-negotiation.ts';
import { createUnreadAnswers } from '../../src/http-messages/unread-answers.ts';
import { openRaw } from '../support/raw-connection.ts';

const part = Buffer.alloc(64 * 1024, 'x');

/** A server whose answer is these parts; what it saw of each answer. */
async function serve(
  parts: () => AsyncIterableIterator<Buffer>,
  before: (response: ServerResponse) => Promise<unknown> = async () => undefined,
  head = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
) {
  const unread = createUnreadAnswers({
    timeoutMs: 30_000,
    maxBytes: 1024 * 1024,
    onEnded: () => undefined,
  });
  const outcomes: Promise<number | Error>[] = [];
  const server = createServer(async (_request, response) => {
    await before(response);
    if (response.destroyed) unread.write(response, part, 'reader');
    outcomes.push(unread.writeParts(response, parts(), part.length, 'reader').catch(error => error));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    unread.close();
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const connection = await openRaw(port);
  connection.write(head);
  return { connection, outcomes, unread };
}

/** Parts without end, and how many were made. */
function endless() {
  const seen = { made: 0, isEnded: false };
  const parts: AsyncIterableIterator<Buffer> = {
    async next() {
      seen.made++;
      return { done: seen.isEnded, value: part };
    },
    async return() {
      seen.isEnded = true;
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]: () => parts,
  };
  return { seen, parts };
}

test('a part is made when the client has read the one before', async () => {
  const { seen, parts } = endless();
  const { connection } = await serve(() => parts);
  connection.socket.pause();
  // The buffers of both sockets fill, and then nothing is made for a while.
  let before = -1;
  await expect
    .poll(
      () => {
        const isStill = seen.made === before;
        before = seen.made;
        return isStill;
      },
      { interval: 200 },
    )
    .toBe(true);
  connection.socket.resume();
  await expect.poll(() => seen.made).toBeGreaterThan(before);
});

test.each([
  ['plain', (parts: AsyncIterableIterator<Buffer>) => parts],
  ['encoded', (parts: AsyncIterableIterator<Buffer>) => encodeParts(parts, 'gzip')],
])('a client that leaves ends the parts: %s', async (_what, encode) => {
  const { seen, parts } = endless();
  const { connection, outcomes, unread } = await serve(() => encode(parts));
  await connection.has('HTTP/1.1 200');
  connection.socket.destroy();
  await expect.poll(() => seen.isEnded).toBe(true);
  expect(await outcomes[0]).toBeGreaterThanOrEqual(0);
  expect(unread.bytes).toBe(0);
});

test.each([
  ['plain', (parts: AsyncIterableIterator<Buffer>) => parts],
  ['encoded', (parts: AsyncIterableIterator<Buffer>) => encodeParts(parts, 'gzip')],
])('an answer whose rest can not be made ends without the mark of its end: %s', async (_what, encode) => {
  async function* broken() {
    yield part;
    throw new Error('broken');
  }
  const { connection, outcomes } = await serve(() => encode(broken()));
  expect(await connection.ended).not.toMatch(/\r\n0\r\n\r\n$/);
  expect(await outcomes[0]).toMatchObject({ message: 'broken' });
});

test('to HTTP/1.0, where the end of the connection is that of the body, it ends with a reset', async () => {
  async function* broken() {
    yield part;
    throw new Error('broken');
  }
  const { connection } = await serve(broken, undefined, 'GET / HTTP/1.0\r\n\r\n');
  const ended = await Promise.race([
    once(connection.socket, 'end').then(() => 'as if it were whole'),
    new Promise<string>(resolve =>
      connection.socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(String(code))),
    ),
  ]);
  expect(ended).toBe('ECONNRESET');
});

test('a client that left before the answer began leaves nothing behind', async () => {
  const { seen, parts } = endless();
  const { outcomes, unread } = await serve(
    () => parts,
    async response => {
      response.socket?.destroy();
      await once(response, 'close');
    },
  );
  await expect.poll(() => seen.isEnded).toBe(true);
  expect([await outcomes[0], seen.made, unread.bytes]).toEqual([0, 0, 0]);
});

test('encoded parts that nobody has begun to read end what they are made of', async () => {
  const { seen, parts } = endless();
  await encodeParts(parts, 'zstd').return?.();
  await expect.poll(() => seen.isEnded).toBe(true);
});
