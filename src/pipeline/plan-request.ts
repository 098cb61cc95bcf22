import { type Caller, coversEndpoint, requireEndpoint, requireScope } from '../auth/caller.ts';
import type { Authenticator } from '../auth/tokens.ts';
import { countRequests } from '../auth/usage/meters.ts';
import type { ByteShares } from '../base/byte-shares.ts';
import type { Clock } from '../base/clock.ts';
import { GatewayError, quoted } from '../base/errors.ts';
import { didYouMean } from '../base/nearest-name.ts';
import type { Stages } from '../base/spans.ts';
import { createOwnTurns } from '../base/turns.ts';
import type { EndpointQuery, QueryOptions, RunQuery } from '../batch/run-queries.ts';
import type { CacheRequest, Load } from '../cache/cache-request.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import {
  costlyPatterns,
  problemOfPattern,
  type RawParameters,
} from '../endpoints/parameters/read-parameter.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import { boundWindow } from '../engine/bound-window.ts';
import type { CallerHeaders } from '../http-messages/caller-headers.ts';
import { addFacts, type RequestFacts } from '../http-messages/request-context.ts';
import type { RedactionKind } from '../redaction/redaction-kinds.ts';
import { type BoundQuery, bindQuery } from './bind-parameters.ts';
import { requireFixedSubsets } from './fixed-parameters.ts';
import { type Redaction, redactError, redactionOf } from './representation.ts';

/** Bytes of a plan and its answer besides their texts: parameters, functions, headers, stages. */
const planBytes = 4096;

/** Bytes of memory held by a plan and its answer, without the rows. */
export function bytesOfPlan({ query }: Plan): number {
  return planBytes + 2 * query.key.canonical.length;
}

export type PlanDeps = {
  readonly tokens: Authenticator;
  readonly endpoints: Pick<EndpointRegistry, 'all' | 'find' | 'version' | 'broken'>;
  readonly runQuery: RunQuery;
  /** Milliseconds one query may take. */
  readonly queryTimeoutMs: number;
  /** The kinds that are redacted for endpoints without a list of their own. */
  readonly redactKinds: readonly RedactionKind[];
  readonly clock: Clock;
};

/** An endpoint, and the version of all definitions when it was found (or an earlier one). */
export type ServedEndpoint = { readonly definition: EndpointDefinition; readonly version: number };

/** One request to one saved query, from any handler. */
export type EndpointRequest = {
  readonly requestId: string;
  /** Aborted when the caller goes away or its deadline passes. */
  readonly signal: AbortSignal;
  readonly headers: CallerHeaders;
  /** Filled in by the pipeline, for the request's log line. */
  readonly facts: RequestFacts;
  /** The caller, if the handler has authenticated it already. */
  readonly caller?: Caller | undefined;
  /** Whether the handler has already counted the request against its token's limits. Default false. */
  readonly isCounted?: boolean;
  /** Name or UUID of the endpoint, or the endpoint itself if the handler has found it already. */
  readonly endpoint: string | ServedEndpoint;
  /** Called once the caller and the endpoint are known: where parameters may come from depends on the endpoint. */
  readonly readParameters: (definition: EndpointDefinition) => RawParameters | Promise<RawParameters>;
  /** Claims what the handler needs to answer with cached rows, before they are decompressed. Default: it needs nothing. */
  readonly claim?: ByteShares['claim'];
  /** Runs the query if one is needed. Default: the pipeline's own. */
  readonly runQuery?: RunQuery;
};

/** What a request means. An identical request has the same plan while `isPlanCurrent`. */
export type Plan = {
  /** The version of all definitions when the plan was made. */
  readonly endpointsVersion: number;
  readonly caller: Caller;
  readonly definition: EndpointDefinition;
  readonly query: BoundQuery;
  /** The request to the cache; it also names the rows of endpoints that are not cached. */
  readonly cacheRequest: CacheRequest;
  /** The caller, the labels and the limit of bytes with which the query runs. */
  readonly optionsFor: (request?: LabelledRequest) => Omit<QueryOptions, 'signal'>;
  readonly redact: Redaction;
  readonly mustLoad: boolean;
};

const ownTurn = createOwnTurns();

/** Longer SQL of a caller takes more than a millisecond to be read for its cache key, and a GraphQL request may have fifteen times 64 KiB. */
const maxShortSql = 8192;

/**
 * Plans a request: token → endpoint → parameters → cache key.
 * @throws GatewayError `unauthorized`, `too_many_requests`, `endpoint_not_found`, `forbidden`, `invalid_header`, `invalid_parameter`, and those of
 * `readParameters`
 */
