import type { EndpointDefinition } from '../endpoints/definition.ts';
import type { QueryParameter, Statement } from '../engine/engine.ts';

/** A saved query with its values, or a caller's SQL over its subsets. One cache entry answers one such query. */
export type EndpointQuery = {
  readonly definition: EndpointDefinition;
  /** One value for each declared parameter, in the header's order. */
  readonly parameters: readonly QueryParameter[];
  readonly callerSql: string | undefined;
};

/** The query as a statement for the engine. */
export function statementOf({ definition, parameters, callerSql }: EndpointQuery): Statement {
  const { name: endpoint, sql, maxRows, window } = definition;
  return { endpoint, sql, callerSql, parameters, maxRows, window };
}

/** The query's value for the list parameter of the batch form; undefined if the query can't be part of a batch. */
export function batchValueOf({ definition, parameters, callerSql }: EndpointQuery): string | undefined {
  const { batch } = definition;
  if (!batch || callerSql !== undefined) return undefined;
  const value = parameters.find(({ name }) => name === batch.parameter)?.value;
  return typeof value === 'string' && !standsAlone.test(value) ? value : undefined;
}

/**
 * Matches patterns that may mean something else as part of an alternation: an unterminated quotation, a named group, and anchors
 * elsewhere than at the ends, which RE2 reads differently at the start of a pattern (`$^h` alone matches `https`).
 */
const standsAlone = /\\Q|\(\?P?<|(?<!^|\[)\^|\$(?!$)/;

/** Equal for queries that one run of a batch form can answer; undefined if the query can't be part of a batch. */
export function batchGroupOf(query: EndpointQuery): string | undefined {
  if (batchValueOf(query) === undefined) return undefined;
  const { definition, parameters } = query;
  const others = parameters.filter(({ name }) => name !== definition.batch?.parameter);
  return JSON.stringify([definition.hash, ...others.map(({ name, value }) => [name, value])]);
}
