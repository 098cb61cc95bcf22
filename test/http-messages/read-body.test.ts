import { once } from 'node:events';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { dropRest, readBody } from '../../src/http-messages/read-body.ts';

const megabyte = 1024 * 1024;
const limits = { maxBytes: 2 * megabyte, timeoutMs: 10_000 };

test('contract 11.5: a body leaves none of its parts behind', async () => {
  const text = 'ab'.repeat(megabyte / 2);
  const { body, left } = await receive(text, message => readBody(message, limits));
  expect(body).toBe(text);
  expect(left).toBe(0);
});

test('contract 11.5: neither does one that is too long', async () => {
  const { body, left } = await receive(' '.repeat(3 * megabyte), message =>
    readBody(message, limits).catch(async ({ code }) => {
      dropRest(message);
      await once(message, 'end');
      return code;
    }),
  );
  expect(body).toBe('body_too_large');
  expect(left).toBe(0);
});

/** Sends a body in parts that no short read could be. @returns bytes of its long parts that are still allocated when it has been read */
async function receive(text: string, read: (message: IncomingMessage) => Promise<string>) {
  const server = createServer().listen(0);
  onTestFinished(() => void server.close());
  const sent = request({ port: (server.address() as AddressInfo).port, method: 'POST', agent: false });
  sent.on('error', () => undefined);
  sent.end(text);
  const [message, response] = await once(server, 'request');
  const parts: ArrayBufferLike[] = [];
  const push = message.push;
  message.push = (chunk: Buffer | null) => {
    if (chunk && chunk.length >= 16 * 1024) parts.push(chunk.buffer);
    return push.call(message, chunk);
  };
  const body = await read(message);
  response.end();
  expect(parts.length).toBeGreaterThan(5);
  return { body, left: parts.reduce((bytes, { byteLength }) => bytes + byteLength, 0) };
}
