import { takeTurns } from '../base/turns.ts';
import type { EndpointDefinition, ParameterDefinition } from '../endpoints/definition.ts';
import { jsonOf, parameterSchema, rowSchema } from '../endpoints/json-schemas.ts';
import { graphqlTypeName } from '../endpoints/names.ts';
import { describeParameter } from '../endpoints/parameters/describe-parameter.ts';
import { formatNames, rowFormats } from '../formats/row-formats.ts';
import { components } from './openapi-components.ts';

/** The members of the document before the paths. */
function beforePaths(endpoints: readonly EndpointDefinition[]): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Saved queries',
      version: '1',
      description:
        'Each saved query answers by its name and by its UUID, to GET and POST alike. What a token may ask lists `GET /api/endpoints`.',
      license: { name: 'None is granted yet', url: 'https://choosealicense.com/no-permission/' },
    },
    servers: [{ url: '/', description: 'The gateway that this document came from' }],
    security: [{ apiKey: [] }, { bearer: [] }],
    tags: endpoints.map(({ name, description }) => ({ name, description })),
  };
}

/**
 * Writes the OpenAPI 3.1 document of the REST route from the definitions alone. Each operation has one shape of rows, so that clients get
 * typed rows: a GET by name has the saved columns, a POST takes the caller's own SQL, a GET by UUID shows everything that a GET takes. The
 * document is written in slices of the event loop: for thousands of saved queries it takes half a second.
 * @returns JSON
 */
export async function writeOpenApi(endpoints: readonly EndpointDefinition[]): Promise<string> {
  const turns = takeTurns();
  const paths: string[] = [];
  const schemas = [membersOf(components.schemas)];
  const idOf = operationIds(endpoints);
  for (const endpoint of endpoints) {
    paths.push(membersOf(Object.fromEntries(pathsOf(endpoint, idOf))));
    schemas.push(membersOf({ [`${graphqlTypeName(endpoint.name)}Row`]: rowSchema(endpoint) }));
    while (turns.isOver()) await turns.next();
  }
  const others = membersOf({ ...components, schemas: undefined });
  return `{${membersOf(beforePaths(endpoints))},"paths":{${paths.join()}},"components":{${others},"schemas":{${schemas.join()}}}}`;
}

/** The members of an object as JSON, without its braces. */
const membersOf = (members: object) => JSON.stringify(members).slice(1, -1);

type IdOf = (name: string, suffix: string) => string;

/** Names each operation once: `a` by POST would have the name of `a.post`, which is a saved query's own. */
function operationIds(endpoints: readonly EndpointDefinition[]): IdOf {
  const taken = new Set(endpoints.map(({ name }) => graphqlTypeName(name)));
  return (name, suffix) => {
    let id = graphqlTypeName(name) + suffix;
    while (suffix !== '' && taken.has(id)) id += '_';
    taken.add(id);
    return id;
  };
}

function pathsOf(endpoint: EndpointDefinition, idOf: IdOf): [string, object][] {
  const { name, id, sandbox } = endpoint;
  const operation = (suffix: string, more: string) => ({
    operationId: idOf(name, suffix),
    tags: [name],
    summary: endpoint.description,
    description: more,
  });
  const typed = rowsOf({ $ref: `#/components/schemas/${graphqlTypeName(name)}Row` });
  const any = rowsOf(
    sandbox ? { type: 'object', additionalProperties: true } : typed.properties.result.items,
  );
  const explained = { $ref: '#/components/schemas/Explained' };
  const alsoSql = sandbox ? ' SQL of your own, which a GET takes as `sql`, is described at POST.' : '';
  const byName = {
    get: {
      ...operation('', `At most ${endpoint.maxRows} rows.${alsoSql}`),
      parameters: [...queryParameters(endpoint), ref('format'), ref('ifNoneMatch'), ...headerParameters],
      responses: { 200: rowsResponse(endpoint, typed), 304: notModified, ...failures },
    },
    post: {
      ...operation('Post', sandbox ? sqlText(endpoint) : 'The parameters as a JSON object.'),
      parameters: [ref('explain'), ref('format'), ...headerParameters],
      requestBody: { required: true, content: { 'application/json': { schema: bodySchema(endpoint) } } },
      responses: { 200: rowsResponse(endpoint, { anyOf: [any, explained] }), ...failures },
    },
  };
  const own = sandbox ? [sandboxSql(endpoint)] : [];
  const byId = {
    ...operation('ById', 'The same by the UUID, which stays when the name changes.'),
    parameters: [
      ...queryParameters(endpoint),
      ...own,
      ref('explain'),
      ref('format'),
      ref('ifNoneMatch'),
      ...headerParameters,
    ],
    responses: { 200: rowsResponse(endpoint, { anyOf: [any, explained] }), 304: notModified, ...failures },
  };
  const postById = {
    ...byName.post,
    ...operation('PostById', 'The same by the UUID, which stays when the name changes.'),
  };
  return [
    [`/api/endpoints/query/${name}`, byName],
    [`/api/endpoints/query/${id}`, { get: byId, post: postById }],
  ];
}

