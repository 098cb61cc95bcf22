import type { Clock } from '../base/clock.ts';
import { type ErrorCode, GatewayError, toGatewayError } from '../base/errors.ts';
import type { Engine } from './engine.ts';

/** The engine went away or came back; one event for each change. */
export type EngineGuardEvent =
  | { readonly type: 'engine.down'; readonly failures: number }
  | { readonly type: 'engine.up' };

/** An engine behind a circuit breaker. */
export type GuardedEngine = Engine & {
  /** Whether queries are refused at once, because the engine did not answer several times in a row. */
  readonly isDown: boolean;
};

type GuardOptions = {
  readonly clock: Clock;
  readonly emit: (event: EngineGuardEvent) => void;
  /** The circuit opens after this many `unavailable` failures in a row. Default 5. */
  readonly maxFailures?: number;
  /** Milliseconds the circuit stays open; then one query is tried. Default 5000. */
  readonly backoffMs?: number;
};

/**
 * Guards an engine with a circuit breaker: while it is open, queries are refused at once as `unavailable`, so that
 * no caller waits in vain and the cache can serve stale entries. Only `unavailable` counts, unless it is about a single source: an
 * invalid or slow query says nothing about the next one. `explain` is refused, and its failures count, in the same way. The engine
 * itself limits concurrency.
 */
export function guardEngine(engine: Engine, options: GuardOptions): GuardedEngine {
  const { clock, emit, maxFailures = 5, backoffMs = 5000 } = options;
  let failures = 0;
  let openUntilMs = 0;

  function rejectWhileDown(): void {
    const leftMs = openUntilMs - clock.now();
    // More than the back-off can only remain if the clock was set back.
    if (failures < maxFailures || leftMs <= 0 || leftMs > backoffMs) return;
    throw new GatewayError('unavailable', 'The query engine does not answer; it is tried again in a moment');
  }

  function record(isAvailable: boolean): void {
    const wasDown = failures >= maxFailures;
    failures = isAvailable ? 0 : failures + 1;
    if (failures >= maxFailures) openUntilMs = clock.now() + backoffMs;
    if (wasDown && isAvailable) emit({ type: 'engine.up' });
    if (!wasDown && failures >= maxFailures) emit({ type: 'engine.down', failures });
  }

  return {
    get isDown() {
      return failures >= maxFailures;
    },
    async run(statement, runOptions) {
      rejectWhileDown();
      const isTrial = failures >= maxFailures;
      // This query is the trial; the others are still refused.
      openUntilMs = clock.now() + backoffMs;
      try {
        const result = await engine.run(statement, runOptions);
        record(true);
        return result;
      } catch (error) {
        const isUp = showsUp(error);
        if (isUp !== undefined) record(isUp);
        // The outcome says nothing about the engine: the next query is the trial.
        else if (isTrial) openUntilMs = clock.now();
        throw error;
      }
    },
    describe: statement => engine.describe(statement),
    subsets: statement => engine.subsets(statement),
    tablesVersion: () => engine.tablesVersion(),
    check: (statement, options) => engine.check(statement, options),
    async explain(statement, explainOptions) {
      rejectWhileDown();
      try {
        // An engine may answer from memory, so success says nothing about the next query.
        return await engine.explain(statement, explainOptions);
      } catch (error) {
        if (showsUp(error) === false) record(false);
        throw error;
      }
    },
    usage: () => engine.usage(),
    close: () => engine.close(),
  };
}

/** Failures that prove that the engine answers. All others may have happened before it was asked: in the front-end, the queue, by a deadline or a caller who left. */
const provingCodes: ReadonlySet<ErrorCode> = new Set(['engine_failed', 'result_too_large']);

/** Whether a failure shows that the engine is up; undefined if it shows neither. */
function showsUp(error: unknown): boolean | undefined {
  const { code, isSourceFailure } = toGatewayError(error);
  if (code === 'unavailable') return isSourceFailure ? undefined : false;
  return provingCodes.has(code) ? true : undefined;
}
