import type { Clock } from '../base/clock.ts';
import { boundWindow } from './bound-window.ts';
import type { Engine, Statement } from './engine.ts';

/**
 * Lets no statement reach an engine without the bounds of its window: whoever asks, and by whichever way. Bounds that depend on
 * now are set here, when the query runs, so that the cache key contains only what was asked for.
 * @throws what the engine throws, and `invalid_parameter` as `boundWindow`
 */
export function keepWindows(engine: Engine, clock: Clock): Engine {
  const bounded = ({ window, ...statement }: Statement): Statement =>
    window ? { ...statement, parameters: boundWindow(window, statement.parameters, clock.now()) } : statement;
  return {
    ...engine,
    run: async (statement, options) => engine.run(bounded(statement), options),
    explain: async (statement, options) => engine.explain(bounded(statement), options),
  };
}