const ref = (parameter: string) => ({ $ref: `#/components/parameters/${parameter}` });

const headerParameters = [ref('redactPii'), ref('labels')];

const notModified = { $ref: '#/components/responses/notModified' };

const failures = {
  '4XX': { $ref: '#/components/responses/error' },
  '5XX': { $ref: '#/components/responses/error' },
};

function rowsOf(items: object) {
  return {
    type: 'object',
    required: ['result'],
    additionalProperties: false,
    properties: { result: { type: 'array', items } },
  };
}

function rowsResponse({ maxRows }: EndpointDefinition, json: object): object {
  const others = formatNames.filter(name => name !== 'json');
  return {
    description: `At most ${maxRows} rows.`,
    headers: {
      ETag: { $ref: '#/components/headers/etag' },
      'Query-Receipt': { $ref: '#/components/headers/receipt' },
      'Result-Truncated': { $ref: '#/components/headers/truncated' },
      'Result-Max-Rows': { $ref: '#/components/headers/maxRows' },
    },
    content: {
      'application/json': { schema: json },
      ...Object.fromEntries(
        others.map(name => [rowFormats[name].mediaTypes[0], { schema: fileSchemas[name] }]),
      ),
    },
  };
}

const binary = { type: 'string', format: 'binary' };
const fileSchemas = { ndjson: { type: 'string' }, csv: { type: 'string' }, parquet: binary, arrow: binary };

function queryParameters(endpoint: EndpointDefinition): object[] {
  return endpoint.parameters.map(parameter => queryParameter(endpoint, parameter));
}

/** The schema of a POST body: the parameters as JSON values, and the caller's own SQL. */
function bodySchema(endpoint: EndpointDefinition): object {
  const { parameters, sandbox } = endpoint;
  const schemas = parameters.map(parameter => [
    parameter.name,
    { ...parameterSchema(parameter), description: describeParameter(endpoint, parameter) },
  ]);
  const sql = { type: 'string', description: sqlText(endpoint) };
  return {
    type: 'object',
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
    properties: { ...Object.fromEntries(schemas), ...(sandbox ? { sql } : {}) },
  };
}

function queryParameter(endpoint: EndpointDefinition, parameter: ParameterDefinition): object {
  const { name, type, required, repeated, examples } = parameter;
  const isSplit = repeated && type !== 'JSON';
  const description = `${describeParameter(endpoint, parameter)}${isSplit ? splitNote : ''}`;
  const schema = parameterSchema(parameter);
  const common = { name, in: 'query', required, description, schema };
  // `?ids=1&ids=2`, so that values may contain commas.
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

/** A note on lists that generated clients can't know. */
const splitNote = ' In a query string a single one is split at its commas, in a body none is.';

function sandboxSql(endpoint: EndpointDefinition): object {
  return {
    name: 'sql',
    in: 'query',
    required: false,
    description: sqlText(endpoint),
    schema: { type: 'string' },
  };
}

function sqlText({ name }: EndpointDefinition): string {
  return `\`sql\`: one SELECT in BigQuery SQL over the subsets of ${name}; it replaces the saved final statement.`;
}
