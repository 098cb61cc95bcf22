import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toGatewayError } from '../../src/base/errors.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { type EmulatorAnswer, emulatorDryRun, emulatorRefusal, emulatorResult } from './emulator-answers.ts';
import { readParameters, toField, toRecords } from './warehouse-rows.ts';

type EmulatingOptions = {
  /** Answers the queries. */
  readonly engine: Engine;
  /** The table, `project.dataset.table`, of one source. */
  readonly table: string;
  readonly source: string;
};

/**
 * A server that behaves as goccy/bigquery-emulator does, and answers with what the embedded engine finds: dry runs run, nothing
 * is paged, and every failure is `jobInternalError`, of a job that is done.
 */
export async function openEmulatingWarehouse({ engine, table, source }: EmulatingOptions) {
  const results = new Map<string, EmulatorAnswer>();
  const server = createServer(async (request, response) => {
    const leaving = new AbortController();
    response.on('close', () => leaving.abort());
    const { status = 200, json } = await answerTo(request, leaving.signal);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(json));
  });

  async function answerTo(request: IncomingMessage, signal: AbortSignal): Promise<EmulatorAnswer> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { pathname } = new URL(request.url ?? '', 'http://warehouse');
    const known = results.get(pathname.split('/').at(-1) ?? '');
    if (request.method === 'GET' && pathname.includes('/queries/') && known) return known;
    if (request.method === 'GET') return emulatorRefusal(404, 'notFound', `${pathname} is not found`);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    try {
      const found = await run(body.configuration.query, signal);
      results.set(body.jobReference.jobId ?? '', found);
      return emulatorDryRun();
    } catch (error) {
      const failure = { reason: 'jobInternalError', message: inGoWords(toGatewayError(error).message) };
      return emulatorDryRun(failure);
    }
  }

  async function run(
    { query, queryParameters }: { query: string; queryParameters: unknown },
    signal: AbortSignal,
  ): Promise<EmulatorAnswer> {
    const sql = query.replaceAll(`\`${table}\``, `\`${source}\``);
    const parameters = readParameters(queryParameters);
    const statement = { endpoint: 'emulator', sql, parameters, maxRows: 100_000 };
    const result = await engine.run(statement, { signal, timeoutMs: 60_000 });
    return emulatorResult(result.columns.map(toField), toRecords(result, { isInt64: true }));
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function inGoWords(message: string): string {
  const placed = message.replace(/ at \[(\d+:\d+)\]$/, ' [at $1]');
  return placed === message
    ? `failed to query: ${message}`
    : `failed to analyze: INVALID_ARGUMENT: ${placed}`;
}
