import { GatewayError, toGatewayError } from '../base/errors.ts';
import { inSpan } from '../base/spans.ts';
import type { RunStatement } from '../batch/run-queries.ts';
import type { Engine, QueryPriority } from '../engine/engine.ts';
import type { PipelineEvent } from './pipeline-events.ts';

type RunStatementOptions = {
  readonly engine: Pick<Engine, 'run'>;
  readonly emit: (event: PipelineEvent) => void;
  /** Maximum milliseconds of one query. */
  readonly queryTimeoutMs: number;
  /** Priority of statements whose options have none. Default `interactive`. */
  readonly priority?: QueryPriority;
};

/** Makes the function that runs every statement on the engine: within the time left for its query, with events. */
export function createRunStatement(options: RunStatementOptions): RunStatement {
  const { engine, emit, queryTimeoutMs, priority = 'interactive' } = options;
  return async (statement, { startedMs = performance.now(), ...rest }) => {
    const { endpoint } = statement;
    const beganMs = performance.now();
    const tookMs = () => performance.now() - beganMs;
    const timeoutMs = Math.ceil(queryTimeoutMs - (beganMs - startedMs));
    if (timeoutMs <= 0) {
      throw new GatewayError('deadline_exceeded', `The query did not finish within ${queryTimeoutMs} ms`);
    }
    emit({ type: 'engine.query_started', endpoint });
    try {
      const result = await inSpan(
        'engine run',
        { attributes: attributesOf(endpoint, rest.priority ?? priority) },
        async span => {
          const ran = await engine.run(statement, { priority, ...rest, timeoutMs });
          span.setAttribute('db.response.returned_rows', ran.rowCount);
          return ran;
        },
      );
      const { rowCount: rows, rowsJson, receipt } = result;
      const bytes = rowsJson.length;
      emit({ type: 'engine.query', endpoint, outcome: 'ok', ms: tookMs(), rows, bytes, receipt });
      return result;
    } catch (error) {
      const { code: outcome } = toGatewayError(error);
      emit({ type: 'engine.query', endpoint, outcome, ms: tookMs(), rows: 0, bytes: 0 });
      throw error;
    }
  };
}

function attributesOf(endpoint: string, priority: QueryPriority) {
  return { 'saved_query.endpoint': endpoint, 'saved_query.priority': priority };
}
