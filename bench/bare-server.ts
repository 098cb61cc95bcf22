import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Redis } from 'ioredis';

/** An answer to give to every request, and what to do before. */
export type BareServerSettings = {
  /** Names and values in turn, as they go over the wire. */
  readonly headers: readonly string[];
  readonly body: Buffer;
  /** The body is read from this key for each request. */
  readonly redis?: { readonly url: string; readonly key: string };
  /** The request's body is read first. */
  readonly readsBody?: boolean;
};

/** The least that a Node server can do for an answer: `node:http`, without a route, a token, a parameter. */
process.once('message', (settings: BareServerSettings) => {
  const server = createServer(listener(settings));
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo; // it listens on TCP
    process.send?.(port);
  });
});

// The bench may end by an error, and its server would stay.
process.once('disconnect', () => process.exit());

function listener({ body, redis, readsBody, ...settings }: BareServerSettings): RequestListener {
  const headers = [...settings.headers];
  // Copied once: what came as a message is a bare Uint8Array.
  const bytes = Buffer.from(body);
  if (redis) {
    const client = new Redis(redis.url);
    return async (_, response) => {
      const stored = await client.getBuffer(redis.key);
      response.writeHead(200, headers).end(stored);
    };
  }
  if (readsBody) {
    return (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', chunk => chunks.push(chunk));
      request.on('end', () => {
        Buffer.concat(chunks);
        response.writeHead(200, headers).end(bytes);
      });
    };
  }
  return (_, response) => response.writeHead(200, headers).end(bytes);
}
