import type { QueryParameter } from '../engine/engine.ts';
import type { EndpointDefinition } from './definition.ts';
import { typedParameter, withoutValue } from './parameters/typed-parameter.ts';

/**
 * The parameters of a batch form (contract 7.1), for a declared parameter `x`:
 *
 * - `@xs`: its values, an ARRAY of its type;
 * - where `x` is a regular expression, also `@xs_plain`, those that are at least 12 letters and digits and nothing else;
 * - `@xs_shortest`, the length of the shortest of these as a decimal number, 0 without any;
 * - `@xs_elsewhere`, a pattern of what follows that many characters behind `https://` in a URL where a plain value may stand
 *   anywhere else: where it does not match, the URL contains a plain value only if it is these characters;
 * - `@xs_patterns`, the values that are not plain, and `@xs_any`, one pattern that matches where any of these does.
 *
 * The other parameters keep their values.
 * @param values different, valid values
 * @param others parameters of the saved query, of which that of the batch is left out
 */
export function bindBatch(
  { batch, parameters }: Pick<EndpointDefinition, 'batch' | 'parameters'>,
  values: readonly string[],
  others: readonly QueryParameter[],
): QueryParameter[] {
  const name = batch?.parameter ?? '';
  const list = `${name}s`;
  const batched = parameters.find(parameter => parameter.name === name);
  const kept = parameters
    .filter(parameter => parameter !== batched)
    .map(parameter => others.find(other => other.name === parameter.name) ?? withoutValue(parameter));
  const bound = [...kept, typedParameter(list, batched, values)];
  if (batched?.type !== 'regexp') return bound;
  const plain = values.filter(isPlain);
  const patterns = values.filter(value => !isPlain(value));
  const shortest = plain.length > 0 ? Math.min(...plain.map(({ length }) => length)) : 0;
  const any = patterns.map(pattern => `(?:${pattern})`).join('|');
  return [
    ...bound,
    { name: `${list}_plain`, value: plain },
    { name: `${list}_shortest`, value: String(shortest) },
    { name: `${list}_elsewhere`, value: plain.length > 0 ? elsewhere(shortest) : matchesNothing },
    { name: `${list}_patterns`, value: patterns },
    { name: `${list}_any`, value: patterns.length > 0 ? any : matchesNothing },
  ];
}

/** RE2: the complement of all characters matches nothing. */
const matchesNothing = '[^\\x00-\\x{10FFFF}]';

/** RE2: the letters and digits go on, or there are `length` of them in a row further on. */
const elsewhere = (length: number) => `^[a-zA-Z0-9]|[a-zA-Z0-9]{${length}}`;

/** Whether a pattern is a plain text, long enough to be rare; RE2 repeats a thing a thousand times at most. */
export function isPlain(pattern: string): boolean {
  return /^[a-zA-Z0-9]{12,1000}$/.test(pattern);
}
