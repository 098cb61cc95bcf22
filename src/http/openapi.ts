import { errorCodes } from '../base/errors.ts';
import type { ColumnDefinition, EndpointDefinition, ParameterDefinition } from '../endpoints/definition.ts';
import { describeParameter } from '../endpoints/describe-parameter.ts';
import { graphqlTypeName } from '../endpoints/names.ts';

/** Builds the OpenAPI 3.1 document of the REST route from the definitions alone. */
export function buildOpenApi(endpoints: readonly EndpointDefinition[]): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Saved queries',
      version: '1',
      description: 'Each saved query answers by its name and by its UUID.',
    },
    security: [{ apiKey: [] }, { bearer: [] }],
    paths: Object.fromEntries(endpoints.flatMap(pathsOf)),
    components: {
      securitySchemes: {
        apiKey: { type: 'apiKey', in: 'header', name: 'X-API-KEY' },
        bearer: { type: 'http', scheme: 'bearer' },
      },
      parameters: { redactPii, labels, explain },
      headers: { receipt, truncated, maxRows },
      responses: { error: errorResponse },
      schemas: Object.fromEntries(
        endpoints.map(endpoint => [`${graphqlTypeName(endpoint.name)}Row`, rowSchema(endpoint)]),
      ),
    },
  };
}

function pathsOf(endpoint: EndpointDefinition): [string, object][] {
  const operation = (suffix: string) => ({
    operationId: graphqlTypeName(endpoint.name) + suffix,
    summary: endpoint.description,
    parameters: [
      ...endpoint.parameters.map(parameter => queryParameter(endpoint, parameter)),
      ...(endpoint.sandbox ? [sandboxSql(endpoint)] : []),
      { $ref: '#/components/parameters/redactPii' },
      { $ref: '#/components/parameters/labels' },
      { $ref: '#/components/parameters/explain' },
    ],
    responses: {
      200: {
        description: `At most ${endpoint.maxRows} rows.`,
        headers: {
          'Query-Receipt': { $ref: '#/components/headers/receipt' },
          'Result-Truncated': { $ref: '#/components/headers/truncated' },
          'Result-Max-Rows': { $ref: '#/components/headers/maxRows' },
        },
        content: { 'application/json': { schema: resultSchema(endpoint) } },
      },
      default: { $ref: '#/components/responses/error' },
    },
  });
  return [
    [`/api/endpoints/query/${endpoint.name}`, { get: operation('') }],
    [`/api/endpoints/query/${endpoint.id}`, { get: operation('ById') }],
  ];
}

function queryParameter(endpoint: EndpointDefinition, parameter: ParameterDefinition): object {
  const { name, required, repeated, examples } = parameter;
  const description = describeParameter(endpoint, parameter);
  const schema = parameterSchema(parameter);
  const common = { name, in: 'query', required, description, schema };
  // `?ids=1&ids=2`: what a list with commas within its values needs.
  if (repeated) Object.assign(common, { style: 'form', explode: true });
  if (!examples) return common;
  const values = examples.map(example => [
    [example].flat().join(','),
    {
      value: Array.isArray(example)
        ? example.map(text => jsonOf(parameter, text))
        : jsonOf(parameter, String(example)),
    },
  ]);
  return { ...common, examples: Object.fromEntries(values) };
}

function parameterSchema(parameter: ParameterDefinition): object {
  const { repeated, default: given } = parameter;
  const element = elementSchema(parameter);
  const list = (texts: readonly string[]) => texts.map(text => jsonOf(parameter, text));
  const value = Array.isArray(given) ? list(given) : given && jsonOf(parameter, String(given));
  return { ...(repeated ? { type: 'array', items: element } : element), default: value };
}

function elementSchema(parameter: ParameterDefinition): object {
  const { type, values, min, max, minLength, maxLength, pattern } = parameter;
  const json = (text: string | undefined) => (text === undefined ? undefined : jsonOf(parameter, text));
  const isNumber = type === 'INT64' || type === 'FLOAT64';
  return {
    ...argumentSchemas[type],
    enum: values?.map(value => jsonOf(parameter, value)),
    // Bounds of other types are in the description: JSON Schema has no words for them.
    ...(isNumber ? { minimum: json(min), maximum: json(max) } : {}),
    minLength,
    maxLength,
    pattern,
  };
}

/** The value of a canonical text in a JSON document; integers that JavaScript cannot write stay texts. */
function jsonOf({ type }: ParameterDefinition, text: string): unknown {
  if (type === 'BOOL') return text === 'true';
  const number = Number(text);
  if (type === 'INT64') return Number.isSafeInteger(number) ? number : text;
  return type === 'FLOAT64' && Number.isFinite(number) ? number : text;
}

