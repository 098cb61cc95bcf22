import { GatewayError, type SqlPosition, toGatewayError } from '../base/errors.ts';
import { statementOf } from '../batch/endpoint-query.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import { boundWindow } from '../engine/bound-window.ts';
import type { Explanation, QueryParameter } from '../engine/engine.ts';
import { type EndpointQuestion, type Plan, type PlanDeps, planRequest } from './plan-request.ts';
import { redactError } from './redact-error.ts';
import { startStages } from './stages.ts';

/** What an endpoint would do for a question, found out without running a query. */
export type ExplainedEndpoint = {
  readonly endpoint: EndpointDefinition;
  /** What the engine says of the statement, or what is wrong with it. */
  readonly verdict: Explanation | RefusedStatement;
  /** Canonical values of the declared parameters, as they are bound. */
  readonly parameters: readonly QueryParameter[];
  /** SHA-256 that names the cache entry, hexadecimal. */
  readonly cacheKey: string;
  /** Bytes that the query may be billed: the smaller of the endpoint's and the token's limit; absent: no limit. */
  readonly maxBytesBilled: number | undefined;
};

/** The engine would not run the statement. */
export type RefusedStatement = {
  readonly code: 'invalid_query' | 'sandbox_refused';
  readonly message: string;
  readonly position: SqlPosition | undefined;
};

/**
 * Explains a question as `runEndpoint` would answer it, for tokens with the scope `explain`: no query runs, and the cache is
 * not read. SQL that the engine refuses is a verdict, not a failure.
 * @throws GatewayError `unauthorized`, `forbidden`, `endpoint_not_found`, `invalid_parameter`, and what a broken or absent
 * engine throws
 */
export async function explainEndpoint(
  deps: PlanDeps,
  question: EndpointQuestion & { readonly requestId: string; readonly signal: AbortSignal },
): Promise<ExplainedEndpoint> {
  const { scopes } = deps.tokens.authenticate(question.credentials);
  if (!scopes.has('explain')) {
    throw new GatewayError('forbidden', 'The access token lacks the scope "explain"');
  }
  const plan = await planRequest(deps, question, startStages());
  const { definition, query } = plan;
  const { parameters } = query;
  return {
    endpoint: definition,
    verdict: await judge(deps, plan, question),
    parameters: definition.window ? boundWindow(definition.window, parameters, deps.clock.now()) : parameters,
    cacheKey: plan.cacheRequest.key.digest,
    maxBytesBilled: plan.maxBytesBilled,
  };
}

async function judge(
  { engine, queryTimeoutMs: timeoutMs }: PlanDeps,
  { caller, query, labels, maxBytesBilled, redact }: Plan,
  { requestId, signal }: { readonly requestId: string; readonly signal: AbortSignal },
): Promise<Explanation | RefusedStatement> {
  try {
    const options = { signal, timeoutMs, caller: caller.tokenId, labels: labels(requestId), maxBytesBilled };
    return await engine.explain(statementOf(query), options);
  } catch (thrown) {
    const error = redactError(thrown, redact);
    const { code, message, position } = toGatewayError(error);
    if (code === 'invalid_query' || code === 'sandbox_refused') return { code, message, position };
    throw error;
  }
}
