import { graphqlName, graphqlTypeName } from '../../endpoints/names.ts';
import type { Column, Endpoint, Values } from '../api/catalogue.ts';

/** The request for the shown rows, for use elsewhere. */
export type TakeAlong = { readonly name: string; readonly text: string };

/**
 * The request as text for other programs. The token is always a variable, so that it is not pasted into chats.
 * @param values with resolved times
 */
export function takeAlong(origin: string, endpoint: Endpoint, values: Values): TakeAlong[] {
  return [
    { name: 'curl', text: curl(origin, endpoint, values) },
    { name: 'GraphQL', text: graphqlOperation(endpoint, values) },
    { name: 'TypeScript', text: typescript(origin, endpoint, values) },
  ];
}

function curl(origin: string, { path }: Endpoint, values: Values): string {
  const token = '-H "X-API-KEY: $TOKEN"';
  // A URL parameter is split at its commas unless it is repeated; JSON keeps lists and commas apart.
  if (
    Object.values(values).some(
      value => typeof value !== 'string' && value.length === 1 && value[0]!.includes(','),
    )
  ) {
    const json = ['-H "Content-Type: application/json"', `-d ${shell(JSON.stringify(values))}`];
    return [`curl ${shell(origin + path)}`, token, ...json].join(' \\\n  ');
  }
  const pairs = Object.entries(values).flatMap(([name, value]) =>
    [value].flat().map(text => `--data-urlencode ${shell(`${name}=${text}`)}`),
  );
  return [`curl -G ${shell(origin + path)}`, token, ...pairs].join(' \\\n  ');
}

/** Quotes for a POSIX shell. */
const shell = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** The operation that asks for the same rows. */
export function graphqlOperation(endpoint: Endpoint, values: Values): string {
  const { sql } = values;
  const isOwn = sql !== undefined && endpoint.graphql.sql_field !== undefined;
  const field = isOwn ? endpoint.graphql.sql_field : endpoint.graphql.field;
  const types = new Map(endpoint.parameters.map(parameter => [parameter.name, parameter.type]));
  const given = Object.entries({ ...fixedValues(endpoint), ...values }).map(([name, value]) => {
    return `    ${graphqlName(name)}: ${argument(types.get(name) ?? 'STRING', value)}`;
  });
  const columns = isOwn
    ? ['columns { name type }', 'rows']
    : endpoint.columns.map(({ name }) => graphqlName(name));
  const selected = columns.map(name => `    ${name}`).join('\n');
  // GraphQL has no empty parentheses.
  const passed = given.length > 0 ? `(\n${given.join('\n')}\n  )` : '';
  return `query ${graphqlTypeName(field ?? '')} {\n  ${field}${passed} {\n${selected}\n  }\n}`;
}

/** The schema is the same for all tokens, so a required argument that the token fixes is sent empty. */
function fixedValues({ parameters }: Endpoint): Values {
  const fixed = parameters.filter(({ fixed, required }) => fixed && required);
  return Object.fromEntries(fixed.map(({ name, repeated }) => [name, repeated ? [] : '']));
}

/** Values that GraphQL writes without quotes; of integers beyond 2^53 it takes the digits as a text. */
const bare: Readonly<Record<string, RegExp>> = {
  BOOL: /^(true|false)$/,
  INT64: /^-?(0|[1-9]\d{0,14})$/,
  FLOAT64: /^-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?$/i,
};

function argument(type: string, value: string | readonly string[]): string {
  if (typeof value !== 'string') return `[${value.map(text => argument(type, text)).join(', ')}]`;
  if (type === 'enum') return value.toUpperCase().replace(/[^A-Z0-9_]/g, '_');
  return bare[type]?.test(value) ? value : JSON.stringify(value);
}

function typescript(origin: string, { path, columns }: Endpoint, values: Values): string {
  const isOwn = values.sql !== undefined;
  const row = columns
    .map(({ name, ...column }) => `  ${JSON.stringify(name)}: ${typeOf(column)};`)
    .join('\n');
  const type = isOwn ? 'type Row = Record<string, unknown>;' : `type Row = {\n${row}\n};`;
  const body = JSON.stringify(values, undefined, 2).replaceAll('\n', '\n  ');
  return `${type}

const response = await fetch(${JSON.stringify(origin + path)}, {
  method: 'POST',
  headers: { 'x-api-key': process.env.TOKEN ?? '', 'content-type': 'application/json' },
  body: JSON.stringify(${body}),
});
const { result, error } = (await response.json()) as { result: Row[]; error?: { message: string } };
if (error) throw new Error(error.message);
console.log(result);`;
}

function typeOf({ type, repeated, mode, required }: Omit<Column, 'name'>): string {
  const scalar = { INT64: 'number', TIMESTAMP: 'number', FLOAT64: "number | 'NaN' | 'Infinity' | '-Infinity'", BOOL: 'boolean', STRUCT: 'Record<string, unknown>' }[type] ?? 'string'; // biome-ignore format: a table
  return repeated || mode === 'REPEATED' ? `readonly (${scalar})[]` : scalar + (required ? '' : ' | null');
}
