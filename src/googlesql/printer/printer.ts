import type { BoundExpression, BoundQuery } from '../tree/bound-tree.ts';
import type { KeyOf } from '../tree/expression-keys.ts';
import type { JsonReads } from './json-reads.ts';

/** What printing one statement carries along. */
export type Printer = {
  /** Where each column of each relation is to be found now: `relation.index` → DuckDB text. */
  readonly places: Map<string, string>;
  /**
   * Where fields that are keys of GROUP BY are to be found, by `keyOf`: DuckDB's subqueries see keys that are columns only. Each query adds
   * to a copy of what is known around it.
   */
  readonly groupedFields: Map<number, string>;
  /** Relations whose record other conditions show to be there: their presence is not tested. */
  readonly impliedRelations: Set<number>;
  /** Subsets that something printed reads, and how often. */
  readonly usedSubsets: Map<number, number>;
  /** Base tables that something printed reads. */
  readonly usedTables: Set<string>;
  /** What a lambda around the text goes by, see `printLet`: names of its values, and a way in for what DuckDB's lambdas can't hold. */
  readonly let?: {
    readonly names: ReadonlyMap<BoundExpression, string>;
    lift(value: BoundExpression): string;
  };
  /** Whether lambdas take the columns of their own query by names of their values, too; see `printLet`. */
  readonly liftsColumns?: boolean;
  /** How deep lambdas stand in one another here, see `printLet`. */
  readonly letDepth: number;
  /** How many FULL JOINs stand around that are printed as queries. */
  readonly unionDepth: number;
  readonly jsonReads: JsonReads;
  /** What is printed decides which rows stay. */
  readonly isCondition?: boolean;
  /** What is printed is a key of a window. */
  readonly isWindowKey?: boolean;
  /** Columns, by position, on which a query around has a condition. */
  readonly filteredColumns: Map<BoundQuery, Set<number>>;
  readonly keyOf: KeyOf;
  /**
   * Counts expressions that are printed. Default: one.
   * @throws RangeError once there are too many: templates repeat their arguments, so calls in one another multiply them
   */
  count(expressions?: number): void;
  expression(printer: Printer, expression: BoundExpression): string;
  /** Columns come out as `c0`, `c1` …; the order of rows counts only where it is asked for. */
  query(printer: Printer, query: BoundQuery, options: { keepsOrder: boolean }): string;
  /** A name for a table or an array's element in the query that is being printed. */
  newAlias(): string;
  /** Whether a text names something of a query around the one that is being printed. DuckDB's lambdas can't. */
  readsOuterQuery(sql: string): boolean;
  /** Whether a text names something of the query that is being printed itself. */
  readsOwnQuery(sql: string): boolean;
  /** Whether a text names something of queries around the one that is being printed, and nothing of that one. */
  readsOuterQueryOnly(sql: string): boolean;
  /** What the SELECT that is being printed takes as its own; absent behind it, in ORDER BY. */
  readonly own?: OwnRow | undefined;
  parameter(name: string): string;
  now(): string;
};

/**
 * A relation of one row beside those of a SELECT. An aggregate over columns of an outer query alone would be one of that query to
 * DuckDB; with a column of this relation in it, it is not.
 */
export type OwnRow = { alias?: string };

/** The aliases that a text names. What stands in quotes is a caller's text or name: `'r$1'` names nothing. */
export function aliasesIn(sql: string): ReadonlySet<string> {
  const found = new Set<string>();
  if (!sql.includes('r$')) return found;
  for (const [piece] of sql.matchAll(/'[^']*'|"[^"]*"|\br\$\d+\b/g))
    if (piece.startsWith('r')) found.add(piece);
  return found;
}

export const placeKey = (relation: number, index: number): string => `${relation}.${index}`;

/** What a subset goes by. No table's name begins with `_`: a source may be named `w1`. */
export const subsetName = (id: number): string => `_w${id}`;
