import SchemaBuilder from '@pothos/core';
import { GraphQLError, type GraphQLSchema } from 'graphql';
import type { ColumnDefinition, EndpointDefinition, ParameterDefinition } from '../endpoints/definition.ts';
import { graphqlName, graphqlTypeName } from '../endpoints/names.ts';
import { formatTimestamp } from '../parse-timestamp.ts';
import type { RawParameters } from '../pipeline/bind-parameters.ts';
import type { Row } from './read-rows.ts';

/** What a field needs to answer: the rows of one endpoint for one set of parameters. */
export type FieldContext = {
  readonly loadRows: (
    endpoint: EndpointDefinition,
    parameters: RawParameters,
    path: string,
  ) => Promise<readonly Row[]>;
};

type Scalar<T> = { Input: T; Output: T };

type Types = {
  Context: FieldContext;
  Scalars: {
    BigInt: Scalar<unknown>;
    DateTime: Scalar<unknown>;
    Float64: Scalar<unknown>;
    JSON: Scalar<unknown>;
  };
};

type Builder = PothosSchemaTypes.SchemaBuilder<PothosSchemaTypes.ExtendDefaultTypes<Types>>;

/**
 * Builds one typed field for each saved query from its definition alone (contract section 3).
 * Names, types, nullability and descriptions come from the header; types are sorted by name.
 */
export function buildSchema(endpoints: readonly EndpointDefinition[]): GraphQLSchema {
  const builder: Builder = new SchemaBuilder<Types>({});
  addScalars(builder);
  builder.queryType({ description: 'The saved queries.' });
  for (const endpoint of endpoints) addEndpoint(builder, endpoint);
  return builder.toSchema();
}

function addEndpoint(builder: Builder, endpoint: EndpointDefinition): void {
  const typeName = graphqlTypeName(endpoint.name);
  const row = builder.objectRef<Row>(`${typeName}Row`);
  row.implement({
    description: `A row of ${endpoint.name}.`,
    fields: t =>
      Object.fromEntries(
        endpoint.columns.map(column => [
          graphqlName(column.name),
          t.field({
            type: column.repeated && column.type !== 'STRUCT' ? [columnType(column)] : columnType(column),
            nullable: !column.required && !column.repeated,
            description: column.description,
            resolve: source => readColumn(column, source[column.name]) as never,
          }),
        ]),
      ),
  });
  const argumentTypes = endpoint.parameters.map(parameter => argumentType(builder, typeName, parameter));
  builder.queryField(graphqlName(endpoint.name), t =>
    t.field({
      type: [row],
      // Nullable: one field that fails leaves its neighbours their rows.
      nullable: { list: true, items: false },
      description: endpoint.description,
      args: Object.fromEntries(
        endpoint.parameters.map(({ name, description, required }, at) => [
          graphqlName(name),
          t.arg({ type: argumentTypes[at]!, required, description }),
        ]),
      ),
      resolve: (_root, args: Record<string, unknown>, { loadRows }, info) =>
        loadRows(
          endpoint,
          Object.fromEntries(endpoint.parameters.map(({ name }) => [name, args[graphqlName(name)]])),
          String(info.path.key),
        ),
    }),
  );
}

function argumentType(builder: Builder, typeName: string, parameter: ParameterDefinition) {
  switch (parameter.type) {
    case 'string':
    case 'regexp':
      return 'String';
    case 'timestamp':
      return 'DateTime';
    case 'enum':
      return builder.enumType(parameter.typeName ?? `${typeName}${graphqlTypeName(parameter.name)}`, {
        description: parameter.description,
        values: Object.fromEntries(parameter.values.map(value => [value.toUpperCase(), { value }])),
      });
  }
}

function columnType({
  type,
}: ColumnDefinition): 'String' | 'Boolean' | 'BigInt' | 'Float64' | 'DateTime' | 'JSON' {
  switch (type) {
    case 'BOOL':
      return 'Boolean';
    case 'INT64':
      return 'BigInt';
    case 'FLOAT64':
      return 'Float64';
    case 'TIMESTAMP':
    case 'DATETIME':
      return 'DateTime';
    case 'JSON':
    case 'STRUCT':
      return 'JSON';
    default:
      return 'String';
  }
}

function readColumn(column: ColumnDefinition, value: unknown): unknown {
  const read = columnReaders[column.type];
  if (!read || value === null) return value;
  return Array.isArray(value) && column.repeated ? value.map(read) : read(value);
}

/** From the wire form of contract section 2 to GraphQL's. */
const columnReaders: Partial<Record<ColumnDefinition['type'], (value: unknown) => unknown>> = {
  TIMESTAMP: micros => formatMicros(BigInt(String(micros))),
  DATETIME: text => `${text}Z`,
  JSON: text => JSON.parse(String(text)),
};

function formatMicros(micros: bigint): string {
  return formatTimestamp(micros).replace(/\.?0+Z$/, 'Z');
}

function addScalars(builder: Builder): void {
  builder.scalarType('BigInt', {
    description: 'A 64-bit integer, written as a number with all its digits.',
    serialize: value => value,
  });
  builder.scalarType('Float64', {
    description: 'A double-precision number; "NaN", "Infinity" and "-Infinity" are strings.',
    serialize: value => value,
  });
  builder.scalarType('JSON', {
    description: 'Any JSON value. Nested records of a log row are arrays, normally of one element.',
    serialize: value => value,
  });
  builder.scalarType('DateTime', {
    description:
      'An instant as ISO 8601 text to the microsecond, in UTC: `2026-01-15T10:00:00.123456Z`. ' +
      'As an argument any zone will do, and an empty text means that there is no bound.',
    serialize: value => value,
    parseValue: value => {
      if (typeof value === 'string') return value;
      throw new GraphQLError('DateTime must be a string such as "2026-01-15T10:00:00Z"');
    },
  });
}