export async function planRequest(deps: PlanDeps, request: EndpointRequest, stages: Stages): Promise<Plan> {
  const { headers, endpoint } = request;
  const found = request.caller ?? deps.tokens.authenticate(headers.credentials);
  // Awaited only if it is a promise: a malformed body may arrive at once, and its reader must be in place by then.
  const caller = found instanceof Promise ? await found : found;
  if (!request.isCounted) countRequests(caller.meter, 1);
  const served = typeof endpoint === 'string' ? findServed(deps, endpoint, caller) : endpoint;
  const { definition, version: endpointsVersion } = served;
  addFacts(request.facts, { endpoint: definition.name, tokenId: caller.tokenId });
  requireEndpoint(caller, definition.name);
  stages.done('auth');

  // Until the parameters are read, errors are redacted in any case.
  const kinds = definition.redactKinds ?? deps.redactKinds;
  let redact: Redaction = kinds;
  try {
    const requested = redactionOf(kinds, definition, headers, caller);
    const raw = await request.readParameters(definition);
    for (const pattern of costlyPatterns(definition, raw)) {
      await ownTurn(caller.tokenId);
      request.signal.throwIfAborted();
      problemOfPattern(pattern);
    }
    if (typeof raw.sql === 'string' && raw.sql.length > maxShortSql) {
      await ownTurn(caller.tokenId);
      request.signal.throwIfAborted();
    }
    redact = requested;
    const { fixedParameters } = caller;
    const query = bindQuery(definition, raw, fixedParameters);
    if (query.callerSql !== undefined) requireScope(caller, 'sandbox');
    if (query.callerSql !== undefined && fixedParameters) requireFixedSubsets(definition, fixedParameters);
    // The engine applies the window; a refusal must not depend on what the cache holds.
    if (definition.window) boundWindow(definition.window, query.parameters, deps.clock.now());
    const runs = planRuns(request.runQuery ?? deps.runQuery, query, caller, headers);
    const cacheRequest = cacheRequestOf(deps.queryTimeoutMs, query, runs, caller.tokenId);
    const mustLoad = headers.noCache && caller.scopes.has('no-cache');
    stages.done('params');
    const { optionsFor } = runs;
    return { endpointsVersion, caller, definition, query, cacheRequest, optionsFor, redact, mustLoad };
  } catch (thrown) {
    throw redactError(thrown, redact);
  }
}

/** How the query runs for its caller, and how it runs as a refresh in the background. */
function planRuns(runQuery: RunQuery, query: EndpointQuery, caller: Caller, headers: CallerHeaders) {
  const { name: endpoint, labels: allowed, maxBytesBilled: endpointLimit } = query.definition;
  const { tokenId } = caller;
  const own = readLabels(allowed, headers.labels);
  const maxBytesBilled = smaller(endpointLimit, caller.maxBytesBilled);
  const labels = (request?: LabelledRequest) => labelsOf(own, { endpoint, tokenId }, request);
  const optionsFor = (request?: LabelledRequest) => ({
    caller: tokenId,
    labels: labels(request),
    maxBytesBilled,
  });
  const load: Load = { run: signal => runQuery(query, { signal, ...optionsFor() }), maxBytesBilled };
  // No request waits for a refresh, and every caller gets its rows: it yields to callers' queries and has the saved query's own limit.
  const refreshLoad: Load = {
    run: signal =>
      runQuery(query, {
        signal,
        labels: labels(),
        maxBytesBilled: endpointLimit,
        priority: 'background',
      }),
    maxBytesBilled: endpointLimit,
  };
  return { load, refreshLoad, optionsFor };
}

function findServed({ endpoints, redactKinds }: PlanDeps, reference: string, caller: Caller): ServedEndpoint {
  const { version } = endpoints;
  try {
    return { definition: findEndpoint(endpoints, reference, caller), version };
  } catch (thrown) {
    // Without a saved query, the gateway's default kinds are redacted.
    throw redactError(thrown, redactKinds);
  }
}

/** The query that a worker runs for one key, without a caller. */
export type WarmPlan = {
  readonly query: BoundQuery;
  /** Makes the request to the cache, whose query is run by `runQuery`. */
  readonly cacheRequest: (runQuery: RunQuery) => CacheRequest;
};

type WarmPlanDeps = {
  readonly endpoints: Pick<EndpointRegistry, 'find'>;
  /** Milliseconds one query may take. */
  readonly queryTimeoutMs: number;
};

/**
 * Plans the warming of a key: under the endpoint's own name, and within its own limit of bytes.
 * @param payload as the schedule holds it: the endpoint's UUID and canonical parameters, `sql` among them, as JSON
 * @returns undefined if no endpoint takes these parameters any more
 */
export function planWarming(
  { endpoints, queryTimeoutMs }: WarmPlanDeps,
  payload: string,
): WarmPlan | undefined {
  const query = readPayload(endpoints, payload);
  if (!query) return undefined;
  const { name: endpoint, maxBytesBilled } = query.definition;
  const labels = labelsOf({}, { endpoint, tokenId: 'worker' });
  return {
    query,
    cacheRequest(runQuery) {
      const run = (signal: AbortSignal) => runQuery(query, { signal, labels, maxBytesBilled });
      const load = { run, maxBytesBilled };
      return cacheRequestOf(queryTimeoutMs, query, { load, refreshLoad: load });
    },
  };
}

