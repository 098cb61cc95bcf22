import { GatewayError } from '../base/errors.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { Exchange } from '../http-messages/exchange.ts';
import { maxBodyBytes } from '../http-messages/http-limits.ts';
import { hasBody } from '../http-messages/read-body.ts';
import { readJsonBody } from '../http-messages/read-json-body.ts';
import { readQueryString } from '../http-messages/read-query-string.ts';
import { readRedactHeader } from '../http-messages/read-redact-header.ts';
import { readsNoCache } from '../http-messages/reads-no-cache.ts';
import type { RawParameters } from '../pipeline/bind-parameters.ts';
import type { RequestInput } from '../pipeline/plan-request.ts';
import { readLabelsHeader } from '../pipeline/query-labels.ts';

/**
 * Reads what a request to the REST route asks of an endpoint.
 * @throws GatewayError `invalid_header`, `invalid_body`, `body_too_large`, `unsupported_media_type`, `cancelled`
 */
export async function readInput(exchange: Exchange, definition: EndpointDefinition): Promise<RequestInput> {
  const { headers } = exchange.request;
  return {
    redactPii: readRedactHeader(headers),
    noCache: readsNoCache(headers),
    labels: readLabelsHeader(headers),
    parameters: await readParameters(exchange, definition),
  };
}

/** Parameters come from the query string; a POST, and some GETs, may carry them in a body, which wins. */
async function readParameters(exchange: Exchange, { sandbox }: EndpointDefinition): Promise<RawParameters> {
  const query = readQueryString(exchange.queryText);
  refuseLql(query);
  if (!hasBody(exchange.request)) return query;
  const getMayHaveBody = sandbox && query.sql === undefined;
  if (exchange.request.method !== 'POST' && !getMayHaveBody) return query;
  const body = await readJsonBody(exchange, maxBodyBytes);
  refuseLql(body);
  return Object.assign(query, body);
}

/** Rows that ignore a filter would be wrong rows (contract 2.7). */
function refuseLql(parameters: RawParameters): void {
  if (parameters.lql === undefined) return;
  throw new GatewayError(
    'invalid_parameter',
    'Parameter "lql" is given; Logflare\'s query language is not offered, allowed: `sql`',
  );
}
