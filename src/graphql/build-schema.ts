import type { GraphQLResolveInfo, GraphQLSchema } from 'graphql';
import { GatewayError } from '../base/errors.ts';
import type { ColumnDefinition, EndpointDefinition, ParameterDefinition } from '../endpoints/definition.ts';
import { enumTypeName } from '../endpoints/graphql-names.ts';
import { graphqlName, graphqlTypeName, sqlFieldName } from '../endpoints/names.ts';
import { describeParameter } from '../endpoints/parameters/describe-parameter.ts';
import { scalarTypeOf } from '../endpoints/parameters/read-parameter.ts';
import { addSqlTypes } from './add-sql-types.ts';
import { type Row, type Rows, rowConverter } from './read-rows.ts';
import { type Builder, createSchemaBuilder, type FieldContext } from './schema-builder.ts';

/**
 * Builds the typed fields of each saved query from its definition alone (contract 3.4).
 * Names, types, nullability and descriptions come from the header. A sandboxed query has two fields: one whose rows are the
 * header's, and one that takes the caller's own SQL and gives rows of any shape.
 */
export function buildSchema(endpoints: readonly EndpointDefinition[]): GraphQLSchema {
  const builder = createSchemaBuilder();
  builder.queryType({ description: 'The saved queries.' });
  const sqlResult = endpoints.some(({ sandbox }) => sandbox) ? addSqlTypes(builder) : undefined;
  for (const endpoint of endpoints) {
    const argumentTypes = endpoint.parameters.map(parameter => argumentType(builder, endpoint, parameter));
    addRowsField(builder, endpoint, argumentTypes);
    if (endpoint.sandbox && sqlResult) addSqlField(builder, endpoint, argumentTypes, sqlResult);
  }
  // Sorting would build every type twice, half of the work; schemas that are written to files are sorted there.
  return builder.toSchema({ sortSchema: false });
}

type ArgumentType = ReturnType<typeof argumentType>;
type Arguments = Readonly<Record<string, unknown>>;

/** `logsAll`: the rows of the saved query, or of a caller's SQL that returns columns of the same names. */
function addRowsField(builder: Builder, endpoint: EndpointDefinition, types: readonly ArgumentType[]): void {
  const row = builder.objectRef<Row>(`${graphqlTypeName(endpoint.name)}Row`);
  row.implement({
    description: `A row of ${endpoint.name}.`,
    fields: t =>
      Object.fromEntries(
        endpoint.columns.map(column => [
          graphqlName(column.name),
          t.field({
            type: isListField(column) ? [columnType(column)] : columnType(column),
            nullable: !column.required && !column.repeated,
            description: column.description,
            // Pothos expects values of the type above, which is known from the header only at run time.
            resolve: fieldReader(column) as never,
          }),
        ]),
      ),
  });
  builder.queryField(graphqlName(endpoint.name), t =>
    t.field({
      type: [row],
      // Nullable: one field that fails leaves its neighbours their rows.
      nullable: { list: true, items: false },
      description: endpoint.description,
      args: {
        ...parameterArguments(endpoint, types, t.arg),
        ...(endpoint.sandbox
          ? {
              sql: t.arg.string({
                description: `BigQuery SQL over the subsets of ${endpoint.name} that returns some of its columns; for others there is ${sqlFieldName(endpoint.name)}.`,
              }),
            }
          : {}),
      },
      resolve: async (_root, args: Arguments, context, info) =>
        listRows(endpoint, await loadRows(endpoint, args, context, info), context, info),
    }),
  );
}

/** `logsAllSql`: rows of any shape. */
function addSqlField(
  builder: Builder,
  endpoint: EndpointDefinition,
  types: readonly ArgumentType[],
  sqlResult: ReturnType<typeof addSqlTypes>,
): void {
  builder.queryField(sqlFieldName(endpoint.name), t =>
    t.field({
      type: sqlResult,
      nullable: true,
      description: `Rows of a caller's own SQL over the subsets of ${endpoint.name}.`,
      args: {
        ...parameterArguments(endpoint, types, t.arg),
        sql: t.arg.string({
          required: true,
          description: 'One SELECT in BigQuery SQL; it replaces the saved final statement.',
        }),
      },
      resolve: (_root, args: Arguments, context, info) => loadRows(endpoint, args, context, info),
    }),
  );
}

function parameterArguments<Arg>(
  endpoint: EndpointDefinition,
  types: readonly ArgumentType[],
  arg: (options: { type: ArgumentType; required: boolean; description: string }) => Arg,
): Record<string, Arg> {
  return Object.fromEntries(
    endpoint.parameters.map((parameter, at) => [
      graphqlName(parameter.name),
      arg({
        type: types[at]!,
        required: parameter.required,
        description: describeParameter(endpoint, parameter),
      }),
    ]),
  );
}

