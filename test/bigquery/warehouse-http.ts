import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';

/** One request as the warehouse got it. */
export type Asked = {
  /** `query`, `insert`, `dryRun` (by either), `results`, `job`, `cancel` or `table`; `unknown`: BigQuery has no such method. */
  readonly what: string;
  readonly path: string;
  readonly params: URLSearchParams;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of many shapes
  readonly body: any;
  /** The header that says who asks. */
  readonly authorization: string | undefined;
  /** The server that was meant, without a port where that is the usual one. */
  readonly host: string | undefined;
  /** W3C Trace Context: within which span it was sent. */
  readonly traceparent: string | undefined;
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
  | { readonly status?: number; readonly text: string; readonly headers?: Readonly<Record<string, string>> }
  /** Writes an answer that is never in memory as a whole. */
  | { readonly stream: (response: ServerResponse) => Promise<void> }
  /** The scripted warehouse answers as it does without a script. */
  | 'asUsual'
  | 'reset'
  | 'hang'
  /** Headers, and then nothing. */
  | 'hangAfterHeaders'
  /** Less than the headers say, and then the end. */
  | 'halfAPage';

/** What is done with a request instead of answering it; undefined: it is answered. */
export type Interference = (asked: Asked) => Deed | undefined;

/** Google's word for an HTTP status. Source: `google.rpc.Code`. */
const statusWords: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ALREADY_EXISTS',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** Where BigQuery says that an error lies, for the reasons that it says so of. */
const locations: Readonly<Record<string, object>> = {
  invalidQuery: { location: 'q', locationType: 'parameter' },
  authError: { location: 'Authorization', locationType: 'header' },
};

/** BigQuery's error object, as recorded. */
export function refusal(status: number, reason: string, message = `it is ${reason}`) {
  const errors = [{ message, domain: 'global', reason, ...locations[reason] }];
  const error = { code: status, message, errors, status: statusWords[status] ?? 'UNKNOWN' };
  return { status, json: { error } } satisfies Deed;
}

/** Reads a request to its end. */
export async function readAsked(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  const { pathname: path, searchParams: params } = new URL(request.url ?? '', 'http://warehouse');
  const body = text ? JSON.parse(text) : undefined;
  const { authorization, host } = request.headers;
  const traceparent = request.headers.traceparent?.toString();
  const what = kindOf(request.method, path, body);
  return { what, path, params, body, authorization, host, traceparent, atMs: performance.now() };
}

/** Handles a request by its script; an answer is compressed for a client that asks for gzip in both headers. */
export async function perform(deed: Deed, response: ServerResponse): Promise<void> {
  if (deed === 'hang' || deed === 'asUsual') return;
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
  if ('stream' in deed) return deed.stream(response);
  if ('afterMs' in deed) await sleep(deed.afterMs);
  const headers = 'headers' in deed ? deed.headers : {};
  const text = 'text' in deed ? deed.text : JSON.stringify(deed.json);
  const { 'accept-encoding': encodings = '', 'user-agent': agent = '' } = response.req.headers;
  const takesGzip = [encodings, agent].every(header => /\bgzip\b/.test(String(header)));
  response.writeHead(deed.status ?? 200, {
    'content-type': 'application/json; charset=UTF-8',
    ...(takesGzip ? { 'content-encoding': 'gzip' } : {}),
    ...headers,
  });
  response.end(takesGzip ? gzipSync(text) : text);
}

function kindOf(method: string | undefined, path: string, body: Asked['body']): string {
  if (method === 'GET' && /^\/bigquery\/v2\/projects\/[^/]+\/datasets\/[^/]+\/tables\/[^/]+$/.test(path))
    return 'table';
  const [, room, job, cancel] =
    /^\/bigquery\/v2\/projects\/[^/]+\/(queries|jobs)(?:(\/[^/]+)(\/cancel)?)?$/.exec(path) ?? [];
  switch (`${method} ${room}${job ? '/job' : ''}${cancel ?? ''}`) {
    case 'POST queries':
      return body.dryRun ? 'dryRun' : 'query';
    case 'POST jobs':
      return body.configuration.dryRun ? 'dryRun' : 'insert';
    case 'GET queries/job':
      return 'results';
    case 'GET jobs/job':
      return 'job';
    case 'POST jobs/job/cancel':
      return 'cancel';
    default:
      return 'unknown';
  }
}