function readPayload(endpoints: Pick<EndpointRegistry, 'find'>, payload: string): BoundQuery | undefined {
  try {
    const { endpoint, parameters } = JSON.parse(payload);
    const definition = endpoints.find(endpoint);
    return definition && bindQuery(definition, parameters, undefined);
  } catch {
    return undefined;
  }
}

/**
 * Finds an endpoint by name or UUID.
 * @param caller the message suggests a similar name among those that this caller may read; absent: among all
 * @throws GatewayError `endpoint_not_found`
 */
export function findEndpoint(
  endpoints: Pick<EndpointRegistry, 'all' | 'find' | 'broken'>,
  reference: string,
  caller: Pick<Caller, 'endpoints' | 'fixedParameters'> = {},
): EndpointDefinition {
  const definition = endpoints.find(reference);
  if (definition) return definition;
  const isBroken = endpoints.broken.some(({ file }) => file === `${reference}.sql`);
  // Only the names of files are matched against the token's globs: the cost of matching grows faster than the square of a text's length, and
  // callers may send any. What parameters a broken file takes is unknown, so a token that fixes some must not learn of it.
  if (isBroken && coversEndpoint(caller, reference) && !caller.fixedParameters) {
    throw new GatewayError('endpoint_not_found', `Saved query ${reference} is not served: its file is wrong`);
  }
  const names = endpoints.all().flatMap(each => (mayRead(caller, each) ? [each.name] : []));
  throw new GatewayError(
    'endpoint_not_found',
    `No endpoint has the name or UUID ${quoted(reference)}${didYouMean(reference, names)}`,
  );
}

/** Whether a token may read a saved query: its scope covers the name, and the saved query takes all parameters that the token fixes. */
export function mayRead(
  caller: Pick<Caller, 'endpoints' | 'fixedParameters'>,
  { name, parameters }: Pick<EndpointDefinition, 'name' | 'parameters'>,
): boolean {
  const names = parameters.map(parameter => parameter.name);
  return (
    coversEndpoint(caller, name) &&
    Object.keys(caller.fixedParameters ?? {}).every(fixed => names.includes(fixed))
  );
}

/** The smaller of two limits, of which either may be absent. */
function smaller(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

/** Makes the request to the cache for a query, with the runs to use if the cache has no answer. */
function cacheRequestOf(
  queryTimeoutMs: number,
  { definition, callerSql, key }: BoundQuery,
  { load, refreshLoad }: { readonly load: Load; readonly refreshLoad: Load },
  caller?: string,
): CacheRequest {
  const { name: endpoint, cacheSeconds, staleSeconds, staleIfErrorSeconds } = definition;
  const lifetimes = {
    freshMs: cacheSeconds * 1000,
    staleMs: staleSeconds * 1000,
    staleIfErrorMs: staleIfErrorSeconds * 1000,
  };
  return { endpoint, key, caller, callerSql, lifetimes, waitMs: queryTimeoutMs, load, refreshLoad };
}

/** The labels that the gateway itself gives every query. */
type QueryFacts = {
  readonly endpoint: string;
  readonly tokenId: string;
};

/**
 * Reads `LF-ENDPOINT-LABELS: key=value,key=value`. Labels serve accounting, not access: keys that are not allowed and text that
 * is not a pair are dropped, and never fail a request. The last of two equal keys wins.
 * @param allowed keys that the endpoint takes
 * @returns values as sent: the warehouse decides which text a label may hold
 */
function readLabels(
  allowed: readonly string[],
  header: string | undefined,
): Readonly<Record<string, string>> {
  if (header === undefined || allowed.length === 0) return {};
  const labels: Record<string, string> = {};
  for (const pair of header.split(',')) {
    const at = pair.indexOf('=');
    const key = pair.slice(0, Math.max(at, 0)).trim().toLowerCase();
    if (allowed.includes(key)) labels[key] = pair.slice(at + 1).trim();
  }
  return labels;
}

/** The request for which a query runs, as its labels name it; absent for a run in the background. */
type LabelledRequest = Pick<EndpointRequest, 'requestId' | 'facts'>;

/** The labels of one query: those of the caller, and the gateway's own, which win. */
function labelsOf(
  callers: Readonly<Record<string, string>>,
  { endpoint, tokenId }: QueryFacts,
  request?: LabelledRequest,
): Readonly<Record<string, string>> {
  const own: Record<string, string> = { endpoint, token_id: tokenId };
  if (request) own.request_id = request.requestId;
  if (request?.facts.traceId !== undefined) own.trace_id = request.facts.traceId;
  return { ...callers, ...own };
}
