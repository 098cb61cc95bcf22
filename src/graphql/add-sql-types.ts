import type { GraphQLResolveInfo } from 'graphql';
import type { Column } from '../base/rows.ts';
import { columnsBytes, type Row, type Rows, type RowText } from './read-rows.ts';
import type { Builder, FieldContext } from './schema-builder.ts';

/** Adds the types that hold rows of unknown shape: their columns with BigQuery's types, and the rows as JSON. */
export function addSqlTypes(builder: Builder) {
  const column = builder.objectRef<Column>('SqlColumn');
  column.implement({
    description: 'A column of a result, or a field of a STRUCT.',
    fields: t => ({
      name: t.exposeString('name', { nullable: false }),
      type: t.exposeString('type', {
        nullable: false,
        description: "BigQuery's type, such as INT64 or STRUCT.",
      }),
      repeated: t.boolean({
        nullable: false,
        description: 'The value is an array.',
        resolve: ({ mode }) => mode === 'REPEATED',
      }),
      fields: t.field({
        type: [column],
        nullable: { list: true, items: false },
        description: 'The fields of a STRUCT.',
        resolve: ({ fields }, _args, context, info) => fields && listColumns(context, fields, info),
      }),
    }),
  });
  const result = builder.objectRef<Rows<Row | RowText>>('SqlResult');
  result.implement({
    description: "Rows of a caller's own SQL.",
    fields: t => ({
      columns: t.field({
        type: [column],
        nullable: { list: false, items: false },
        description: "In the statement's order.",
        resolve: ({ columns }, _args, context, info) => listColumns(context, columns, info),
      }),
      rows: t.field({
        type: ['JSON'],
        nullable: { list: false, items: false },
        description:
          'Objects by column name, in the JSON of the REST route: a TIMESTAMP is microseconds since 1970.',
        resolve: ({ rows, bytes }, _args, context, info) =>
          context.list(rows, info, { bytes, convert: row => row }),
      }),
    }),
  });
  return result;
}

function listColumns(context: FieldContext, columns: readonly Column[], info: GraphQLResolveInfo) {
  return context.list(columns, info, { bytes: columnsBytes(columns), convert: column => column });
}
