import { LRUCache } from 'lru-cache';
import { RE2JS, RE2JSSyntaxException } from 're2js';
import { GatewayError } from '../base/errors.ts';
import { formatTimestamp, parseTimestamp } from '../base/parse-timestamp.ts';
import type { EndpointQuery } from '../batch/endpoint-query.ts';
import { type CacheKey, cacheKey } from '../cache/cache-key.ts';
import type { EndpointDefinition, ParameterDefinition } from '../endpoints/definition.ts';
import type { QueryParameter } from '../engine/engine.ts';
import { patternProblem } from '../googlesql/values/pattern-size.ts';
import { type FixedParameters, fixParameters } from './fixed-parameters.ts';

/** Parameters as a caller sent them: text from a query string, JSON values from a body or a GraphQL argument. */
export type RawParameters = Readonly<Record<string, unknown>>;

const maxValueLength = 4096;
const maxPatternLength = 1024;
const maxSqlLength = 65_536;

/** A query whose values are canonical, and the name of its cache entry. */
export type BoundQuery = EndpointQuery & { readonly key: CacheKey };

/**
 * Binds a saved query to what a caller sent: definition → parameters → key.
 * @param fixed values that the caller's token fixes; undefined: none, or nobody in particular asks
 * @throws GatewayError `invalid_parameter`, `forbidden`
 */
export function bindQuery(
  definition: EndpointDefinition,
  raw: RawParameters,
  fixed: FixedParameters | undefined,
): BoundQuery {
  const parameters = bindParameters(definition, fixed ? fixParameters(definition, raw, fixed) : raw);
  const query = { definition, parameters, callerSql: readCallerSql(definition, raw) };
  return { ...query, key: cacheKey(query) };
}

/**
 * Reads the declared parameters of an endpoint; what is not declared is ignored.
 *
 * Values come out canonical, so that two spellings of one value are one cache entry:
 * a timestamp as `2026-01-15T10:00:00.123456Z`, an absent or empty optional value as null.
 *
 * @returns one value for each declared parameter, in the header's order
 * @throws GatewayError `invalid_parameter`: which parameter, what was wrong, what is allowed
 */
export function bindParameters(definition: EndpointDefinition, raw: RawParameters): QueryParameter[] {
  return definition.parameters.map(parameter => ({
    name: parameter.name,
    value: bindParameter(parameter, readText(parameter.name, raw[parameter.name])),
  }));
}

/** The caller's own SQL, if the endpoint is sandboxed and the text is not blank (contract 4.1, 4.2). */
export function readCallerSql(definition: EndpointDefinition, raw: RawParameters): string | undefined {
  if (!definition.sandbox) return undefined;
  const text = readText('sql', raw.sql, maxSqlLength);
  return text.trim() === '' ? undefined : text;
}

function bindParameter(parameter: ParameterDefinition, text: string): string | null {
  if (text === '') {
    if (parameter.required) throw invalid(parameter.name, 'is required', allowed(parameter));
    return null;
  }
  switch (parameter.type) {
    case 'string':
      return text;
    case 'enum':
      if (!parameter.values.includes(text))
        throw invalid(parameter.name, `is ${quote(text)}`, allowed(parameter));
      return text;
    case 'timestamp': {
      const micros = parseTimestamp(text);
      if (micros === undefined) throw invalid(parameter.name, `is ${quote(text)}`, allowed(parameter));
      return formatTimestamp(micros);
    }
    case 'regexp':
      rejectBadPattern(parameter, text);
      return text;
  }
}

function allowed(parameter: ParameterDefinition): string {
  switch (parameter.type) {
    case 'string':
      return 'a non-empty string';
    case 'enum':
      return parameter.values.length === 1 ? parameter.values[0]! : `one of ${parameter.values.join(', ')}`;
    case 'timestamp':
      return 'an ISO 8601 timestamp such as 2026-01-15T10:00:00.123456Z, years 0001 to 9999';
    case 'regexp':
      return `an RE2 regular expression of 1 to ${maxPatternLength} characters`;
  }
}

/** Recently seen patterns, accepted and refused: compiling one is most of the work of planning a request. */
const verdicts = new LRUCache<string, { readonly problem: string | undefined }>({ max: 1000 });

/** Refuses what RE2 in the warehouse would refuse, before anything is paid for. */
function rejectBadPattern(parameter: ParameterDefinition, pattern: string): void {
  if (pattern.length > maxPatternLength) {
    throw invalid(parameter.name, `has ${pattern.length} characters`, allowed(parameter));
  }
  let verdict = verdicts.get(pattern);
  if (!verdict) {
    verdict = { problem: problemOf(pattern) };
    verdicts.set(pattern, verdict);
  }
  if (verdict.problem) throw invalid(parameter.name, verdict.problem, allowed(parameter));
}

function problemOf(pattern: string): string | undefined {
  const tooLarge = patternProblem(pattern);
  if (tooLarge) return `is refused: ${tooLarge}`;
  try {
    RE2JS.compile(pattern);
    return undefined;
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    return `is not a valid pattern (${error.message})`;
  }
}

function readText(name: string, value: unknown, maxLength = maxValueLength): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
  if (typeof text !== 'string') {
    throw invalid(name, `is ${Array.isArray(text) ? 'an array' : 'an object'}`, 'a string');
  }
  if (text.length > maxLength) throw invalid(name, `has ${text.length} characters`, `at most ${maxLength}`);
  if (text.includes('\0')) throw invalid(name, 'contains a NUL character', 'any other text');
  if (!text.isWellFormed())
    throw invalid(name, 'contains half of a surrogate pair', 'well-formed Unicode text');
  return text;
}

function invalid(name: string, wrong: string, allowedText: string): GatewayError {
  return new GatewayError('invalid_parameter', `Parameter "${name}" ${wrong}; allowed: ${allowedText}`);
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
