import type { Column } from '../base/rows.ts';
import { type BindRequest, type BoundStatement, bindStatement } from './binder/bind-statement.ts';
import { resultColumns } from './binder/result-columns.ts';
import { printDuckDb } from './printer/print-duckdb.ts';
import { invalidQuery, onlyOnWarehouse, startOfText } from './tree/sql-error.ts';
import type { SqlType } from './tree/types.ts';
import type { WireShape } from './tree/wire-shape.ts';

export type CompileRequest = BindRequest & {
  /** Maximum rows; the rest is cut off. */
  readonly maxRows: number;
};

/** A value that DuckDB needs: a declared parameter, or the statement's one instant (TIMESTAMPTZ). */
export type CompiledParameter = {
  readonly name: string;
  /** DuckDB's name for it, without the dollar sign. */
  readonly placeholder: string;
  readonly kind: 'DECLARED' | 'NOW';
};

/** A statement for DuckDB that returns one VARCHAR column: each row as its JSON object, to be finished by `finishRow`. */
export type CompiledStatement = {
  readonly sql: string;
  /** The shapes with which `finishRow` converts a row to the wire form; absent if rows are final. */
  readonly shape: readonly WireShape[] | undefined;
  readonly columns: readonly Column[];
  /** Exactly the values that `sql` refers to. */
  readonly parameters: readonly CompiledParameter[];
  /** Base tables that are read, by their names in the catalogue. */
  readonly tables: readonly string[];
  /** Functions that are called, in upper case. */
  readonly functions: readonly string[];
};

/** Maximum characters of the DuckDB text; templates repeat their arguments, so nesting multiplies. */
const maxPrintedLength = 4_000_000;

/**
 * Compiles BigQuery SQL for DuckDB: parse, bind, print. Needs no value of any parameter.
 * @throws GatewayError `invalid_query` with line and column; `sandbox_refused` if a caller's SQL reaches outside its subsets
 */
export function compileForDuckDb(request: CompileRequest): CompiledStatement {
  try {
    return print(bindStatement(request), request);
  } catch (error) {
    // The stack overflowed, or an expression multiplies itself: there is no single position to report.
    if (error instanceof RangeError) throw invalidQuery('The query is too complex', startOfText);
    throw error;
  }
}

function print(bound: BoundStatement, { parameterNames, maxRows }: CompileRequest): CompiledStatement {
  const sketch = bound.query.columns.find(({ type }) => holdsSketch(type));
  if (sketch) throw onlyOnWarehouse(`A sketch as column ${sketch.name} of a result`, startOfText);
  const placeholderOf = (name: string) => `p${parameterNames.indexOf(name) + 1}`;
  const nowPlaceholder = 'now';
  const printed = printDuckDb(bound.query, { maxRows, placeholderOf, nowPlaceholder });
  if (printed.sql.length > maxPrintedLength) {
    throw invalidQuery('The query is too complex', startOfText);
  }
  const declared = parameterNames
    .filter(name => printed.parameterNames.has(name))
    .map(name => ({ name, placeholder: placeholderOf(name), kind: 'DECLARED' as const }));
  const clock = { name: 'current_timestamp', placeholder: nowPlaceholder, kind: 'NOW' as const };
  return {
    sql: printed.sql,
    shape: printed.shape,
    columns: resultColumns(bound.query.columns),
    parameters: printed.usesNow ? [...declared, clock] : declared,
    tables: printed.tables,
    functions: bound.functions,
  };
}

function holdsSketch(type: SqlType): boolean {
  if (type.kind === 'ARRAY') return holdsSketch(type.element);
  return type.kind === 'STRUCT' ? type.fields.some(field => holdsSketch(field.type)) : 'isSketch' in type;
}
