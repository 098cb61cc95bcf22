import type { Exchange, Reply } from '../http-messages/exchange.ts';
import { readCredentials } from '../http-messages/read-credentials.ts';
import { readQueryString } from '../http-messages/read-query-string.ts';
import { type ExplainedEndpoint, explainEndpoint } from '../pipeline/explain-endpoint.ts';
import type { PlanDeps } from '../pipeline/plan-request.ts';
import { readInput } from './read-input.ts';

/** Whether a request to the REST route asks what its query would do: `explain=true` in the query string. */
export function asksToExplain({ queryText }: Exchange): boolean {
  return queryText.includes('explain') && readQueryString(queryText).explain === 'true';
}

/**
 * Answers `?explain=true` (contract 4.10: the dry run on demand); errors as `explainEndpoint`.
 * @param endpoint name or UUID
 */
export async function answerExplain(deps: PlanDeps, exchange: Exchange, endpoint: string): Promise<Reply> {
  const { request, requestId, signal } = exchange;
  const explained = await explainEndpoint(deps, {
    requestId,
    credentials: readCredentials(request.headers),
    endpoint,
    readInput: definition => readInput(exchange, definition),
    signal,
  });
  return {
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' },
    body: Buffer.from(JSON.stringify({ explain: render(explained) })),
  };
}

/** The body that `docs/rest.md` and OpenAPI describe; what is not known is left out. */
function render({ endpoint, verdict, parameters, cacheKey, maxBytesBilled }: ExplainedEndpoint): object {
  const shared = {
    endpoint: endpoint.name,
    parameters: Object.fromEntries(parameters.map(({ name, value }) => [name, value])),
    cache_key: cacheKey,
    max_bytes_billed: maxBytesBilled,
  };
  if ('code' in verdict) {
    const { code, message, position } = verdict;
    return { ...shared, verdict: 'refused', error: { code, message, ...position } };
  }
  const { columns, sources, estimatedBytes } = verdict;
  return { ...shared, verdict: 'ok', estimated_bytes: estimatedBytes, sources, columns };
}