/** What a parameter of each type takes in a query string. */
const argumentSchemas: Record<ParameterDefinition['type'], object> = {
  string: { type: 'string' },
  enum: { type: 'string' },
  // Not `format: date-time`: empty text, other zones and a blank instead of the T are welcome too.
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

function sandboxSql({ name }: EndpointDefinition): object {
  return {
    name: 'sql',
    in: 'query',
    required: false,
    description: `One SELECT in BigQuery SQL over the subsets of ${name}; it replaces the saved final statement.`,
    schema: { type: 'string' },
  };
}

/** With `sql` the caller decides the columns. */
function resultSchema({ name, sandbox }: EndpointDefinition): object {
  const saved = { $ref: `#/components/schemas/${graphqlTypeName(name)}Row` };
  return {
    type: 'object',
    required: ['result'],
    additionalProperties: false,
    properties: {
      result: { type: 'array', items: sandbox ? { anyOf: [saved, { type: 'object' }] } : saved },
    },
  };
}

function rowSchema({ name, columns }: EndpointDefinition): object {
  return {
    type: 'object',
    description: `A row of ${name}.`,
    required: columns.map(column => column.name),
    properties: Object.fromEntries(columns.map(column => [column.name, columnSchema(column)])),
  };
}

function columnSchema({ type, repeated, required, description }: ColumnDefinition): object {
  const value = valueSchemas[type];
  if (repeated) return { type: 'array', items: value, description };
  return required ? { ...value, description } : { anyOf: [value, { type: 'null' }], description };
}

/** The JSON of each BigQuery type (contract 2.12). */
const valueSchemas: Record<ColumnDefinition['type'], object> = {
  STRING: { type: 'string' },
  BYTES: { type: 'string', contentEncoding: 'base64' },
  BOOL: { type: 'boolean' },
  INT64: { type: 'integer', format: 'int64' },
  FLOAT64: { anyOf: [{ type: 'number' }, { enum: ['NaN', 'Infinity', '-Infinity'] }] },
  NUMERIC: { type: 'string', format: 'decimal' },
  BIGNUMERIC: { type: 'string', format: 'decimal' },
  TIMESTAMP: { type: 'integer', format: 'int64', description: 'Microseconds since 1970.' },
  DATETIME: { type: 'string', examples: ['2026-08-21T14:00:00'] },
  DATE: { type: 'string', format: 'date' },
  TIME: { type: 'string' },
  JSON: { type: 'string', contentMediaType: 'application/json' },
  STRUCT: { type: 'object' },
};

const redactPii = {
  name: 'LF-ENDPOINT-REDACT-PII',
  in: 'header',
  required: false,
  description: "Overrides the endpoint's redaction of personal data for this request; any letter case.",
  schema: { type: 'string', enum: ['true', 'false'] },
};

const labels = {
  name: 'LF-ENDPOINT-LABELS',
  in: 'header',
  required: false,
  description: 'Labels of the query in the warehouse, for the keys that the saved query allows.',
  schema: { type: 'string', examples: ['team=red,cost-centre=42'] },
};

const explain = {
  name: 'explain',
  in: 'query',
  required: false,
  description:
    'Says what the query would do, as `{"explain":{…}}`, and runs none; for tokens with the scope `explain`.',
  schema: { type: 'string', enum: ['true'] },
};

const receipt = {
  description:
    'What the query cost that the answer waited for, where the engine knows; a dictionary of RFC 9651.',
  required: false,
  schema: { type: 'string', examples: ['bytes-processed=1000, bytes-billed=10485760, slot-ms=1500'] },
};

const truncated = {
  description: '`?1` where the query had more rows than `Result-Max-Rows`; else absent.',
  required: false,
  schema: { type: 'string', enum: ['?1'] },
};

const maxRows = {
  description: 'The most rows of an answer; only where rows were cut.',
  required: false,
  schema: { type: 'integer' },
};

const errorResponse = {
  description: 'Any failure, with the status of its code.',
  content: {
    'application/json': {
      schema: {
        type: 'object',
        required: ['error'],
        properties: {
          error: {
            type: 'object',
            required: ['code', 'message', 'status', 'errors', 'request_id'],
            properties: {
              code: { enum: Object.keys(errorCodes) },
              message: { type: 'string' },
              status: { type: 'integer' },
              errors: {
                type: 'array',
                items: {
                  type: 'object',
                  required: ['reason', 'message'],
                  properties: {
                    reason: { type: 'string' },
                    message: { type: 'string' },
                    line: { type: 'integer' },
                    column: { type: 'integer' },
                  },
                },
              },
              request_id: { type: 'string' },
            },
          },
        },
      },
    },
  },
};
