import { GatewayError } from '../base/errors.ts';
import type { Catalog, SqlType } from '../googlesql/tree/types.ts';
import { BigQueryFailure } from './answers/bigquery-failure.ts';
import type { SourceRead } from './assemble-sql.ts';

/** A column that a source has and its table lacks. */
export type MissingColumn = {
  readonly source: string;
  /** Path from the table's top: `event_message`, `metadata.request`. */
  readonly column: string;
};

/**
 * BigQuery's messages about unknown names. Our own front-end has bound the text before, so such a name is a column that the
 * table lacks. Source: messages of GoogleSQL's analyzer.
 */
const unknownName = [
  /^Unrecognized name: `?(?<name>[\w$-]+)/,
  /^Name `?(?<name>[\w$-]+)`? not found inside /,
  /^Field name `?(?<name>[\w$-]+)`? does not exist in STRUCT/,
  /^Column `?(?<name>[\w$-]+)`? in USING clause not found /,
];

const position = / at \[(?<line>\d+):\d+\]/;

/**
 * Finds the column that a table lacks in BigQuery's message about a text.
 * @param reads the sources of the text, and the lines that read them
 * @returns undefined if the message is about something else, or no source of the text has such a column
 */
export function missingColumn(
  failure: unknown,
  { catalog, reads }: { readonly catalog: Catalog; readonly reads: readonly SourceRead[] },
): MissingColumn | undefined {
  if (!(failure instanceof BigQueryFailure)) return undefined;
  const name = unknownName.map(form => form.exec(failure.message)?.groups?.name).find(Boolean);
  if (name === undefined) return undefined;
  const line = Number(position.exec(failure.message)?.groups?.line);
  const having = reads.flatMap(({ source, lines }) => {
    const paths = pathsTo(name.toLowerCase(), catalog.get(source)?.columns ?? []);
    const isThere = line >= lines.first && line <= lines.last;
    return paths.length === 0 ? [] : [{ source, column: pathAmong(paths, failure.message), isThere }];
  });
  // If a subset passes columns on by `select *`, the error is outside of the subset.
  const found = having.find(({ isThere }) => isThere) ?? having[0];
  return found && { source: found.source, column: found.column };
}

/** The error for the caller. */
export function missingColumnError({ source, column }: MissingColumn, cause: unknown): GatewayError {
  const message = `The query reads column ${column} of ${source}, which the warehouse's table lacks`;
  return new GatewayError('engine_failed', message, { isSourceFailure: true, cause });
}

/** The path that a message is about; the bare name where it may be one of several. */
function pathAmong(paths: readonly string[], message: string): string {
  const possible = message.startsWith('Field name') ? paths.filter(path => path.includes('.')) : paths;
  const onTop = possible.find(path => !path.includes('.'));
  const name = paths[0]!.split('.').at(-1)!;
  return onTop ?? (possible.length === 1 ? possible[0]! : name);
}

/** Columns and fields of this name, by their paths. */
function pathsTo(
  name: string,
  fields: readonly { readonly name: string; readonly type: SqlType }[],
): string[] {
  const here = fields.filter(field => field.name.toLowerCase() === name).map(field => field.name);
  const below = fields.flatMap(field =>
    pathsTo(name, fieldsOf(field.type)).map(path => `${field.name}.${path}`),
  );
  return [...here, ...below];
}

function fieldsOf(type: SqlType): readonly { readonly name: string; readonly type: SqlType }[] {
  if (type.kind === 'ARRAY') return fieldsOf(type.element);
  return type.kind === 'STRUCT' ? type.fields : [];
}
