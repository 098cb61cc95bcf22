import type { Clock } from '../base/clock.ts';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import type { Engine } from './engine.ts';

/** The engine went away or came back; one event for each change. */
export type EngineGuardEvent =
  | { readonly type: 'engine.down'; readonly failures: number }
  | { readonly type: 'engine.up' };

type GuardOptions = {
  readonly clock: Clock;
  readonly emit: (event: EngineGuardEvent) => void;
  /** Queries in a row that found the engine unavailable before it is left alone. Default 5. */
  readonly maxFailures?: number;
  /** Milliseconds it is left alone; then one query tries. Default 5000. */
  readonly backoffMs?: number;
};

/**
 * Guards an engine with a circuit breaker: while it is known to be away, queries are refused at once as `unavailable`, so that
 * nobody waits for it in vain and the cache can serve what it has. Only `unavailable` counts: what one query did wrong, or
 * took too long for, says nothing of the next. Explaining one is refused, and counts, alike. How many queries run at a time is for the engine itself to bound.
 */
export function guardEngine(engine: Engine, options: GuardOptions): Engine {
  const { clock, emit, maxFailures = 5, backoffMs = 5000 } = options;
  let failures = 0;
  let closedUntilMs = 0;

  function rejectWhileDown(): void {
    if (failures < maxFailures || clock.now() >= closedUntilMs) return;
    throw new GatewayError('unavailable', 'The query engine does not answer; it is tried again in a moment');
  }

  function note(isAvailable: boolean): void {
    const wasDown = failures >= maxFailures;
    failures = isAvailable ? 0 : failures + 1;
    if (failures >= maxFailures) closedUntilMs = clock.now() + backoffMs;
    if (wasDown && isAvailable) emit({ type: 'engine.up' });
    if (!wasDown && failures >= maxFailures) emit({ type: 'engine.down', failures });
  }

  return {
    async run(statement, runOptions) {
      rejectWhileDown();
      // This query tries; the others go on being refused.
      closedUntilMs = clock.now() + backoffMs;
      try {
        const result = await engine.run(statement, runOptions);
        note(true);
        return result;
      } catch (error) {
        const { code } = toGatewayError(error);
        // Who left says nothing of the engine.
        if (code !== 'cancelled') note(code !== 'unavailable');
        throw error;
      }
    },
    describe: statement => engine.describe(statement),
    async explain(statement, explainOptions) {
      rejectWhileDown();
      try {
        // An engine may know the answer without being asked: success says nothing of the next query.
        return await engine.explain(statement, explainOptions);
      } catch (error) {
        if (toGatewayError(error).code === 'unavailable') note(false);
        throw error;
      }
    },
    close: () => engine.close(),
  };
}
