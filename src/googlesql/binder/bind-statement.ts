import { parseQuery } from '../syntax/parse-query.ts';
import {
  type BindContext,
  type Binder,
  createStatementState,
  type Environment,
  type ParameterTypes,
  type TableReference,
} from '../tree/bind-context.ts';
import type { BoundQuery, BoundSubset } from '../tree/bound-tree.ts';
import { emptyScope } from '../tree/scope.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import type { Query } from '../tree/syntax-tree.ts';
import type { Catalog } from '../tree/types.ts';
import { bindExpression } from './bind-expression.ts';
import { bindQuery, bindSubsets } from './bind-query.ts';
import { bindPivot } from './relational/bind-pivot.ts';
import { bindUnpivot } from './relational/bind-unpivot.ts';

export type BindRequest = {
  /** The saved query in BigQuery SQL. */
  readonly sql: string;
  /** Replaces the saved query's final statement; sees its top-level subsets only. */
  readonly callerSql?: string;
  readonly catalog: Catalog;
  /** Declared parameters: every one nullable, or an array. */
  readonly parameterNames: readonly string[];
  /** Those of them that are arrays. Default: none. */
  readonly arrayParameterNames?: readonly string[];
  /** Types of parameters, of the elements of arrays. Default: STRING. */
  readonly parameterTypes?: ParameterTypes;
  /** Whether `::` casts to Postgres' names of types, which GoogleSQL refuses. Default: false. */
  readonly takesPostgresCasts?: boolean;
};

export type BoundStatement = {
  readonly query: BoundQuery;
  /** Functions that are called, in upper case. */
  readonly functions: readonly string[];
  /** Where the saved query's text names base tables, in the order of binding. */
  readonly tables: readonly TableReference[];
  /** The saved query's top-level subsets, as they stand in its text. */
  readonly savedSubsets: readonly BoundSubset[];
  /** Those of them whose names the final statement's text reaches: directly, or through others of them. */
  readonly reached: ReadonlySet<BoundSubset>;
};

/** Longest SQL of a caller, in UTF-16 units. */
const maxCallerLength = 65_536;

const binder: Binder = {
  expression: bindExpression,
  query: bindQuery,
  pivot: bindPivot,
  unpivot: bindUnpivot,
};

/**
 * Parses and binds a saved query, or a caller's SQL over its subsets.
 * The two texts are parsed apart and never joined. The caller's is bound where the saved subsets are the only
 * tables: there is no catalogue around it, so there is nothing that a name could reach.
 */
export function bindStatement(request: BindRequest): BoundStatement {
  const { sql, callerSql, catalog, parameterNames, arrayParameterNames = [] } = request;
  const { parameterTypes = new Map(), takesPostgresCasts = false } = request;
  const statement = createStatementState(
    parameterNames,
    arrayParameterNames,
    parameterTypes,
    takesPostgresCasts,
  );
  const context = (environment: Environment): BindContext => ({
    binder,
    statement,
    environment,
    scope: emptyScope,
    aggregatesRefusedIn: undefined,
    windows: new Map(),
  });
  const saved = parseSaved(sql);
  const caller = callerSql === undefined ? undefined : parseCaller(callerSql);
  const savedEnvironment: Environment = { subsets: new Map(), parent: { subsets: new Map(), catalog } };
  const savedSubsets = bindSubsets(context(savedEnvironment), saved.with, saved.isRecursive);
  const readsBefore = statement.subsetReads.length;
  // A caller's functions are listed alone, and its environment has no parent: base tables are out of its reach.
  if (caller) statement.functions.clear();
  const query = caller
    ? bindQuery(context({ subsets: savedEnvironment.subsets }), caller)
    : bindQuery(context(savedEnvironment), { ...saved, with: [] });
  return {
    // A caller's subset of the same name hides a saved one; ids keep the two apart in print.
    query: { ...query, subsets: [...savedSubsets, ...query.subsets] },
    functions: [...statement.functions],
    tables: statement.tables,
    savedSubsets,
    reached: reachedFrom(statement.subsetReads.slice(readsBefore)),
  };
}

function parseCaller(callerSql: string): Query {
  if (callerSql.length > maxCallerLength) {
    const at = { line: 1, column: 1 };
    throw invalidQuery(`The query is too long; the limit is ${maxCallerLength} characters`, at);
  }
  return parseQuery(callerSql);
}

/** These subsets, and those that they read, and so on. */
function reachedFrom(reads: readonly BoundSubset[]): ReadonlySet<BoundSubset> {
  const reached = new Set(reads);
  // A set's iteration also visits what is added meanwhile.
  for (const { reads: further } of reached) for (const subset of further) reached.add(subset);
  return reached;
}

/** Saved queries that are kept parsed; a service has few. */
const maxParsed = 100;
const parsed = new Map<string, Query>();

/** Every caller's statement needs the same saved query's tree, which nothing changes: it is kept by its text. */
function parseSaved(sql: string): Query {
  const known = parsed.get(sql);
  if (known) return known;
  const fresh = parseQuery(sql);
  if (parsed.size >= maxParsed) parsed.clear();
  parsed.set(sql, fresh);
  return fresh;
}
