import { countRequests } from '../auth/usage/meters.ts';
import { openClaims } from '../base/byte-shares.ts';
import { toGatewayError } from '../base/errors.ts';
import type { Column, Receipt, ResultSet } from '../base/rows.ts';
import { inSpan, isTracing, type Stage, type Stages, startStages } from '../base/spans.ts';
import type { JoinedCallers } from '../base/turns.ts';
import type { EndpointQuery, RunStatement } from '../batch/run-queries.ts';
import { type Cache, type CacheAnswer, flightOf } from '../cache/cache.ts';
import type { CacheRequest } from '../cache/cache-request.ts';
import { type Entry, renderBody } from '../cache/entry.ts';
import type { SingleFlight } from '../cache/single-flight.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import { fitsWindow } from '../engine/bound-window.ts';
import type { Engine } from '../engine/engine.ts';
import { addFacts, type RequestFacts } from '../http-messages/request-context.ts';
import type { Redactor } from '../redaction/redactor.ts';
import type { CacheState, PipelineEvent } from './pipeline-events.ts';
import { type EndpointRequest, type Plan, type PlanDeps, planRequest } from './plan-request.ts';
import { type Rendered, type Representation, redactError, representationOf } from './representation.ts';

export type PipelineDeps = PlanDeps & {
  /** For requests that check or explain a query, or list subsets, instead of running it. */
  readonly engine: Pick<Engine, 'check' | 'explain' | 'subsets' | 'tablesVersion'>;
  /** For handlers that batch the queries of one operation themselves. */
  readonly runStatement: RunStatement;
  readonly cache: Cache;
  /** Runs of uncached endpoints whose definition lets callers share them (`coalesce`). */
  readonly sharedRuns: SingleFlight<Rendered>;
  readonly redactor: Redactor;
  /** Records a read of a warmed endpoint; must cost next to nothing. */
  readonly recordRead?: (digest: string, query: EndpointQuery) => void;
  readonly emit: (event: PipelineEvent) => void;
};

/** The answer to an EndpointRequest, ready for any handler to send. */
export type Answer = {
  /** What the request meant; reused for identical requests. */
  readonly plan: Plan;
  readonly endpoint: EndpointDefinition;
  readonly columns: readonly Column[];
  readonly rowCount: number;
  /** Whether the query had more rows than the endpoint's `maxRows`. */
  readonly isTruncated: boolean;
  /** `{"result":[…]}`, UTF-8, redacted if the request requires it; the same object as long as the entry is the same. */
  readonly body: Buffer;
  /** Equal for equal bodies; absent if the endpoint is not cached. */
  readonly bodyDigest: string | undefined;
  /** The rows as the query returned them, or the cache entry, by whose identity `repeatAnswers` recognises them. */
  readonly rows: Rendered | Entry;
  readonly cache: { readonly state: CacheState; readonly ageSeconds: number };
  /** Whether rows were loaded since its query began: no cache may keep it as fresh. */
  readonly isOutdated: boolean;
  /** The cost of the query that this answer waited for; absent if it came from the cache. */
  readonly receipt: Receipt | undefined;
  /** How long each stage of the pipeline took, in order. */
  readonly stages: readonly Stage[];
};

/**
 * The path of every request: token → endpoint → parameters → cache → engine → redaction.
 * @param known the plan of an earlier identical request, reused while it is current
 * @throws GatewayError with a code of `errorCodes`; any other error becomes `internal`
 */
export async function runEndpoint(
  deps: PipelineDeps,
  request: EndpointRequest,
  known?: Plan,
): Promise<Answer> {
  const stages = startStages();
  let plan = known && isPlanCurrent(deps, known) ? known : undefined;
  try {
    if (plan && !request.isCounted) countRequests(plan.caller.meter, 1);
    plan ??= await planRequest(deps, request, stages);
    const read = await tracedRead(deps, plan, request);
    const { rows, state } = read;
    stages.done(state === 'miss' || state === 'off' ? 'query' : 'cache');
    const by = { caller: plan.caller.tokenId, signal: request.signal };
    const shown = await representationOf(rows, plan.redact, deps.redactor, by);
    if (plan.redact) stages.done('redact');
    const answer = toAnswer(deps, plan, read, shown, stages.list());
    announce(deps, answer, request.requestId, stages.totalMs());
    noteAnswer(request.facts, answer);
    return answer;
  } catch (thrown) {
    throw failed(deps, request, stages, redactError(thrown, plan?.redact));
  }
}

