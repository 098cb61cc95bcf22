import { toGatewayError } from '../base/errors.ts';
import type { Column, Receipt } from '../base/rows.ts';
import type { EndpointQuery } from '../batch/endpoint-query.ts';
import type { RunStatement } from '../batch/run-batch.ts';
import type { Cache } from '../cache/cache.ts';
import { type CacheRequest, flightOf } from '../cache/cache-request.ts';
import { type Entry, renderBody } from '../cache/entry.ts';
import type { SingleFlight } from '../cache/single-flight.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { Redactor } from '../redaction/redactor.ts';
import { type Form, formNow, formOf, type Rendered } from './form-of.ts';
import type { CacheState, PipelineEvent } from './pipeline-events.ts';
import {
  type EndpointQuestion,
  isPlanCurrent,
  type Plan,
  type PlanDeps,
  planRequest,
} from './plan-request.ts';
import { redactError } from './redact-error.ts';
import { type Stage, type Stages, startStages } from './stages.ts';

export type PipelineDeps = PlanDeps & {
  /** For doors that gather the queries of one operation themselves. */
  readonly runStatement: RunStatement;
  readonly cache: Cache;
  /** Runs of endpoints that are not cached, for those whose definition lets callers share them. */
  readonly sharedRuns: SingleFlight<Rendered>;
  /** Redacts what would hold the event loop for too long. */
  readonly redactor: Redactor;
  /** Hears of every answer that is worth warming; must cost next to nothing. */
  readonly recordRead?: (digest: string, query: EndpointQuery) => void;
  readonly emit: (event: PipelineEvent) => void;
};

/** A question, and what a door knows of the request that it came with. */
export type EndpointRequest = EndpointQuestion & {
  readonly requestId: string;
  /** Aborted when the caller goes away. */
  readonly signal: AbortSignal;
};

/** The answer to an EndpointRequest, ready for any door to send. */
export type Answer = {
  /** What the request meant; a door may ask `answerAtOnce` or `runPlan` with it. */
  readonly plan: Plan;
  readonly endpoint: EndpointDefinition;
  readonly columns: readonly Column[];
  readonly rowCount: number;
  /** Whether the query had more rows than the endpoint's `maxRows`. */
  readonly isTruncated: boolean;
  /** `{"result":[…]}`, UTF-8, redacted where asked for; the same object as long as the entry is the same. */
  readonly body: Buffer;
  /** Equal for equal bodies; absent where the endpoint is not cached. */
  readonly bodyDigest: string | undefined;
  readonly cache: { readonly state: CacheState; readonly ageSeconds: number };
  /** What the query cost that this answer waited for; absent where it came from the cache: that cost nothing. */
  readonly receipt: Receipt | undefined;
  /** What the pipeline spent its time on, in order. */
  readonly stages: readonly Stage[];
};

/**
 * The path of every request: who asks → which endpoint → with which parameters → cache → engine → redaction.
 * @throws GatewayError with a code of `errorCodes`; anything else thrown below comes out as `internal`
 */
export async function runEndpoint(deps: PipelineDeps, request: EndpointRequest): Promise<Answer> {
  const stages = startStages();
  let plan: Plan | undefined;
  try {
    plan = await planRequest(deps, request, stages);
    return await answerPlan(deps, plan, request, stages);
  } catch (thrown) {
    throw failed(deps, request, stages, redactError(thrown, plan?.redact));
  }
}

/**
 * The shorter path of a request that means what an earlier one meant: cache → engine → redaction.
 * @param plan one for which `isPlanCurrent`
 * @throws as `runEndpoint`
 */
export async function runPlan(
  deps: PipelineDeps,
  plan: Plan,
  request: Pick<EndpointRequest, 'requestId' | 'signal'>,
): Promise<Answer> {
  const stages = startStages();
  try {
    return await answerPlan(deps, plan, request, stages);
  } catch (thrown) {
    const error = redactError(thrown, plan.redact);
    throw failed(deps, { ...request, endpoint: plan.definition.name }, stages, error);
  }
}

/**
 * The shortest path: answers at once where this process has a fresh entry.
 * @param canSend whether the door has all it needs to send this body at once
 * @returns undefined where there is no such entry, or the plan is not current any more
 */
