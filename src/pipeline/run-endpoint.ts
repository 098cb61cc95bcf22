import type { Tokens } from '../auth/tokens.ts';
import type { Clock } from '../clock.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import type { Engine } from '../engine/engine.ts';
import { GatewayError, toGatewayError } from '../errors.ts';
import { redactRowsJson } from '../redaction/redact-rows-json.ts';
import type { Column } from '../rows.ts';
import { bindParameters, type RawParameters, readCallerSql } from './bind-parameters.ts';
import { cacheKey } from './cache-key.ts';
import type { CacheState, PipelineEvent } from './pipeline-events.ts';
import { type ReadThroughDeps, readThrough } from './read-through.ts';
import { type Stage, startStages } from './stages.ts';

export type PipelineDeps = ReadThroughDeps & {
  readonly tokens: Tokens;
  readonly endpoints: Pick<EndpointRegistry, 'find'>;
  readonly engine: Pick<Engine, 'run'>;
  readonly clock: Clock;
  readonly emit: (event: PipelineEvent) => void;
  /** Milliseconds one query may take. */
  readonly queryTimeoutMs: number;
};

/** One question to one saved query, by whichever door it came. */
export type EndpointRequest = {
  readonly requestId: string;
  /** The access token as presented; absent when there was none. */
  readonly credentials: string | undefined;
  /** Name or UUID of the endpoint. */
  readonly endpoint: string;
  /** Called once the caller and the endpoint are known: what may carry parameters depends on the endpoint. */
  readonly readInput: (definition: EndpointDefinition) => RequestInput | Promise<RequestInput>;
  /** Aborted when the caller goes away. */
  readonly signal: AbortSignal;
};

/** What a caller asks of an endpoint, not yet validated. */
export type RequestInput = {
  readonly parameters: RawParameters;
  /** Overrides the endpoint's setting for this request (contract section 2). */
  readonly redactPii: boolean | undefined;
};

/** The answer to an EndpointRequest, ready for any door to send. */
export type Answer = {
  readonly endpoint: EndpointDefinition;
  readonly columns: readonly Column[];
  readonly rowCount: number;
  /** `{"result":[…]}`, UTF-8, redacted where asked for. */
  readonly body: Buffer;
  readonly cache: { readonly state: CacheState; readonly ageSeconds: number };
  /** What the pipeline spent its time on, in order. */
  readonly stages: readonly Stage[];
};

/**
 * The path of every request: who asks → which endpoint → with which parameters → cache → engine → redaction.
 * @throws GatewayError with a code of `errorCodes`; anything else thrown below comes out as `internal`
 */
export async function runEndpoint(deps: PipelineDeps, request: EndpointRequest): Promise<Answer> {
  const stages = startStages();
  try {
    const caller = deps.tokens.authenticate(request.credentials);
    const definition = findEndpoint(deps, request.endpoint);
    stages.done('auth');

    const input = await request.readInput(definition);
    const parameters = bindParameters(definition, input.parameters);
    const callerSql = readCallerSql(definition, input.parameters);
    stages.done('params');

    const { entry, state } = await readThrough(deps, cacheKey(definition, parameters, callerSql), {
      cacheSeconds: definition.cacheSeconds,
      signal: request.signal,
      load: signal =>
        deps.engine.run(
          {
            endpoint: definition.name,
            sql: definition.sql,
            callerSql,
            parameters,
            maxRows: definition.maxRows,
          },
          { signal, timeoutMs: deps.queryTimeoutMs },
        ),
    });
    stages.done(state === 'hit' ? 'cache' : 'query');

    const redact = input.redactPii ?? definition.redactPii;
    const body = redact ? redactRowsJson(entry.body) : entry.body;
    if (redact) stages.done('redact');

    const { requestId } = request;
    const { columns, rowCount } = entry;
    const ageSeconds = Math.max(0, Math.floor((deps.clock.now() - entry.createdAtMs) / 1000));
    deps.emit({
      type: 'endpoint.answered',
      requestId,
      endpoint: definition.name,
      tokenId: caller.tokenId,
      cache: state,
      rows: rowCount,
      ms: stages.totalMs(),
    });
    return {
      endpoint: definition,
      columns,
      rowCount,
      body,
      cache: { state, ageSeconds },
      stages: stages.list(),
    };
  } catch (thrown) {
    const error = toGatewayError(thrown);
    deps.emit({
      type: 'endpoint.failed',
      requestId: request.requestId,
      endpoint: request.endpoint,
      code: error.code,
      ms: stages.totalMs(),
      cause: error.cause,
    });
    throw error;
  }
}

function findEndpoint({ endpoints }: PipelineDeps, reference: string): EndpointDefinition {
  const definition = endpoints.find(reference);
  if (definition) return definition;
  const shown = reference.length > 60 ? `${reference.slice(0, 60)}…` : reference;
  throw new GatewayError('endpoint_not_found', `No endpoint has the name or UUID ${JSON.stringify(shown)}`);
}