/**
 * The fast path of hits: repeats answers while the entry of each one is still in this process's memory, and fresh.
 * @param confirmedSinceMs if `confirmAnswers` has confirmed the entries, when it began, as `performance.now()`
 * @returns undefined if one of them has to go through `runEndpoint`
 */
export function repeatAnswers(
  deps: PipelineDeps,
  answers: readonly Answer[],
  requestId: string,
  confirmedSinceMs?: number,
): Answer[] | undefined {
  const startedMs = confirmedSinceMs ?? performance.now();
  if (!answers.every(({ plan }) => isPlanCurrent(deps, plan))) return undefined;
  if (confirmedSinceMs === undefined && !answers.every(answer => isInMemory(deps, answer))) return undefined;
  // All answers of a request have one caller. If its limits refuse the request, `runEndpoint` throws the error.
  if (answers[0]?.plan.caller.meter?.admit(answers.length)) return undefined;
  const ms = performance.now() - startedMs;
  return answers.map(({ plan, rows, body, bodyDigest: digest }) => {
    const answer = toAnswer(deps, plan, { rows, state: 'hit' }, { body, digest }, [{ name: 'cache', ms }]);
    announce(deps, answer, requestId, ms);
    return answer;
  });
}

/** The facts for the log line of a request that `repeatAnswers` answers. */
export function factsOfRepeat(answers: readonly Answer[]): RequestFacts {
  const facts: RequestFacts = {};
  for (const answer of answers) noteAnswer(facts, { ...answer, cache: { ...answer.cache, state: 'hit' } });
  return facts;
}

function noteAnswer(facts: RequestFacts, { plan, endpoint, cache, rowCount: rows }: Answer): void {
  addFacts(facts, { endpoint: endpoint.name, tokenId: plan.caller.tokenId, cache: cache.state, rows });
}

/** Whether all answers are cache entries, so that `repeatAnswers` can repeat them. */
export function areRepeatable(deps: PipelineDeps, answers: readonly Answer[]): boolean {
  return answers.every(answer => {
    const { plan, rows, cache } = answer;
    return !plan.mustLoad && 'version' in rows && (cache.state === 'hit' || isInMemory(deps, answer));
  });
}

/**
 * Asks the store whether the entries of answers are still current and fresh.
 * @param answers for which `areRepeatable` is true
 */
export async function confirmAnswers({ cache }: PipelineDeps, answers: readonly Answer[]): Promise<boolean> {
  const all = answers.map(({ plan, rows }) => 'version' in rows && cache.confirm(plan.cacheRequest, rows));
  return (all.length === 1 ? [await all[0]] : await Promise.all(all)).every(Boolean);
}

function isInMemory({ cache }: PipelineDeps, { plan, rows }: Answer): boolean {
  return cache.peek(plan.cacheRequest) === rows;
}

/**
 * Whether an identical request still has this plan: the token is still accepted, no definition has changed, and the endpoint's
 * window still allows the parameters.
 */
function isPlanCurrent({ tokens, endpoints, clock }: PlanDeps, plan: Plan): boolean {
  const { caller, endpointsVersion, definition, query } = plan;
  if (!tokens.isCurrent(caller) || endpoints.version !== endpointsVersion) return false;
  return !definition.window || fitsWindow(definition.window, query.parameters, clock.now());
}

type ReadRows = {
  readonly rows: Rendered | Entry;
  readonly state: CacheState;
  readonly receipt?: Receipt | undefined;
  readonly isOutdated?: boolean;
};

/** `readRows` within a span; an uncached endpoint has only the span of its query. */
function tracedRead(deps: PipelineDeps, plan: Plan, asked: EndpointRequest): Promise<ReadRows> {
  const { name, cacheSeconds } = plan.definition;
  if (cacheSeconds === 0 || !isTracing()) return readRows(deps, plan, asked);
  return inSpan('cache read', { attributes: { 'saved_query.endpoint': name } }, async span => {
    const found = await readRows(deps, plan, asked);
    span.setAttribute('saved_query.cache.state', found.state);
    return found;
  });
}