export function answerAtOnce(
  deps: PipelineDeps,
  plan: Plan,
  requestId: string,
  canSend: (body: Buffer) => boolean,
): Answer | undefined {
  const startedMs = performance.now();
  const entry = peekPlan(deps, plan);
  const form = entry && formNow(entry, plan.redact);
  if (!form || !canSend(form.body)) return undefined;
  const ms = performance.now() - startedMs;
  return answered(deps, plan, requestId, entry, form, 'hit', [{ name: 'cache', ms }], ms);
}

/** The body that `answerAtOnce` would give; asked by doors that keep something made of it. */
export function bodyAtOnce(deps: PipelineDeps, plan: Plan): Buffer | undefined {
  const entry = peekPlan(deps, plan);
  return entry && formNow(entry, plan.redact)?.body;
}

function peekPlan(deps: PipelineDeps, plan: Plan): Entry | undefined {
  if (plan.mustLoad || plan.definition.cacheSeconds === 0 || !isPlanCurrent(deps, plan)) return undefined;
  return deps.cache.peek(plan.cacheRequest);
}

async function answerPlan(
  deps: PipelineDeps,
  plan: Plan,
  { requestId, signal }: Pick<EndpointRequest, 'requestId' | 'signal'>,
  stages: Stages,
): Promise<Answer> {
  const { mustLoad } = plan;
  const { load } = plan.cacheRequest;
  const run = (inner: AbortSignal) => plan.run(inner, requestId);
  const cacheRequest = { ...plan.cacheRequest, load: { ...load, run } };
  if (plan.definition.cacheSeconds === 0) {
    const rows = await runUncached(deps, plan, cacheRequest, signal);
    stages.done('query');
    return finish(rows, 'off', rows.receipt);
  }
  const { entry, state, receipt } = await deps.cache.read(cacheRequest, { signal, mustLoad });
  stages.done(state === 'miss' ? 'query' : 'cache');
  return finish(entry, state, receipt);

  async function finish(rows: Rendered, cache: CacheState, receipt: Receipt | undefined): Promise<Answer> {
    const form = await formOf(rows, plan.redact, deps.redactor);
    if (plan.redact) stages.done('redact');
    const answer = answered(deps, plan, requestId, rows, form, cache, stages.list(), stages.totalMs());
    return receipt ? { ...answer, receipt } : answer;
  }
}

/** Every request runs the query, unless the definition lets those that come together share a run. */
async function runUncached(
  deps: PipelineDeps,
  { definition }: Plan,
  cacheRequest: CacheRequest,
  signal: AbortSignal,
): Promise<Rendered> {
  const run = async (inner: AbortSignal): Promise<Rendered> => {
    const createdAtMs = deps.clock.now();
    const { rowsJson, isTruncated = false, ...result } = await cacheRequest.load.run(inner);
    return { ...result, isTruncated, createdAtMs, body: renderBody(rowsJson) };
  };
  return definition.coalesce ? deps.sharedRuns(flightOf(cacheRequest), signal, run) : run(signal);
}

function answered(
  deps: PipelineDeps,
  plan: Plan,
  requestId: string,
  rows: Rendered,
  form: Form,
  state: CacheState,
  stages: readonly Stage[],
  ms: number,
): Answer {
  const { definition, caller } = plan;
  if (definition.warmSeconds > 0) deps.recordRead?.(plan.cacheRequest.key.digest, plan.query);
  const answer: Answer = {
    plan,
    endpoint: definition,
    columns: rows.columns,
    rowCount: rows.rowCount,
    isTruncated: rows.isTruncated,
    body: form.body,
    bodyDigest: form.digest,
    cache: {
      state,
      ageSeconds: Math.max(0, Math.floor((deps.clock.now() - rows.createdAtMs) / 1000)),
    },
    receipt: undefined,
    stages,
  };
  deps.emit({
    type: 'endpoint.answered',
    requestId,
    endpoint: definition.name,
    tokenId: caller.tokenId,
    cache: state,
    rows: rows.rowCount,
    isWarmed: rows.isWarmed ?? false,
    stages,
    ms,
  });
  return answer;
}

function failed(
  deps: PipelineDeps,
  { requestId, endpoint }: Pick<EndpointRequest, 'requestId' | 'endpoint'>,
  stages: Stages,
  thrown: unknown,
): Error {
  const error = toGatewayError(thrown);
  const { code, cause } = error;
  deps.emit({ type: 'endpoint.failed', requestId, endpoint, code, ms: stages.totalMs(), cause });
  return error;
}
