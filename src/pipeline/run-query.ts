import { GatewayError, toGatewayError } from '../base/errors.ts';
import type { ResultSet } from '../base/rows.ts';
import type { QueryTerms } from '../batch/run-batch.ts';
import type { Engine, QueryPriority, Statement } from '../engine/engine.ts';
import type { PipelineEvent } from './pipeline-events.ts';

export type QueryDeps = {
  readonly engine: Pick<Engine, 'run'>;
  readonly emit: (event: PipelineEvent) => void;
  /** Milliseconds one query may take. */
  readonly queryTimeoutMs: number;
  /** Default `interactive`. */
  readonly priority?: QueryPriority;
};

/** Runs one statement on the engine in what is left of its time, and says that it ran. Throws what the engine throws. */
export async function runQuery(
  { engine, emit, queryTimeoutMs, priority = 'interactive' }: QueryDeps,
  statement: Statement,
  { startedMs: begunMs = performance.now(), ...options }: QueryTerms,
): Promise<ResultSet> {
  const { endpoint } = statement;
  const startedMs = performance.now();
  const tookMs = () => performance.now() - startedMs;
  const timeoutMs = Math.ceil(queryTimeoutMs - (startedMs - begunMs));
  if (timeoutMs <= 0) {
    throw new GatewayError('deadline_exceeded', `The query did not finish within ${queryTimeoutMs} ms`);
  }
  emit({ type: 'engine.query_started', endpoint });
  try {
    const result = await engine.run(statement, { priority, ...options, timeoutMs });
    const { rowCount: rows, rowsJson, receipt } = result;
    const bytes = rowsJson.length;
    emit({ type: 'engine.query', endpoint, outcome: 'ok', ms: tookMs(), rows, bytes, receipt });
    return result;
  } catch (error) {
    const { code: outcome } = toGatewayError(error);
    emit({ type: 'engine.query', endpoint, outcome, ms: tookMs(), rows: 0, bytes: 0 });
    throw error;
  }
}