/** Reads rows from the cache, or from a query if the cache has none or the endpoint is not cached. */
async function readRows(
  deps: PipelineDeps,
  { caller: { meter, tokenId }, definition, cacheRequest, mustLoad, query, optionsFor, redact }: Plan,
  asked: EndpointRequest,
): Promise<ReadRows> {
  const { signal: caller, runQuery = deps.runQuery } = asked;
  const run = async (signal: AbortSignal, joined?: JoinedCallers) => {
    const result = await runQuery(query, { signal, joined, ...optionsFor(asked) });
    const bytes = costOf(result);
    meter?.addBytes(bytes);
    deps.emit({ type: 'token.spent', tokenId, bytes });
    return result;
  };
  const request = { ...cacheRequest, load: { ...cacheRequest.load, run } };
  if (definition.cacheSeconds === 0) {
    const refusal = meter?.quota && (await meter.quota());
    if (refusal) throw refusal;
    const isShared = definition.coalesce && !mustLoad;
    const rows = await runUncached(deps, request, caller, { isShared });
    return { rows, state: 'off', receipt: rows.receipt };
  }
  const makers = [redact && deps.redactor.claim, asked.claim].filter(claim => claim !== undefined);
  const { claim, end } = openClaims(makers.map(make => bytes => make(tokenId, bytes)));
  const { entry: rows, ...answer }: CacheAnswer = await deps.cache
    .read({ ...request, claim }, { signal: caller, mustLoad, refusal: meter?.quota })
    .finally(end);
  return { rows, ...answer };
}

/** The bytes that count against a token's limit: those billed, or else read, or else those of the result. */
function costOf({ receipt, rowsJson }: ResultSet): number {
  return receipt?.bytesBilled ?? receipt?.bytesProcessed ?? rowsJson.length;
}

/** Runs the query, or shares the run of concurrent requests. */
async function runUncached(
  deps: PipelineDeps,
  cacheRequest: CacheRequest,
  signal: AbortSignal,
  { isShared }: { readonly isShared: boolean },
): Promise<Rendered> {
  const run = async (inner: AbortSignal, joined?: JoinedCallers): Promise<Rendered> => {
    const createdAtMs = deps.clock.now();
    const { rowsJson, body, isTruncated = false, ...result } = await cacheRequest.load.run(inner, joined);
    return { ...result, isTruncated, createdAtMs, body: body ?? (await renderBody(rowsJson)) };
  };
  return isShared ? deps.sharedRuns(flightOf(cacheRequest), signal, run, cacheRequest.caller) : run(signal);
}

function toAnswer(
  { clock }: PipelineDeps,
  plan: Plan,
  { rows, state, receipt, isOutdated = false }: ReadRows,
  { body, digest: bodyDigest }: Representation,
  stages: readonly Stage[],
): Answer {
  const { definition: endpoint } = plan;
  const { columns, rowCount, isTruncated, createdAtMs } = rows;
  const ageSeconds = Math.max(0, Math.floor((clock.now() - createdAtMs) / 1000));
  const cache = { state, ageSeconds };
  const shown = { body, bodyDigest, columns, rowCount, isTruncated, isOutdated };
  return { plan, endpoint, rows, cache, receipt, stages, ...shown };
}

function isFromCache(state: CacheState): boolean {
  return state !== 'miss' && state !== 'off';
}

/** Reports an answer: to the collector of hot keys, and as an event. */
function announce(deps: PipelineDeps, answer: Answer, requestId: string, ms: number): void {
  const { plan, endpoint, cache, rows, rowCount, stages } = answer;
  if (endpoint.warmSeconds > 0) deps.recordRead?.(plan.query.key.digest, plan.query);
  deps.emit({
    type: 'endpoint.answered',
    requestId,
    endpoint: endpoint.name,
    tokenId: plan.caller.tokenId,
    cache: cache.state,
    rows: rowCount,
    isWarmed: rows.isWarmed ?? false,
    savedBytes: isFromCache(cache.state) ? (rows.readBytes ?? 0) : 0,
    stages,
    ms,
  });
}

function failed(
  deps: PipelineDeps,
  { requestId, endpoint: asked }: EndpointRequest,
  stages: Stages,
  thrown: unknown,
): Error {
  const error = toGatewayError(thrown);
  const { code, cause } = error;
  const endpoint = typeof asked === 'string' ? asked : asked.definition.name;
  deps.emit({ type: 'endpoint.failed', requestId, endpoint, code, ms: stages.totalMs(), cause });
  return error;
}
