import { isDeepStrictEqual } from 'node:util';
import { RE2JS } from 're2js';
import { GatewayError } from '../base/errors.ts';
import type { EndpointDefinition, ParameterDefinition } from '../endpoints/definition.ts';
import { type RawParameters, readParameter, sentValue } from '../endpoints/parameters/read-parameter.ts';
import { parseQuery } from '../googlesql/syntax/parse-query.ts';
import { foldName } from '../googlesql/tree/scope.ts';

/** Values that a token fixes, by parameter name. */
export type FixedParameters = Readonly<Record<string, string>>;

/**
 * Replaces what the caller sent by the values that its token fixes (contract 8.8). For a regular expression the value is the pattern
 * that matches it literally (contract 8.9).
 * @throws GatewayError `forbidden` if the caller sent another value, or as `requireTaken`
 */
export function fixParameters(
  definition: EndpointDefinition,
  raw: RawParameters,
  fixed: FixedParameters,
): RawParameters {
  // The rest is inherited from what the caller sent: a body may have a hundred thousand members, too many to copy.
  const bound: Record<string, unknown> = Object.create(raw);
  for (const [name, value] of Object.entries(fixed)) {
    const parameter = takenParameter(definition, name);
    const literal = parameter.type === 'regexp' ? RE2JS.quote(value) : value;
    // In a list it is one element, commas included.
    const only = parameter.repeated ? [literal] : literal;
    const sent = sentValue(raw, name) ?? '';
    if (sent !== '' && sent !== value && !isSame(parameter, sent, only)) {
      throw new GatewayError(
        'forbidden',
        `Parameter "${name}" is fixed by the access token, and another value was sent; allowed: that value, or none`,
      );
    }
    bound[name] = only;
  }
  return bound;
}

/**
 * Refuses a saved query that does not declare every fixed parameter: nothing would restrict its rows to the fixed values.
 * @throws GatewayError `forbidden`
 */
export function requireTaken(definition: EndpointDefinition, fixed: FixedParameters): void {
  for (const name of Object.keys(fixed)) takenParameter(definition, name);
}

function takenParameter(
  { name: endpoint, parameters }: EndpointDefinition,
  name: string,
): ParameterDefinition {
  const parameter = parameters.find(each => each.name === name);
  if (parameter) return parameter;
  throw new GatewayError(
    'forbidden',
    `The access token fixes the parameter "${name}", which the saved query "${endpoint}" does not take`,
  );
}

/** Whether both are the same value of the parameter, perhaps spelled differently. */
function isSame(parameter: ParameterDefinition, sent: unknown, fixed: unknown): boolean {
  const [one, other] = [readParameter(parameter, sent), readParameter(parameter, fixed)];
  return 'value' in one && 'value' in other && isDeepStrictEqual(one.value, other.value);
}

/**
 * Refuses a caller's SQL if a subset of the saved query would expose rows beyond the fixed values: each subset that reads a source must
 * itself use every fixed parameter.
 * @throws GatewayError `forbidden`
 */
export function requireFixedSubsets(definition: EndpointDefinition, fixed: FixedParameters): void {
  for (const name of Object.keys(fixed)) {
    const open = openSubset(definition, name);
    if (open === undefined) continue;
    throw new GatewayError(
      'forbidden',
      `The access token fixes the parameter "${name}", which the subset "${open}" of "${definition.name}" does not use; callers' SQL is not allowed here`,
    );
  }
}

/** Whether `requireFixedSubsets` accepts: a caller's SQL over the subsets of the saved query stays within the fixed values. */
export function hasFixedSubsets(definition: EndpointDefinition, fixed: FixedParameters): boolean {
  return Object.keys(fixed).every(name => openSubset(definition, name) === undefined);
}

const openSubsets = new WeakMap<EndpointDefinition, Map<string, string | undefined>>();

/** Name of the first subset that reads a source without using the parameter; computed once for each definition. */
function openSubset(definition: EndpointDefinition, parameter: string): string | undefined {
  const found = openSubsets.get(definition) ?? new Map<string, string | undefined>();
  openSubsets.set(definition, found);
  if (!found.has(parameter)) found.set(parameter, findOpenSubset(definition.sql, parameter));
  return found.get(parameter);
}

function findOpenSubset(sql: string, parameter: string): string | undefined {
  const earlier = new Set<string>();
  for (const { name, query } of parseQuery(sql).with) {
    let usesParameter = false;
    let readsSource = false;
    forEachNode(query, node => {
      if (node.kind === 'parameter' && String(node.name).toLowerCase() === parameter.toLowerCase()) {
        usesParameter = true;
      }
      if (node.kind === 'table') {
        const [first] = node.path as readonly { readonly name: string }[]; // every table has a path
        readsSource ||= first === undefined || !earlier.has(foldName(first.name));
      }
    });
    if (readsSource && !usesParameter) return name.name;
    earlier.add(foldName(name.name));
  }
  return undefined;
}

type Node = Readonly<Record<string, unknown>>;

function forEachNode(value: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(value)) for (const each of value) forEachNode(each, visit);
  else if (typeof value === 'object' && value !== null) {
    const node = value as Node; // any object of the tree
    visit(node);
    for (const each of Object.values(node)) forEachNode(each, visit);
  }
}
