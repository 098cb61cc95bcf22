import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';

export type BareReaderSettings = {
  /** The warehouse. */
  readonly origin: string;
  /** Bytes of a large result that are read before its reader leaves. */
  readonly maxBytes: number;
  /** The answer to every other request. */
  readonly body: Buffer;
};

/**
 * The least that a Node server can do for the same requests: it asks the warehouse for the same results, throws the same bytes away,
 * unpacked where they come packed, and answers all else at once.
 */
process.once('message', (settings: BareReaderSettings) => {
  const agent = new Agent({ keepAlive: true });
  const body = Buffer.from(settings.body);
  let jobs = 0;

  async function ask(method: string, path: string, payload?: object): Promise<IncomingMessage> {
    const url = `${settings.origin}/bigquery/v2/projects/payer/${path}`;
    const headers = { 'accept-encoding': 'gzip', 'user-agent': 'bare (gzip)' };
    const sent = request(url, { method, agent, headers }).end(payload && JSON.stringify(payload));
    const [response] = await once(sent, 'response');
    return response;
  }

  /** The requests of a job, its receipt among them. */
  async function runJob(sql: string): Promise<void> {
    const jobId = `gateway_${jobs++}`;
    const configuration = { query: { query: sql } };
    await drain(await ask('POST', 'jobs', { jobReference: { jobId }, configuration }));
    await readResult(await ask('GET', `queries/${jobId}`));
    if (!isLarge(sql)) await drain(await ask('GET', `jobs/${jobId}`));
  }

  /** Reads up to the limit. */
  async function readResult(result: IncomingMessage): Promise<void> {
    const isPacked = result.headers['content-encoding'] === 'gzip';
    const bytes: Readable = isPacked ? result.pipe(createGunzip()) : result;
    let read = 0;
    for await (const chunk of bytes) {
      read += chunk.length;
      if (read > settings.maxBytes) break;
    }
    result.destroy();
  }

  async function answer({ url = '' }: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(url, 'http://bare');
    const sql = searchParams.get('sql') ?? '';
    if (pathname.endsWith('/logs.all')) await runJob(sql);
    response.end(isLarge(sql) ? '{"error":"result_too_large"}' : body);
  }

  const server = createServer(answer);
  server.listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo; // it listens on TCP
    process.send?.(port);
  });
});

/** Large results are asked for in a comment. */
function isLarge(sql: string): boolean {
  return sql.includes('--');
}

async function drain(response: IncomingMessage): Promise<void> {
  await response.resume().toArray();
}
