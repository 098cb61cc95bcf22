import { requireScope } from '../auth/caller.ts';
import { startStages } from '../base/spans.ts';
import { statementOf } from '../batch/run-queries.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import { boundWindow } from '../engine/bound-window.ts';
import type { Engine, Explanation, QueryParameter } from '../engine/engine.ts';
import { type EndpointRequest, type Plan, type PlanDeps, planRequest } from './plan-request.ts';
import { type RefusedStatement, refusalOf } from './refused-statement.ts';
import { redactError } from './representation.ts';

/** What an endpoint would do for a request; no query ran to find out. */
export type ExplainedEndpoint = {
  readonly endpoint: EndpointDefinition;
  /** The engine's explanation of the statement, or why it refuses it. */
  readonly verdict: Explanation | RefusedStatement;
  /** Canonical values of the declared parameters, as they are bound. */
  readonly parameters: readonly QueryParameter[];
  /** Digest of the cache key: SHA-256, hexadecimal. */
  readonly cacheKey: string;
  /** Bytes that the query may be billed: the smaller of the endpoint's and the token's limit; absent: no limit. */
  readonly maxBytesBilled: number | undefined;
};

type ExplainDeps = PlanDeps & { readonly engine: Pick<Engine, 'explain'> };

/**
 * Explains what `runEndpoint` would do for a request, for tokens with the scope `explain`: no query runs, and the cache is not
 * read. If the engine refuses the SQL, that is a verdict, not an error.
 * @throws GatewayError as `planRequest`, `forbidden`, and those of a failing engine
 */
export async function explainEndpoint(
  deps: ExplainDeps,
  request: EndpointRequest,
): Promise<ExplainedEndpoint> {
  const caller = request.caller ?? (await deps.tokens.authenticate(request.headers.credentials));
  requireScope(caller, 'explain');
  const plan = await planRequest(deps, { ...request, caller }, startStages());
  const { definition, query } = plan;
  const { parameters, key } = query;
  return {
    endpoint: definition,
    verdict: await judge(deps, plan, request),
    parameters: definition.window ? boundWindow(definition.window, parameters, deps.clock.now()) : parameters,
    cacheKey: key.digest,
    maxBytesBilled: plan.optionsFor().maxBytesBilled,
  };
}

async function judge(
  { engine, queryTimeoutMs: timeoutMs }: ExplainDeps,
  { query, optionsFor, redact }: Plan,
  request: EndpointRequest,
): Promise<Explanation | RefusedStatement> {
  const { signal } = request;
  try {
    return await engine.explain(statementOf(query), { signal, timeoutMs, ...optionsFor(request) });
  } catch (thrown) {
    return refusalOf(redactError(thrown, redact));
  }
}
