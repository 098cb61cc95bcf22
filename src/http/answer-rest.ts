import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { ByteShares } from '../base/byte-shares.ts';
import { GatewayError, quoted } from '../base/errors.ts';
import { withinDeadline } from '../base/time-limit.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { RawParameters } from '../endpoints/parameters/read-parameter.ts';
import { chooseFormat } from '../formats/choose-format.ts';
import { type RowFormat, rowFormats } from '../formats/row-formats.ts';
import { isLongResult, type RowFormatter } from '../formats/row-formatter.ts';
import type { WrittenFormat } from '../formats/write-rows.ts';
import { readCallerHeaders } from '../http-messages/caller-headers.ts';
import {
  type ContentEncoding,
  chooseEncoding,
  encodeBody,
  encodeParts,
} from '../http-messages/content-negotiation.ts';
import { maxBodyBytes, maxRepeatedBytes } from '../http-messages/http-limits.ts';
import { readJsonBody } from '../http-messages/read-json-body.ts';
import { readQueryString } from '../http-messages/read-query-string.ts';
import { hasBody, type RequestContext } from '../http-messages/request-context.ts';
import { type HttpResponse, maxJoinedBytes, type Repeat } from '../http-messages/send-response.ts';
import { type ExplainedEndpoint, explainEndpoint } from '../pipeline/explain-endpoint.ts';
import { bytesOfPlan, type EndpointRequest, type Plan } from '../pipeline/plan-request.ts';
import {
  type Answer,
  areRepeatable,
  confirmAnswers,
  factsOfRepeat,
  type PipelineDeps,
  repeatAnswers,
  runEndpoint,
} from '../pipeline/run-endpoint.ts';
import { renderRefusal } from './answer-check.ts';
import { requestKey } from './hits/fast-path.ts';
import { privateJson } from './json-response.ts';
import { type BodyForm, isNotModified, rowsHeaders, withoutContent } from './rows-headers.ts';

/**
 * Reads a request to the REST route and answers it (contract 2.1): one endpoint's rows for a GET, HEAD or POST.
 * @param endpoint name or UUID
 * @throws GatewayError
 */
export type RestHandler = (context: RequestContext, endpoint: string) => Promise<HttpResponse>;

/** Maximum bytes of the plans of earlier requests. */
const maxPlansLength = 16 * 1024 * 1024;

/** What a request meant, and the format that it requested. */
type Known = { readonly plan: Plan; readonly format: RowFormat };

export type RestDeps = PipelineDeps & { readonly formatter: Pick<RowFormatter, 'claim' | 'format' | 'open'> };

/** Makes the handler of the REST route. */
export function createRestHandler(deps: RestDeps): RestHandler {
  const plans = new LRUCache<string, Known>({
    maxSize: maxPlansLength,
    sizeCalculation: ({ plan }, key) => key.length + bytesOfPlan(plan),
  });

  async function ask(
    asked: Omit<EndpointRequest, 'readParameters'>,
    context: RequestContext,
  ): Promise<HttpResponse> {
    const { request } = context;
    const key = requestKey(request);
    const known = key === undefined ? undefined : plans.get(key);
    let format = known?.format ?? 'json';
    const readParameters = async (definition: EndpointDefinition) => {
      const parameters = await readRaw(context, definition);
      format = chooseFormat(parameters.format, request.headers.accept);
      return parameters;
    };
    const claim: ByteShares['claim'] = (tokenId, bytes) =>
      format === 'json' ? () => undefined : deps.formatter.claim(tokenId, bytes);
    const answer = await runEndpoint(deps, { ...asked, readParameters, claim }, known?.plan);
    if (key !== undefined && answer.plan !== known?.plan) plans.set(key, { plan: answer.plan, format });
    return format !== 'json' && isLongResult(answer)
      ? answerInParts(deps, request, answer, format, asked.signal)
      : answerWhole(deps, request, answer, format, asked.signal);
  }

  return async (context, endpoint) => {
    const { request, requestId, facts, signal: caller, queryText } = context;
    const asked = {
      requestId,
      facts,
      headers: readCallerHeaders(request.headers),
      endpoint,
      signal: caller,
    };
    if (asksToExplain(queryText)) {
      const readParameters = (definition: EndpointDefinition) => readRaw(context, definition);
      return explainResponse(await explainEndpoint(deps, { ...asked, readParameters }));
    }
    return withinDeadline(caller, deps.queryTimeoutMs, signal => ask({ ...asked, signal }, context));
  };
}

