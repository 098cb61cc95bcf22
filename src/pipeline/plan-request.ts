import type { Caller, Tokens } from '../auth/tokens.ts';
import type { EndpointQuery } from '../batch/endpoint-query.ts';
import type { RunEndpointQuery } from '../batch/gather-queries.ts';
import { cacheKey } from '../cache/cache-key.ts';
import type { CacheRequest } from '../cache/cache-request.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import { bindParameters, type RawParameters, readCallerSql } from './bind-parameters.ts';
import { findEndpoint } from './find-endpoint.ts';
import type { Stages } from './stages.ts';

export type PlanDeps = {
  readonly tokens: Pick<Tokens, 'authenticate' | 'isCurrent'>;
  readonly endpoints: Pick<EndpointRegistry, 'find' | 'version'>;
  readonly runEndpointQuery: RunEndpointQuery;
  /** Milliseconds one query may take. */
  readonly queryTimeoutMs: number;
};

/** One question to one saved query, by whichever door it came. */
export type EndpointQuestion = {
  /** The access token as presented; absent when there was none. */
  readonly credentials: string | undefined;
  /** Name or UUID of the endpoint. */
  readonly endpoint: string;
  /** Called once the caller and the endpoint are known: what may carry parameters depends on the endpoint. */
  readonly readInput: (definition: EndpointDefinition) => RequestInput | Promise<RequestInput>;
};

/** What a caller asks of an endpoint, not yet validated. */
export type RequestInput = {
  readonly parameters: RawParameters;
  /** Overrides the endpoint's setting for this request (contract section 2). */
  readonly redactPii: boolean | undefined;
  /** `Cache-Control: no-cache`: the caller wants what a query finds now. Needs the scope `no-cache`, else it is ignored. */
  readonly noCache: boolean;
};

/** What a question means: it may be asked again as long as `isPlanCurrent`. */
export type Plan = {
  /** The version of all definitions that were served then. */
  readonly endpointsVersion: number;
  readonly caller: Caller;
  readonly definition: EndpointDefinition;
  readonly query: EndpointQuery;
  /** What the cache is asked; also names the rows of endpoints that are not cached. */
  readonly cacheRequest: CacheRequest;
  readonly redact: boolean;
  readonly mustLoad: boolean;
};

/**
 * Finds out who asks what: token, endpoint, parameters, cache key.
 * @throws GatewayError `unauthorized`, `endpoint_not_found`, `invalid_parameter`, and those of `readInput`
 */
export async function planRequest(deps: PlanDeps, question: EndpointQuestion, stages: Stages): Promise<Plan> {
  const caller = deps.tokens.authenticate(question.credentials);
  const { version: endpointsVersion } = deps.endpoints;
  const definition = findEndpoint(deps.endpoints, question.endpoint);
  stages.done('auth');

  const input = await question.readInput(definition);
  const parameters = bindParameters(definition, input.parameters);
  const callerSql = readCallerSql(definition, input.parameters);
  const query = { definition, parameters, callerSql };
  stages.done('params');

  return {
    endpointsVersion,
    caller,
    definition,
    query,
    cacheRequest: cacheRequestOf(deps, query),
    redact: input.redactPii ?? definition.redactPii,
    mustLoad: input.noCache && caller.scopes.has('no-cache'),
  };
}

/** Whether the same question still means the same: the token is accepted, and the definitions are those of then. */
export function isPlanCurrent({ tokens, endpoints }: PlanDeps, plan: Plan): boolean {
  return tokens.isCurrent(plan.caller) && endpoints.version === plan.endpointsVersion;
}

/** What the cache is asked for a query, and the run that answers it where the cache can't. */
export function cacheRequestOf(
  { runEndpointQuery, queryTimeoutMs }: Pick<PlanDeps, 'runEndpointQuery' | 'queryTimeoutMs'>,
  query: EndpointQuery,
): CacheRequest {
  const { definition, parameters, callerSql } = query;
  return {
    endpoint: definition.name,
    key: cacheKey(definition, parameters, callerSql),
    lifetimes: lifetimesOf(definition),
    waitMs: queryTimeoutMs,
    load: signal => runEndpointQuery(query, signal),
  };
}

function lifetimesOf({ cacheSeconds, staleSeconds, staleIfErrorSeconds }: EndpointDefinition) {
  return {
    freshMs: cacheSeconds * 1000,
    staleMs: staleSeconds * 1000,
    staleIfErrorMs: staleIfErrorSeconds * 1000,
  };
}
