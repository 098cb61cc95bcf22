import { type Endpoint, isTime, type Parameter, type Values } from '../api/catalogue.ts';
import { resolveTime } from './time-values.ts';

/** The values to send: without empty ones, with times that move with the clock resolved. */
export function requestValues(endpoint: Endpoint, values: Values, nowMs: number): Values {
  const sent: Record<string, string | readonly string[]> = {};
  for (const parameter of endpoint.parameters) {
    const value = givenValue(parameter, values);
    if (parameter.fixed || value === undefined) continue;
    const isMoving = isTime(parameter) && typeof value === 'string';
    sent[parameter.name] = isMoving ? resolveTime(value, nowMs, parameter.type) : value;
  }
  const { sql } = values;
  if (typeof sql === 'string' && sql.trim() !== '') sent.sql = sql;
  return sent;
}

/** Names of the required parameters that have no value yet. */
export function missingValues({ parameters }: Endpoint, values: Values): string[] {
  return parameters
    .filter(each => each.required && !each.fixed && givenValue(each, values) === undefined)
    .map(({ name }) => name);
}

/**
 * The value of a parameter, without the empty lines of a list; undefined if there is none. A single element is also made a list: the
 * address has it as text, which the gateway would split at its commas.
 */
function givenValue({ name, repeated }: Parameter, values: Values): Values[string] | undefined {
  const value = values[name] ?? '';
  const given = repeated ? [value].flat().filter(Boolean) : value;
  return given.length === 0 ? undefined : given;
}

/** The initial values of a form: those of the sample, and first choices and examples of required parameters. */
export function initialValues({ parameters }: Endpoint, sample: Values): Values {
  const values: Record<string, string | readonly string[]> = {};
  for (const { name, required, examples, values: choices, fixed } of parameters) {
    const value = sample[name] ?? (required ? (examples?.[0] ?? choices?.[0]) : undefined);
    if (value !== undefined && !fixed)
      values[name] = typeof value === 'string' ? value : [...[value].flat()].map(String);
  }
  return values;
}
