import type { Clock } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { formatTimestamp } from '../base/format-timestamp.ts';
import { maxTimestamp, minTimestamp, parseTimestamp } from '../base/parse-timestamp.ts';
import type { Duration, Engine, QueryParameter, Statement, Window } from './engine.ts';

/**
 * Wraps an engine so that no statement reaches it without the bounds of its window, whichever caller or path it comes from. Bounds that
 * depend on the current time are set here, when the query runs, so that the cache key contains only what the request said.
 * @throws GatewayError as the engine, and `invalid_parameter` as `boundWindow`
 */
export function enforceWindows(engine: Engine, clock: Clock): Engine {
  const bounded = ({ window, ...statement }: Statement): Statement =>
    window ? { ...statement, parameters: boundWindow(window, statement.parameters, clock.now()) } : statement;
  return {
    ...engine,
    run: async (statement, options) => engine.run(bounded(statement), options),
    explain: async (statement, options) => engine.explain(bounded(statement), options),
  };
}

/**
 * Gives a query both bounds of its window:
 *
 * - without bounds, the last `default` up to now;
 * - with an end alone, `default` before it;
 * - with a start alone, all since then; it may lie no further back than `max`, and the window ends `max` after it.
 *
 * @param parameters canonical values: timestamps as `formatTimestamp` writes them, null where absent
 * @param nowMs milliseconds since 1970
 * @returns the same parameters, with values in the place of absent bounds
 * @throws GatewayError `invalid_parameter` if the bounds are further apart than `max`
 */
export function boundWindow(
  window: Window,
  parameters: readonly QueryParameter[],
  nowMs: number,
): readonly QueryParameter[] {
  const { start, end } = givenBounds(window, parameters);
  if (start !== undefined && isTooWide(window, start, end ?? toMicros(nowMs))) {
    throw tooWide(window, start, end);
  }
  const upper = end ?? (start === undefined ? toMicros(nowMs) : start + microsIn(window.max));
  const lower = start ?? upper - microsIn(window.default);
  const bounds = new Map([
    [window.start, lower],
    [window.end, upper],
  ]);
  return parameters.map(parameter => {
    const micros = bounds.get(parameter.name);
    return micros === undefined ? parameter : { ...parameter, value: formatTimestamp(withinYears(micros)) };
  });
}

/** Whether `boundWindow` would accept the parameters now: a start without an end becomes too old with time. */
export function fitsWindow(window: Window, parameters: readonly QueryParameter[], nowMs: number): boolean {
  const { start, end } = givenBounds(window, parameters);
  return start === undefined || !isTooWide(window, start, end ?? toMicros(nowMs));
}

function givenBounds(window: Window, parameters: readonly QueryParameter[]) {
  return { start: microsOf(parameters, window.start), end: microsOf(parameters, window.end) };
}

function isTooWide({ max }: Window, start: bigint, end: bigint): boolean {
  return end - start > microsIn(max);
}

function toMicros(ms: number): bigint {
  return BigInt(Math.floor(ms)) * 1000n;
}

function microsOf(parameters: readonly QueryParameter[], name: string): bigint | undefined {
  const value = parameters.find(parameter => parameter.name === name)?.value;
  return typeof value === 'string' ? parseTimestamp(value) : undefined;
}

function microsIn({ ms }: Duration): bigint {
  return BigInt(ms) * 1000n;
}

/** Clamps a bound to the range of TIMESTAMP. */
function withinYears(micros: bigint): bigint {
  if (micros < minTimestamp) return minTimestamp;
  return micros > maxTimestamp ? maxTimestamp : micros;
}

function tooWide(window: Window, start: bigint, end: bigint | undefined): GatewayError {
  const before =
    end === undefined
      ? `now, which is the end where "${window.end}" is absent`
      : `"${window.end}", which is "${formatTimestamp(end)}"`;
  const allowed = `at most ${window.max.text} before ${before}`;
  return new GatewayError(
    'invalid_parameter',
    `Parameter "${window.start}" is "${formatTimestamp(start)}"; allowed: ${allowed}`,
  );
}
