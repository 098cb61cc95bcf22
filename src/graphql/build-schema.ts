import type { GraphQLResolveInfo, GraphQLSchema } from 'graphql';
import { GatewayError } from '../base/errors.ts';
import { keptDigits } from '../base/json.ts';
import type { Column } from '../base/rows.ts';
import type { ColumnDefinition, EndpointDefinition, ParameterDefinition } from '../endpoints/definition.ts';
import { enumTypeName } from '../endpoints/graphql-names.ts';
import { graphqlName, graphqlTypeName, sqlFieldName } from '../endpoints/names.ts';
import { describeParameter } from '../endpoints/parameters/describe-parameter.ts';
import { type RawParameters, scalarTypeOf } from '../endpoints/parameters/read-parameter.ts';
import { addSqlTypes } from './add-sql-types.ts';
import { type Row, type Rows, rowConverter, withoutThen } from './read-rows.ts';
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
        listRows(
          endpoint,
          await context.loadRows(endpoint, parametersOf(endpoint, args), String(info.path.key)),
          context,
          info,
        ),
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
      resolve: (_root, args: Arguments, context, info) =>
        context.loadRowTexts(endpoint, parametersOf(endpoint, args), String(info.path.key)),
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

function parametersOf(endpoint: EndpointDefinition, args: Arguments): RawParameters {
  const parameters = endpoint.parameters.map(({ name }) => [name, args[graphqlName(name)]]);
  return { ...Object.fromEntries(parameters), sql: args.sql };
}

/** Lists the rows of a field. A caller's SQL may leave columns out, or give them other types; selecting one of those is an error of the whole field. */
function listRows(
  { columns: declared }: EndpointDefinition,
  { columns, rows, bytes }: Rows,
  context: FieldContext,
  info: GraphQLResolveInfo,
) {
  const convert = rowConverter(columns);
  const unfit = declared.flatMap(column => {
    const problem = problemOf(
      column,
      columns.find(({ name }) => name === column.name),
    );
    return problem === undefined ? [] : [{ column, problem }];
  });
  if (unfit.length === 0) return context.list(rows, info, { bytes, convert });
  let asked: string | undefined;
  const check = () => {
    if (asked !== undefined) throw new GatewayError('invalid_query', asked);
  };
  const getters: Row = {};
  for (const { column, problem } of unfit) {
    const get = () => {
      asked ??= problem;
      // The executor would report a null here as a bug.
      if (column.required || column.repeated) check();
      return null;
    };
    Object.defineProperty(getters, column.name, { get });
  }
  const toRow = (row: Row): Row => {
    const own: Record<string, unknown> = { ...convert(row) };
    for (const { column } of unfit) delete own[column.name];
    return Object.setPrototypeOf(own, getters);
  };
  return context.list(rows, info, { bytes, convert: toRow, check });
}

/** What is wrong with the column of a result that has a declared column's name; undefined if nothing is. */
function problemOf(column: ColumnDefinition, found: Column | undefined): string | undefined {
  const { name } = column;
  if (!found) return `Column "${name}" is not among those that \`sql\` returns`;
  if (fits(column, found)) return undefined;
  const is = found.mode === 'REPEATED' ? `ARRAY<${found.type}>` : found.type;
  const type = columnType(column);
  const allowed = isListField(column) ? `[${type}]` : type;
  return `Column "${name}" is ${is} in the result of \`sql\`; allowed: ${allowed}`;
}

/** Whether a column's field writes the values of a result's column: GraphQL's own types refuse some, ours none. */
function fits(column: ColumnDefinition, found: Column): boolean {
  const type = columnType(column);
  const isList = isListField(column);
  const isRepeated = found.mode === 'REPEATED';
  if (isList && !isRepeated) return false;
  if (type !== 'String' && type !== 'Boolean') return true;
  if (isRepeated && !isList) return false;
  return type === 'Boolean' ? found.type === 'BOOL' : found.type !== 'STRUCT' && found.type !== 'JSON';
}

/**
 * Makes what reads a column's field from a row.
 * @throws GatewayError `invalid_query` for NULL in a column that has none: a caller's SQL may give it
 */
function fieldReader(column: ColumnDefinition): (row: Row) => unknown {
  const { name, required, repeated } = column;
  // A caller's SQL may give it an integer beyond 2^53, which GraphQL's own type would not write.
  const written =
    columnType(column) === 'String' ? (value: unknown) => keptDigits(value) ?? value : withoutThen<unknown>;
  return row => {
    const value = row[name];
    if (value === null || value === undefined) {
      if (!required && !repeated) return null;
      throw new GatewayError('invalid_query', `Column "${name}" is NULL, which its field can not be`);
    }
    return Array.isArray(value) ? value.map(written) : written(value);
  };
}

/** Whether a column is a list in GraphQL; records are JSON, repeated ones too. */
const isListField = ({ repeated, type }: ColumnDefinition) => repeated && type !== 'STRUCT';

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
