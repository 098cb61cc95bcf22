import type { QueryParameter } from '../engine/engine.ts';
import type { EndpointDefinition } from './definition.ts';
import { typedParameter, withoutValue } from './parameters/read-parameter.ts';

/**
 * The parameters of a batch form (contract 7.1), for a declared parameter `x`:
 *
 * - `@xs`: its values, an ARRAY of its type;
 * - if `x` is a regular expression, also `@xs_plain`, the plain values: those of at least 12 letters and digits and nothing else;
 * - `@xs_shortest`, the length of the shortest plain value as a decimal number, 0 if there is none;
 * - `@xs_elsewhere`, a pattern for the rest of a URL after `https://` and that many characters. If it does not match, the URL can
 *   contain a plain value only as exactly those characters;
 * - `@xs_patterns`, the values that are not plain, and `@xs_any`, one pattern that matches if any of these does.
 *
 * The other parameters keep their values.
 * @param values different, valid values
 * @param others parameters of the saved query; that of the batch, if it is among them, is left out
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

/** RE2: another letter or digit follows, or there are `length` of them in a row later. */
const elsewhere = (length: number) => `^[a-zA-Z0-9]|[a-zA-Z0-9]{${length}}`;

/** Whether a pattern is plain text, long enough to be rare. RE2 allows at most a thousand repetitions. */
export function isPlain(pattern: string): boolean {
  return /^[a-zA-Z0-9]{12,1000}$/.test(pattern);
}
