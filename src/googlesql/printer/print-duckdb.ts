import { type BoundQuery, call, type RowCount } from '../tree/bound-tree.ts';
import { createExpressionKeys } from '../tree/expression-keys.ts';
import { quoteText } from '../tree/quote-text.ts';
import { finalShape, storedRecordShape, type WireShape } from '../tree/wire-shape.ts';
import { createJsonReads, type JsonReads } from './json-reads.ts';
import { printExpression } from './print-expression.ts';
import { jsonWork, printJson } from './print-json.ts';
import { printQuery } from './print-query.ts';
import { aliasesIn, type Printer } from './printer.ts';

export type PrintOptions = {
  /** Maximum rows; the rest is cut off. */
  readonly maxRows: number;
  /** DuckDB's name for a declared parameter, without the dollar sign. */
  placeholderOf(parameterName: string): string;
  /** DuckDB's name for the statement's instant. */
  readonly nowPlaceholder: string;
};

/** Maximum `jsonWork` of a statement: that of a record of a thousand scalars, for which DuckDB takes half a second. */
const maxJsonWork = 1_000_000;

/** Maximum printed expressions of a statement; the longest accepted texts have some 60,000. */
const maxPrintedExpressions = 100_000;

/** Maximum characters of a statement's texts that are searched for names: each lambda searches everything in it. */
const maxCharactersRead = 4_000_000;

export type PrintedStatement = {
  readonly sql: string;
  /** The shapes for `finishRow`, by column; absent if rows are final. */
  readonly shape: readonly WireShape[] | undefined;
  readonly parameterNames: ReadonlySet<string>;
  readonly usesNow: boolean;
  /** Base tables that are read; a subset that nothing reads is not printed. */
  readonly tables: readonly string[];
};

/**
 * Prints a bound query as one DuckDB statement that returns each row as the text of its JSON object; stored records in it are
 * left to `finishRow`.
 * The JSON is made above ORDER BY and LIMIT: for the returned rows, not for all rows that are read.
 */
export function printDuckDb(query: BoundQuery, options: PrintOptions): PrintedStatement {
  const jsonReads = createJsonReads();
  const printed = printStatement(query, options, jsonReads);
  // The paths read of a JSON text are only known at the end, but printed in FROM.
  return jsonReads.isEmpty() ? printed : printStatement(query, options, jsonReads);
}

function printStatement(query: BoundQuery, options: PrintOptions, jsonReads: JsonReads): PrintedStatement {
  const parameterNames = new Set<string>();
  let usesNow = false;
  let depth = 0;
  let left = maxPrintedExpressions;
  const depths = new Map<string, number>();
  let unread = maxCharactersRead;
  const depthsIn = (sql: string): readonly number[] => {
    unread -= sql.length;
    if (unread < 0) throw new RangeError('Nested texts too long');
    return [...aliasesIn(sql)].flatMap(alias => depths.get(alias) ?? []);
  };
  const printer: Printer = {
    references: new Map(),
    groupedValues: new Map(),
    impliedRelations: new Set(),
    usedSubsets: new Map(),
    usedTables: new Set(),
    letDepth: 0,
    unionDepth: 0,
    jsonReads,
    filteredColumns: new Map(),
    keyOf: createExpressionKeys(),
    count: (expressions = 1) => {
      left -= expressions;
      if (left < 0) throw new RangeError('Too many expressions');
    },
    expression: printExpression,
    query: (self, inner, order) => {
      depth += 1;
      const sql = printQuery(self, inner, order);
      depth -= 1;
      return sql;
    },
    newAlias: () => {
      // With a dollar sign, which no column has in its name: a column of an inner query can't hide it.
      const alias = `r$${depths.size + 1}`;
      depths.set(alias, depth);
      return alias;
    },
    readsOuterQuery: sql => depthsIn(sql).some(found => found < depth),
    readsOwnQuery: sql => depthsIn(sql).some(found => found >= depth),
    readsOuterQueryOnly: sql => {
      const found = depthsIn(sql);
      // What belongs to queries within the text counts for neither.
      return found.some(own => own < depth) && !found.includes(depth);
    },
    parameter: name => {
      parameterNames.add(name);
      return `$${options.placeholderOf(name)}`;
    },
    now: () => {
      usesNow = true;
      return `$${options.nowPlaceholder}`;
    },
  };
  // One more row than the maximum, to see whether rows were cut off.
  const maxRows = options.maxRows + 1;
  const limited = { ...query, limit: atMost(maxRows, query.limit) };
  const rows = printQuery(printer, limited, { keepsOrder: true });
  const shapes = query.columns.map(({ type }) => storedRecordShape(type));
  const work = query.columns.reduce((sum, { type }, i) => sum + (shapes[i] ? 0 : jsonWork(type)), 0);
  if (work > maxJsonWork) throw new RangeError('Records too large');
  const fields = query.columns.map(({ name, type }, i) => {
    const value = shapes[i] ? `c${i}` : printJson(`c${i}`, type);
    return `${quoteText(name)}: ${value}`;
  });
  const sql = `select cast(to_json({${fields.join(', ')}}) as varchar) as "row" from (${rows})`;
  const shape = shapes.some(Boolean) ? shapes.map(stored => stored ?? finalShape) : undefined;
  return { sql, shape, parameterNames, usesNow, tables: [...printer.usedTables] };
}

function atMost(maxRows: number, limit: RowCount = maxRows): RowCount {
  return typeof limit === 'number'
    ? Math.min(limit, maxRows)
    : call('LIMIT', `least($1, ${maxRows})`, [limit], limit.type);
}
