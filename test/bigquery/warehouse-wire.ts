import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

/** One request as the warehouse got it. */
export type Asked = {
  /** `query`, `insert`, `dryRun`, `results`, `job` or `cancel`. */
  readonly what: string;
  readonly path: string;
  readonly params: URLSearchParams;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  readonly body: any;
  /** The header that says who asks. */
  readonly authorization: string | undefined;
  readonly atMs: number;
};

/** What the warehouse does with a request: answer with JSON, or text, or treat the connection badly. */
export type Deed =
  | {
      readonly status?: number;
      readonly json: unknown;
      readonly afterMs?: number;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly status?: number; readonly text: string }
  | 'reset'
  | 'hang'
  /** Headers, and then nothing. */
  | 'hangAfterHeaders'
  /** Less than the headers say, and then the end. */
  | 'halfAPage';

/** What is done with a request instead of answering it; undefined: it is answered. */
export type Interference = (asked: Asked) => Deed | undefined;

/** BigQuery's error object. */
export function refusal(status: number, reason: string, message = `it is ${reason}`) {
  const error = { code: status, message, errors: [{ reason, message }] };
  return { status, json: { error } } satisfies Deed;
}

/** Reads a request to its end. */
export async function readAsked(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const { pathname: path, searchParams: params } = new URL(request.url ?? '', 'http://warehouse');
  const body = text ? JSON.parse(text) : undefined;
  const { authorization } = request.headers;
  const what = kindOf(request.method, path, body);
  return { what, path, params, body, authorization, atMs: performance.now() };
}

/** Does with a request as it is told. */
export async function perform(deed: Deed, response: ServerResponse): Promise<void> {
  if (deed === 'hang') return;
  if (deed === 'reset') {
    response.socket?.resetAndDestroy();
    return;
  }
  if (deed === 'hangAfterHeaders' || deed === 'halfAPage') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"jobComplete":true,');
    if (deed === 'halfAPage') setImmediate(() => response.socket?.end());
    return;
  }
  if ('afterMs' in deed) await sleep(deed.afterMs);
  const headers = 'headers' in deed ? deed.headers : {};
  response.writeHead(deed.status ?? 200, { 'content-type': 'application/json', ...headers });
  response.end('text' in deed ? deed.text : JSON.stringify(deed.json));
}

function kindOf(method: string | undefined, path: string, body: Asked['body']): string {
  if (path.endsWith('/cancel')) return 'cancel';
  if (method === 'GET') return path.includes('/queries/') ? 'results' : 'job';
  if (path.endsWith('/queries')) return 'query';
  return body.configuration.dryRun ? 'dryRun' : 'insert';
}
