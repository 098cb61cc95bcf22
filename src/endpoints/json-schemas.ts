import { parseExactJson } from '../base/json.ts';
import type { ColumnDefinition, EndpointDefinition, ParameterDefinition } from './definition.ts';
import { maxPatternLength, maxValueLength } from './parameters/read-parameter.ts';

/** The JSON Schema of a parameter's value, in a query string or as JSON. */
export function parameterSchema(parameter: ParameterDefinition): object {
  const { repeated, default: given } = parameter;
  const element = elementSchema(parameter);
  const list = (texts: readonly string[]) => texts.map(text => jsonOf(parameter, text));
  const value = Array.isArray(given) ? list(given) : given && jsonOf(parameter, String(given));
  return { ...(repeated ? { type: 'array', items: element } : element), default: value };
}

function elementSchema(parameter: ParameterDefinition): object {
  const { type, values, min, max, minLength, maxLength, pattern, required, repeated } = parameter;
  const bound = (text: string | undefined) => {
    const value = text && jsonOf(parameter, text);
    // An infinite bound is no bound.
    return typeof value === 'string' ? undefined : value;
  };
  const isText = (type === 'string' || type === 'STRING' || type === 'regexp') && !values;
  const isNumber = type === 'INT64' || type === 'FLOAT64';
  return {
    ...argumentSchemas[type],
    enum: values?.map(value => jsonOf(parameter, value)),
    // Bounds of other types are in the description: JSON Schema has no keyword for them.
    ...(isNumber ? { minimum: bound(min), maximum: bound(max) } : {}),
    // Empty text counts as absent (contract 2.8).
    minLength: minLength ?? (isText && required && !repeated ? 1 : undefined),
    maxLength: maxLength ?? (isText ? (type === 'regexp' ? maxPatternLength : maxValueLength) : undefined),
    pattern: pattern !== undefined && isPatternOfJson(pattern) ? pattern : undefined,
  };
}

/** Whether an RE2 pattern may stand in JSON Schema, whose patterns are ECMAScript's: clients fail over others. The description has every pattern. */
function isPatternOfJson(pattern: string): boolean {
  try {
    // `[[:alpha:]]` is another class there.
    return !pattern.includes('[:') && new RegExp(pattern, 'u') !== undefined;
  } catch {
    return false;
  }
}

/** The JSON value of a canonical text; JSON.stringify writes its integers with all their digits. */
export function jsonOf({ type }: ParameterDefinition, text: string): unknown {
  if (type === 'BOOL') return text === 'true';
  if (type === 'INT64') return parseExactJson(text);
  const number = Number(text);
  return type === 'FLOAT64' && Number.isFinite(number) ? number : text;
}

/** The JSON Schema of each parameter type in a query string. */
const argumentSchemas: Record<ParameterDefinition['type'], object> = {
  string: { type: 'string' },
  enum: { type: 'string' },
  // Not `format: date-time`: empty text, other zones and a space instead of the T are allowed too.
  timestamp: { type: 'string', examples: ['2026-01-15T10:00:00.123456Z'] },
  regexp: { type: 'string', description: 'RE2 syntax' },
  STRING: { type: 'string' },
  BYTES: { type: 'string', contentEncoding: 'base64' },
  BOOL: { type: 'boolean' },
  INT64: { type: 'integer', format: 'int64' },
  FLOAT64: { type: 'number', format: 'double' },
  NUMERIC: { type: 'string', format: 'decimal' },
  BIGNUMERIC: { type: 'string', format: 'decimal' },
  TIMESTAMP: { type: 'string', examples: ['2026-01-15T10:00:00.123456Z'] },
  DATETIME: { type: 'string', examples: ['2026-01-15T10:00:00'] },
  DATE: { type: 'string', format: 'date' },
  TIME: { type: 'string', examples: ['10:00:00'] },
  JSON: { type: 'string', contentMediaType: 'application/json' },
};

/** The JSON Schema of a row of a saved query (contract 2.12). */
export function rowSchema({ name, columns }: EndpointDefinition): object {
  return {
    type: 'object',
    description: `A row of ${name}.`,
    required: columns.map(column => column.name),
    properties: Object.fromEntries(columns.map(column => [column.name, columnSchema(column)])),
  };
}

function columnSchema({ type, repeated, required, description }: ColumnDefinition): object {
  const value = valueSchemas[type];
  // The unit is appended to the column's description, because a schema has only one.
  if (type === 'TIMESTAMP') description = `${description} ${timestampUnit}`;
  if (repeated) return { type: 'array', items: value, description };
  return required ? { ...value, description } : { anyOf: [value, { type: 'null' }], description };
}

const timestampUnit = 'Microseconds since 1970.';

/** The JSON of each BigQuery type (contract 2.12). */
const valueSchemas: Record<ColumnDefinition['type'], object> = {
  STRING: { type: 'string' },
  BYTES: { type: 'string', contentEncoding: 'base64' },
  BOOL: { type: 'boolean' },
  INT64: { type: 'integer', format: 'int64' },
  FLOAT64: { anyOf: [{ type: 'number' }, { enum: ['NaN', 'Infinity', '-Infinity'] }] },
  NUMERIC: { type: 'string', format: 'decimal' },
  BIGNUMERIC: { type: 'string', format: 'decimal' },
  TIMESTAMP: { type: 'integer', format: 'int64', description: timestampUnit },
  DATETIME: { type: 'string', examples: ['2026-08-21T14:00:00'] },
  DATE: { type: 'string', format: 'date' },
  TIME: { type: 'string' },
  JSON: { type: 'string', contentMediaType: 'application/json' },
  STRUCT: { type: 'object', additionalProperties: true },
};
