import type { Caller, Tokens } from '../auth/tokens.ts';
import type { Clock } from '../base/clock.ts';
import type { ResultSet } from '../base/rows.ts';
import type { EndpointQuery } from '../batch/endpoint-query.ts';
import type { RunEndpointQuery } from '../batch/gather-queries.ts';
import { cacheKey } from '../cache/cache-key.ts';
import type { CacheRequest, Load } from '../cache/cache-request.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import { boundWindow, keepsWindow } from '../engine/bound-window.ts';
import type { Engine } from '../engine/engine.ts';
import type { RedactionKind } from '../redaction/redaction-kinds.ts';
import { bindParameters, type RawParameters, readCallerSql } from './bind-parameters.ts';
import { findEndpoint } from './find-endpoint.ts';
import type { Redaction } from './form-of.ts';
import { labelsOf, readLabels } from './query-labels.ts';
import { redactError } from './redact-error.ts';
import type { Stages } from './stages.ts';

export type PlanDeps = {
  readonly tokens: Pick<Tokens, 'authenticate' | 'isCurrent'>;
  readonly endpoints: Pick<EndpointRegistry, 'find' | 'version'>;
  readonly runEndpointQuery: RunEndpointQuery;
  /** For the verdict on a query that is not to run. */
  readonly engine: Pick<Engine, 'explain'>;
  /** Milliseconds one query may take. */
  readonly queryTimeoutMs: number;
  /** What is redacted for endpoints that don't say it themselves. */
  readonly redactKinds: readonly RedactionKind[];
  readonly clock: Clock;
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
  /** Overrides the endpoint's setting for this request (contract 2.5). */
  readonly redactPii: boolean | undefined;
  /** `Cache-Control: no-cache`: the caller wants what a query finds now. Needs the scope `no-cache`, else it is ignored. */
  readonly noCache: boolean;
  /** `LF-ENDPOINT-LABELS` as it was sent; absent where it was not. */
  readonly labels?: string | undefined;
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
  /** Labels of the query, for the request that runs it. */
  readonly labels: (requestId?: string) => Readonly<Record<string, string>>;
  /** The smaller of the endpoint's and the token's limit. */
  readonly maxBytesBilled: number | undefined;
  /** Runs the statement, within the limits and under the labels of the caller. */
  readonly run: (signal: AbortSignal, requestId?: string) => Promise<ResultSet>;
  /** What the caller is not to see; absent: the rows are given as they are. */
  readonly redact: Redaction;
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

  // Until the request has said whether it wants to see personal data, a failure shows none.
  const kinds = definition.redactKinds ?? deps.redactKinds;
  let redact: Redaction = kinds;
  try {
    const input = await question.readInput(definition);
    redact = (input.redactPii ?? definition.redactPii) ? kinds : undefined;
    const mustLoad = input.noCache && caller.scopes.has('no-cache');
    const meaning = readMeaning(deps, caller, definition, input);
    stages.done('params');
    return { endpointsVersion, caller, definition, redact, mustLoad, ...meaning };
  } catch (thrown) {
    throw redactError(thrown, redact);
  }
}

/** What the input asks of the endpoint: its query, the cache's request, and the limits and labels of the caller. */
function readMeaning(deps: PlanDeps, caller: Caller, definition: EndpointDefinition, input: RequestInput) {
  const parameters = bindParameters(definition, input.parameters);
  // The engine keeps the window; whether it can is said before the cache is asked.
  if (definition.window) boundWindow(definition.window, parameters, deps.clock.now());
  const callerSql = readCallerSql(definition, input.parameters);
  const query = { definition, parameters, callerSql };
  const own = readLabels(definition.labels, input.labels);
  const maxBytesBilled = smaller(definition.maxBytesBilled, caller.maxBytesBilled);

  const labels = (requestId?: string) =>
    labelsOf(own, { endpoint: definition.name, tokenId: caller.tokenId, requestId });
  const run = (signal: AbortSignal, requestId?: string) =>
    deps.runEndpointQuery(query, {
      signal,
      caller: caller.tokenId,
      labels: labels(requestId),
      maxBytesBilled,
    });

  const load = { run: (signal: AbortSignal) => run(signal), maxBytesBilled };
  // No one request waits for it, and what comes of it is everybody's: behind callers, within the saved query's own limit.
  const refreshLoad = {
    run: (signal: AbortSignal) =>
      deps.runEndpointQuery(query, {
        signal,
        labels: labels(),
        maxBytesBilled: definition.maxBytesBilled,
        priority: 'background',
      }),
    maxBytesBilled: definition.maxBytesBilled,
  };
  const cacheRequest = cacheRequestOf(deps.queryTimeoutMs, query, { load, refreshLoad });
  return { query, cacheRequest, labels, maxBytesBilled, run };
}

/**
 * Whether the same question still means the same: the token is accepted, the definitions are those of then, and the endpoint's
 * window is not left.
 */
export function isPlanCurrent({ tokens, endpoints, clock }: PlanDeps, plan: Plan): boolean {
  const { caller, endpointsVersion, definition, query } = plan;
  if (!tokens.isCurrent(caller) || endpoints.version !== endpointsVersion) return false;
  return !definition.window || keepsWindow(definition.window, query.parameters, clock.now());
}

/** The smaller of two limits, of which either may be absent. */
function smaller(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

/** What the cache is asked for a query, and the runs that answer it where the cache can't. */
export function cacheRequestOf(
  queryTimeoutMs: number,
  query: EndpointQuery,
  loads: { readonly load: Load; readonly refreshLoad: Load },
): CacheRequest {
  const { definition, parameters, callerSql } = query;
  return {
    endpoint: definition.name,
    key: cacheKey(definition, parameters, callerSql),
    lifetimes: lifetimesOf(definition),
    waitMs: queryTimeoutMs,
    ...loads,
  };
}

function lifetimesOf({ cacheSeconds, staleSeconds, staleIfErrorSeconds }: EndpointDefinition) {
  return {
    freshMs: cacheSeconds * 1000,
    staleMs: staleSeconds * 1000,
    staleIfErrorMs: staleIfErrorSeconds * 1000,
  };
}