async function answerWhole(
  deps: RestDeps,
  request: IncomingMessage,
  answer: Answer,
  format: RowFormat,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const shown = { answer, format, body: await show(deps.formatter, answer, format, signal) };
  const encoding = encodingOf(request, format, shown.body.length);
  const headers = headersOf(request, answer, { format, encoding });
  const isKnown = hasIt(request, headers);
  const isFirst = !isServedAgain(answer.rows);
  if (isKnown && isFirst) return notModified(headers);
  const isKept = answer.bodyDigest !== undefined;
  const { tokenId: caller } = answer.plan.caller;
  const body = encoding ? await encodeBody(shown.body, encoding, { isKept, caller }) : shown.body;
  const repeat = isFirst ? undefined : repeatOf(deps, shown, body, encoding);
  return isKnown ? { ...notModified(headers), repeat } : { status: 200, headers, body, repeat };
}

/** Answers with a long result in another format than JSON: it is written while the caller reads it. */
async function answerInParts(
  { formatter }: RestDeps,
  request: IncomingMessage,
  answer: Answer,
  format: WrittenFormat,
  signal: AbortSignal,
): Promise<HttpResponse> {
  const heldBytes = answer.body.length;
  const encoding = encodingOf(request, format, heldBytes);
  const headers = headersOf(request, answer, { format, encoding });
  if (hasIt(request, headers)) return notModified(headers);
  if (request.method === 'HEAD') return inParts(headers, noParts(), 0);
  const parts = await formatter.open(format, answer, optionsOf(answer, signal));
  return inParts(headers, encoding ? encodeParts(parts, encoding) : parts, heldBytes);
}

function inParts(
  headers: OutgoingHttpHeaders,
  each: AsyncIterableIterator<Buffer>,
  heldBytes: number,
): HttpResponse {
  return { status: 200, headers, body: noBody, parts: { each, heldBytes } };
}

async function* noParts(): AsyncGenerator<Buffer, undefined> {}

function encodingOf(
  { headers }: IncomingMessage,
  format: RowFormat,
  length: number,
): ContentEncoding | undefined {
  return rowFormats[format].isCompressible ? chooseEncoding(headers['accept-encoding'], length) : undefined;
}

function headersOf(request: IncomingMessage, answer: Answer, form: BodyForm): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {
    ...rowsHeaders(answer, form),
    'server-timing': serverTiming(answer),
  };
  if (request.method === 'POST' || !hasBody(request)) return headers;
  // Caches store the answer to a GET under its URL, which does not show what the body requested.
  const { 'x-accel-expires': _, ...others } = headers;
  return { ...others, 'cache-control': 'no-store' };
}

/** Whether the caller has this very body. RFC 9110, section 13.2.2: a matching tag gives a 304 only for GET and HEAD. */
function hasIt({ method, headers }: IncomingMessage, { etag }: OutgoingHttpHeaders): boolean {
  return method !== 'POST' && isNotModified(headers['if-none-match'], etag);
}

function notModified(headers: OutgoingHttpHeaders): HttpResponse {
  return { status: 304, headers: withoutContent(headers), body: noBody };
}

/** An answer in the requested format. */
type Shown = { readonly answer: Answer; readonly format: RowFormat; readonly body: Buffer };

async function show(
  formatter: Pick<RowFormatter, 'format'>,
  answer: Answer,
  format: RowFormat,
  signal: AbortSignal,
): Promise<Buffer> {
  if (format === 'json') return answer.body;
  const isKept = answer.bodyDigest !== undefined;
  return formatter.format(format, answer, { ...optionsOf(answer, signal), isKept });
}

function optionsOf({ plan }: Answer, signal: AbortSignal) {
  return { caller: plan.caller.tokenId, signal };
}

const noBody = Buffer.alloc(0);

/** Entries that were served before, by version: most are served only once, and remembering their responses would waste memory. */
const served = new LRUCache<string, true>({ max: 20_000 });

/** Whether rows were served before; records that they are served now. By version, because one entry may be read from the store as several objects. */
function isServedAgain(rows: Answer['rows']): boolean {
  if (!('version' in rows)) return false;
  const isKnown = served.has(rows.version);
  served.set(rows.version, true);
  return isKnown;
}

