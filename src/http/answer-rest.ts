import type { OutgoingHttpHeaders } from 'node:http';
import { readCredentials } from '../auth/read-credentials.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import { GatewayError } from '../errors.ts';
import type { Exchange, Reply } from '../exchange.ts';
import type { RawParameters } from '../pipeline/bind-parameters.ts';
import { readRedactHeader } from '../pipeline/read-redact-header.ts';
import { type Answer, type PipelineDeps, runEndpoint } from '../pipeline/run-endpoint.ts';
import { acceptsJson } from './accepts-json.ts';
import { maxBodyBytes } from './http-limits.ts';
import { hasBody } from './read-body.ts';
import { readJsonBody } from './read-json-body.ts';
import { readQueryString } from './read-query-string.ts';

/**
 * The REST door (contract section 2): reads one endpoint's rows for a GET, HEAD or POST.
 * @param endpoint name or UUID
 * @throws GatewayError
 */
export async function answerRest(deps: PipelineDeps, exchange: Exchange, endpoint: string): Promise<Reply> {
  const { headers } = exchange.request;
  if (!acceptsJson(headers.accept)) {
    throw new GatewayError(
      'not_acceptable',
      `Accept is ${JSON.stringify(headers.accept)}; offered: application/json`,
    );
  }
  const answer = await runEndpoint(deps, {
    requestId: exchange.requestId,
    credentials: readCredentials(headers),
    endpoint,
    readInput: async definition => ({
      redactPii: readRedactHeader(headers),
      parameters: await readParameters(exchange, definition),
    }),
    signal: exchange.signal,
  });
  return { status: 200, headers: answerHeaders(answer), body: answer.body };
}

/** Parameters come from the query string; a POST, and some GETs, may carry them in a body, which wins. */
async function readParameters(exchange: Exchange, { sandbox }: EndpointDefinition): Promise<RawParameters> {
  const query = readQueryString(exchange.queryText);
  if (!hasBody(exchange.request)) return query;
  const getMayHaveBody = sandbox && query.sql === undefined && query.lql === undefined;
  if (exchange.request.method !== 'POST' && !getMayHaveBody) return query;
  const body = await readJsonBody(exchange, maxBodyBytes);
  return Object.assign(query, body);
}

function answerHeaders({ endpoint, cache, stages }: Answer): OutgoingHttpHeaders {
  const isCached = cache.state !== 'off';
  return {
    'content-type': 'application/json; charset=utf-8',
    'x-cache': { hit: 'HIT', miss: 'MISS', off: 'BYPASS' }[cache.state],
    'server-timing': stages.map(({ name, ms }) => `${name};dur=${ms.toFixed(2)}`).join(', '),
    vary: varyHeaders,
    ...(isCached
      ? {
          age: String(cache.ageSeconds),
          'cache-control': `private, max-age=${Math.max(0, endpoint.cacheSeconds - cache.ageSeconds)}`,
        }
      : { 'cache-control': 'no-store' }),
  };
}

/** The request headers that change what is answered. */
const varyHeaders = ['Authorization', 'X-API-KEY', 'LF-ENDPOINT-REDACT-PII'].join(', ');
