import type { BoundExpression, BoundQuery } from '../tree/bound-tree.ts';
import type { KeyOf } from '../tree/expression-keys.ts';
import type { JsonReads } from './json-reads.ts';

/** The state of printing one statement. */
export type Printer = {
  /** How DuckDB refers to each column at present, by `relation.index`. */
  readonly references: Map<string, string>;
  /**
   * The columns of some keys of GROUP BY, by `keyOf`: of fields that subqueries read, because those see only keys that are columns in DuckDB;
   * and of keys with a subquery, because DuckDB does not recognise such a key where it is repeated. Each query extends a copy of the enclosing
   * query's map.
   */
  readonly groupedValues: Map<number, string>;
  /** Relations whose record is present according to other conditions: their presence is not tested. */
  readonly impliedRelations: Set<number>;
  /** Subsets that printed text reads, and how often. */
  readonly usedSubsets: Map<number, number>;
  /** Base tables that printed text reads. */
  readonly usedTables: Set<string>;
  /** The enclosing lambda, see `printLet`: names of its values, and a way to pass in expressions that DuckDB's lambdas can't contain. */
  readonly let?: {
    readonly names: ReadonlyMap<BoundExpression, string>;
    lift(value: BoundExpression): string;
  };
  /** Whether lambdas also refer to columns of their own query by the names of values; see `printLet`. */
  readonly liftsColumns?: boolean;
  /** Nesting depth of lambdas here, see `printLet`. */
  readonly letDepth: number;
  /** Number of enclosing FULL JOINs that are printed as queries. */
  readonly unionDepth: number;
  readonly jsonReads: JsonReads;
  /** Whether the printed condition decides which rows are kept. */
  readonly isCondition?: boolean;
  /** Whether the printed expression is a key of a window. */
  readonly isWindowKey?: boolean;
  /** Columns, by position, on which an enclosing query has a condition. */
  readonly filteredColumns: Map<BoundQuery, Set<number>>;
  readonly keyOf: KeyOf;
  /**
   * Counts expressions that are printed. Default: one.
   * @throws RangeError once there are too many: templates repeat their arguments, so nested calls multiply them
   */
  count(expressions?: number): void;
  expression(printer: Printer, expression: BoundExpression): string;
  /** Prints a query with columns `c0`, `c1` …; the order of rows matters only if requested. */
  query(printer: Printer, query: BoundQuery, options: { keepsOrder: boolean }): string;
  /** A name for a table or an array's element in the query that is being printed. */
  newAlias(): string;
  /** Whether a text names something of an enclosing query. DuckDB's lambdas can't. */
  readsOuterQuery(sql: string): boolean;
  /** Whether a text names something of the query that is being printed itself. */
  readsOwnQuery(sql: string): boolean;
  /** Whether a text names something of enclosing queries, and nothing of the query that is being printed. */
  readsOuterQueryOnly(sql: string): boolean;
  /** The own row of the SELECT that is being printed; absent in its ORDER BY. */
  readonly own?: OwnRow | undefined;
  parameter(name: string): string;
  now(): string;
};

/**
 * A relation of one row beside those of a SELECT. DuckDB would assign an aggregate over outer columns alone to the outer query; a column of
 * this relation in it prevents that.
 */
export type OwnRow = { alias?: string };

/** The aliases that a text names. Quoted text is a caller's text or name: `'r$1'` names nothing. */
export function aliasesIn(sql: string): ReadonlySet<string> {
  const found = new Set<string>();
  if (!sql.includes('r$')) return found;
  for (const [piece] of sql.matchAll(/'[^']*'|"[^"]*"|\br\$\d+\b/g))
    if (piece.startsWith('r')) found.add(piece);
  return found;
}

export const columnKey = (relation: number, index: number): string => `${relation}.${index}`;

/** The printed name of a subset. Names of tables never begin with `_`, but a source may be called `w1`. */
export const subsetName = (id: number): string => `_w${id}`;