function loadRows(
  endpoint: EndpointDefinition,
  args: Arguments,
  context: FieldContext,
  info: GraphQLResolveInfo,
): Promise<Rows> {
  const parameters = Object.fromEntries(
    endpoint.parameters.map(({ name }) => [name, args[graphqlName(name)]]),
  );
  return context.loadRows(endpoint, { ...parameters, sql: args.sql }, String(info.path.key));
}

/** Lists the rows of a field. A caller's SQL may leave columns out; selecting one of those is an error of the whole field. */
function listRows(
  { columns: declared }: EndpointDefinition,
  { columns, rows, bytes }: Rows,
  context: FieldContext,
  info: GraphQLResolveInfo,
) {
  const convert = rowConverter(columns);
  const absent = declared.filter(({ name }) => columns.every(column => column.name !== name));
  if (absent.length === 0) return context.list(rows, info, { bytes, convert });
  let asked: ColumnDefinition | undefined;
  const check = () => {
    if (asked) throw columnIsAbsent(asked);
  };
  const withAbsent: Row = {};
  for (const column of absent) {
    const get = () => {
      asked ??= column;
      // The executor would report a null here as a bug.
      if (column.required || column.repeated) check();
      return null;
    };
    Object.defineProperty(withAbsent, column.name, { get });
  }
  const toRow = (row: Row): Row => Object.setPrototypeOf({ ...convert(row) }, withAbsent);
  return context.list(rows, info, { bytes, convert: toRow, check });
}

/**
 * Makes what reads a column's field from a row.
 * @throws GatewayError `invalid_query` for a value that the field's type does not take: a caller's SQL may give the column NULL, or another type
 */
function fieldReader(column: ColumnDefinition): (row: Row) => unknown {
  const { name, required, repeated } = column;
  const type = columnType(column);
  const isList = isListField(column);
  const takes = (value: unknown) => value !== null && value !== undefined && isOf(type, value);
  return row => {
    const value = row[name];
    const isNull = value === null || value === undefined;
    if (isNull && !required && !repeated) return null;
    const isTaken = isList ? Array.isArray(value) && value.every(takes) : takes(value);
    if (isTaken) return value;
    const allowed = `${isList ? `[${type}!]` : type}${required || repeated ? '!' : ''}`;
    const found = isNull ? 'is NULL' : 'has a value of another type';
    throw new GatewayError('invalid_query', `Column "${name}" ${found}; allowed: ${allowed}`);
  };
}

/** Whether a column is a list in GraphQL; records are JSON, repeated ones too. */
const isListField = ({ repeated, type }: ColumnDefinition) => repeated && type !== 'STRUCT';

/** Whether GraphQL's own types write a value; ours write any. */
function isOf(type: ReturnType<typeof columnType>, value: unknown): boolean {
  if (type === 'String') return typeof value !== 'object';
  return type !== 'Boolean' || typeof value === 'boolean';
}

function columnIsAbsent({ name }: ColumnDefinition): GatewayError {
  return new GatewayError('invalid_query', `Column "${name}" is not among those that \`sql\` returns`);
}

function argumentType(builder: Builder, endpoint: EndpointDefinition, parameter: ParameterDefinition) {
  const type = elementType(builder, endpoint, parameter);
  return parameter.repeated ? ([type] as [typeof type]) : type;
}

function elementType(builder: Builder, endpoint: EndpointDefinition, parameter: ParameterDefinition) {
  if (parameter.type === 'enum') {
    const { values = [], description } = parameter;
    return builder.enumType(enumTypeName(endpoint.name, parameter), {
      description,
      values: Object.fromEntries(values.map(value => [value.toUpperCase(), { value }])),
    });
  }
  if (parameter.type === 'timestamp') return 'DateTime';
  const type = scalarTypeOf(parameter);
  return type === 'INT64' && isOf32Bits(parameter) ? 'Int' : (argumentTypes[type] ?? 'String');
}

/** Whether all integers within the bounds fit GraphQL's own 32-bit type. */
function isOf32Bits({ min, max }: ParameterDefinition): boolean {
  return Number(min ?? -Infinity) >= -(2 ** 31) && Number(max ?? Infinity) < 2 ** 31;
}

/** GraphQL types by BigQuery type, for arguments and columns alike; all other types are strings. */
const scalarTypes = {
  BOOL: 'Boolean',
  INT64: 'BigInt',
  DATE: 'Date',
  TIMESTAMP: 'DateTime',
  DATETIME: 'DateTime',
  JSON: 'JSON',
} as const;

type ScalarTypes<Others> = Partial<
  Record<ColumnDefinition['type'], (typeof scalarTypes)[keyof typeof scalarTypes] | Others>
>;

const argumentTypes: ScalarTypes<'Float'> = { ...scalarTypes, FLOAT64: 'Float' };

function columnType({ type }: ColumnDefinition) {
  return columnTypes[type] ?? 'String';
}

/** Only columns can hold NaN and the infinities. */
const columnTypes: ScalarTypes<'Float64'> = { ...scalarTypes, FLOAT64: 'Float64', STRUCT: 'JSON' };
