import { errorCodes } from '../base/errors.ts';
import type { EndpointDefinition, ParameterDefinition } from '../endpoints/definition.ts';
import { describeParameter } from '../endpoints/describe-parameter.ts';
import { jsonOf, parameterSchema, rowSchema } from '../endpoints/json-schemas.ts';
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
