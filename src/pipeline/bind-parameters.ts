import { GatewayError } from '../base/errors.ts';
import type { EndpointQuery } from '../batch/run-queries.ts';
import type { CacheKey } from '../cache/cache-request.ts';
import { cacheKey } from '../cache/entry.ts';
import type { EndpointDefinition, ParameterDefinition } from '../endpoints/definition.ts';
import {
  type RawParameters,
  readParameter,
  readPlainText,
  sentValue,
  typedParameter,
} from '../endpoints/parameters/read-parameter.ts';
import type { QueryParameter } from '../engine/engine.ts';
import { spellAlike } from '../googlesql/syntax/spell-alike.ts';
import { type FixedParameters, fixParameters } from './fixed-parameters.ts';

const maxSqlLength = 65_536;

/** A query with canonical values, and the key of its cache entry. */
export type BoundQuery = EndpointQuery & { readonly key: CacheKey };

/**
 * Binds a saved query to the parameters a caller sent: definition → parameters → key.
 * @param fixed values that the caller's token fixes; undefined if it fixes none, or there is no caller
 * @throws GatewayError `invalid_parameter`, `forbidden`
 */
export function bindQuery(
  definition: EndpointDefinition,
  raw: RawParameters,
  fixed: FixedParameters | undefined,
): BoundQuery {
  const parameters = bindParameters(definition, fixed ? fixParameters(definition, raw, fixed) : raw);
  const query = { definition, parameters, callerSql: readCallerSql(definition, raw) };
  const { callerSql } = query;
  const spelled = callerSql === undefined ? undefined : spellAlike(callerSql);
  return { ...query, key: keyOf({ ...query, callerSql: spelled }) };
}

/** The key of the rows of a query, whichever handler and spelling a request used: a definition, its values, and a caller's SQL if any (contract 5.1). */
function keyOf({ definition: { id, hash }, parameters, callerSql }: EndpointQuery): CacheKey {
  const values = parameters.map(({ name, value }) => [name, value]);
  return cacheKey(id, JSON.stringify([hash, values, callerSql ?? null]));
}

/**
 * Reads the declared parameters of an endpoint and ignores all others.
 *
 * Values come out canonical, so that two spellings of one value are one cache entry: a timestamp as
 * `2026-01-15T10:00:00.123456Z`, an absent or empty optional value as its default, null or an empty list.
 *
 * @returns one value for each declared parameter, in the header's order
 * @throws GatewayError `invalid_parameter`: which parameter, what was wrong, what is allowed
 */
export function bindParameters(definition: EndpointDefinition, raw: RawParameters): QueryParameter[] {
  return definition.parameters.map(parameter => bindParameter(parameter, sentValue(raw, parameter.name)));
}

/** The caller's own SQL, if the endpoint is sandboxed and the text is not blank (contract 4.1, 4.2). */
export function readCallerSql(definition: EndpointDefinition, raw: RawParameters): string | undefined {
  if (!definition.sandbox) return undefined;
  const text = readPlainText(raw.sql, maxSqlLength);
  if (typeof text !== 'string') throw invalid('sql', text.wrong, text.allowed);
  return text.trim() === '' ? undefined : text;
}

/** @throws GatewayError `invalid_parameter` */
function bindParameter(parameter: ParameterDefinition, raw: unknown): QueryParameter {
  const read = readParameter(parameter, raw);
  if ('wrong' in read) throw invalid(parameter.name, read.wrong, read.allowed);
  return typedParameter(parameter.name, parameter, read.value);
}

function invalid(name: string, wrong: string, allowed: string): GatewayError {
  return new GatewayError('invalid_parameter', `Parameter "${name}" ${wrong}; allowed: ${allowed}`);
}