/** @param body as sent, encoded or not */
function repeatOf(
  deps: PipelineDeps,
  { answer, format, body: plain }: Shown,
  body: Buffer,
  encoding: ContentEncoding | undefined,
): Repeat | undefined {
  if (body.length > maxRepeatedBytes || !areRepeatable(deps, [answer])) return undefined;
  let ageSeconds: number | undefined;
  let headers = {};
  const isJoined = body.length <= maxJoinedBytes;
  const start = isJoined ? undefined : body;
  let text: string | undefined;
  return {
    // The body, its text, and the rows that it was encoded from.
    bytes: 2 * body.length + (encoding ? plain.length : 0) + bytesOfPlan(answer.plan),
    facts: factsOfRepeat([answer]),
    confirm: () => confirmAnswers(deps, [answer]),
    again(requestId, confirmedSinceMs) {
      const [next] = repeatAnswers(deps, [answer], requestId, confirmedSinceMs) ?? [];
      if (!next) return undefined;
      if (next.cache.ageSeconds !== ageSeconds) {
        ageSeconds = next.cache.ageSeconds;
        headers = rowsHeaders(next, { format, encoding });
      }
      text ??= isJoined ? body.toString('latin1') : '';
      return { headers, timing: serverTiming(next), start, text };
    },
  };
}

/** The stages of an answer as the header `Server-Timing`. */
function serverTiming({ stages }: Answer): string {
  let text = '';
  for (const { name, ms } of stages) text += `${text && ', '}${name};dur=${ms.toFixed(2)}`;
  return text;
}

/** Reads the parameters: from the query string, and for a POST and some GETs also from the body, which wins. */
async function readRaw(
  context: RequestContext,
  { sandbox, parameters }: EndpointDefinition,
): Promise<RawParameters> {
  const lists = new Set(parameters.filter(({ repeated }) => repeated).map(({ name }) => name));
  const text = context.readQuery();
  // Awaited only if it is a promise: a malformed body may arrive at once, and its reader must be in place by then.
  const query = readQueryString(typeof text === 'string' ? text : await text, lists);
  rejectLql(query);
  rejectExplain(query);
  if (!hasBody(context.request)) return query;
  const getMayHaveBody = sandbox && query.sql === undefined;
  if (context.request.method !== 'POST' && !getMayHaveBody) return query;
  const body = await readJsonBody(context, maxBodyBytes);
  rejectLql(body);
  rejectExplainIn(body);
  for (const [name, value] of Object.entries(query)) if (!(name in body)) body[name] = value;
  return body;
}

/** Refuses `lql`: rows that ignore a filter would be wrong rows (contract 2.7). */
function rejectLql(parameters: RawParameters): void {
  if (parameters.lql === undefined) return;
  throw new GatewayError(
    'invalid_parameter',
    'Parameter "lql" is given; Logflare\'s query language is not offered, allowed: `sql`',
  );
}

/** `explain`, whose letters may be percent-encoded: a caller who writes it like that must not be billed for a query either. */
const explainName = /(?:e|%65)(?:x|%78)(?:p|%70)(?:l|%6c)(?:a|%61)(?:i|%69)(?:n|%6e)/i;

/** Whether a request has `explain=true` in its query string: its query is explained, not run (contract 4.10). */
function asksToExplain(queryText: string): boolean {
  if (!explainName.test(queryText)) return false;
  // Only these pairs are parsed: a caller without a valid token might send thousands of others.
  const named = queryText.split('&').filter(pair => explainName.test(pair));
  return readQueryString(named.join('&')).explain === 'true';
}

/** Refuses other values of `explain`: a caller who sends one wants no query to run. */
function rejectExplain({ explain = '' }: RawParameters): void {
  if (explain === '' || explain === 'true' || explain === 'false') return;
  throw new GatewayError(
    'invalid_parameter',
    `Parameter "explain" is ${quoted(explain)}; allowed: true, false`,
  );
}

/** Refuses `explain` in a body, for the same reason: it belongs to the query string. */
function rejectExplainIn({ explain }: RawParameters): void {
  if (explain === undefined || explain === null || explain === '') return;
  if (explain === false || explain === 'false') return;
  throw new GatewayError(
    'invalid_parameter',
    'Parameter "explain" is in the body; allowed: in the query string, ?explain=true',
  );
}

/** The response that `docs/rest.md` and OpenAPI describe, without undefined members. */
function explainResponse(explained: ExplainedEndpoint): HttpResponse {
  const { endpoint, verdict, parameters, cacheKey, maxBytesBilled } = explained;
  const shared = {
    endpoint: endpoint.name,
    parameters: Object.fromEntries(parameters.map(({ name, value }) => [name, value])),
    cache_key: cacheKey,
    max_bytes_billed: maxBytesBilled,
  };
  return privateJson({ explain: { ...shared, ...renderVerdict(verdict) } });
}

function renderVerdict(verdict: ExplainedEndpoint['verdict']): object {
  if ('code' in verdict) return renderRefusal(verdict);
  const { columns, sources, estimatedBytes } = verdict;
  return { verdict: 'ok', estimated_bytes: estimatedBytes, sources, columns };
}
