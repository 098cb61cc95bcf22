import { parseQuery } from '../syntax/parse-query.ts';
import {
  type BindContext,
  type Binder,
  createStatementState,
  type Environment,
  type ParameterTypes,
  type StatementState,
  type TableReference,
} from '../tree/bind-context.ts';
import type { BoundQuery, BoundSubset } from '../tree/bound-tree.ts';
import { emptyScope } from '../tree/scope.ts';
import { invalidQuery, startOfText } from '../tree/sql-error.ts';
import type { Query } from '../tree/syntax-tree.ts';
import type { Catalog } from '../tree/types.ts';
import { bindExpression } from './bind-expression.ts';
import { bindQuery, bindSubsets } from './bind-query.ts';
import { bindPivot } from './relational/bind-pivot.ts';
import { bindUnpivot } from './relational/bind-unpivot.ts';

export type BindRequest = {
  /** The saved query in BigQuery SQL. */
  readonly sql: string;
  /** Replaces the saved query's final statement; sees only its top-level subsets. */
  readonly callerSql?: string;
  readonly catalog: Catalog;
  /** Declared parameters: every one nullable, or an array. */
  readonly parameterNames: readonly string[];
  /** The parameters that are arrays. Default: none. */
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
  /** The positions at which the saved query's text names base tables, in the order of binding. */
  readonly tables: readonly TableReference[];
  /** The saved query's top-level subsets, as they stand in its text. */
  readonly savedSubsets: readonly BoundSubset[];
  /** The subsets that the final statement refers to, directly or through others. */
  readonly reached: ReadonlySet<BoundSubset>;
};

/** Maximum length of a caller's SQL, in UTF-16 units. */
const maxCallerLength = 65_536;

/**
 * Maximum tokens of a caller's SQL. Compiling takes time per token: a text of 65,536 characters, nearly each of them a token, held the event
 * loop for up to 200 ms, twice what contract 11.2 allows (decision 101).
 */
export const maxCallerTokens = 20_000;

const binder: Binder = {
  expression: bindExpression,
  query: bindQuery,
  pivot: bindPivot,
  unpivot: bindUnpivot,
};

/**
 * Parses and binds a saved query, or a caller's SQL over its subsets.
 * The two texts are parsed separately and never joined. The caller's is bound in an environment whose only tables are the saved
 * subsets: there is no catalogue that a name could reach.
 */
export function bindStatement(request: BindRequest): BoundStatement {
  const { sql, callerSql } = request;
  const saved = parseSaved(sql);
  if (callerSql === undefined) {
    const { statement, environment, subsets } = bindSaved(request, saved);
    const readsBefore = statement.subsetReads.length;
    const query = bindQuery(contextOf(statement, environment), { ...saved, with: [] });
    return boundStatement(statement, subsets, query, readsBefore);
  }
  const caller = parseCaller(callerSql);
  const { statement: before, environment, subsets } = keptSaved(request, saved);
  // A caller's functions are listed separately, and its environment has no parent, so base tables are unreachable.
  const statement = before.fork();
  const query = bindQuery(contextOf(statement, { subsets: environment.subsets }), caller);
  return boundStatement(statement, subsets, query, 0);
}

const contextOf = (statement: StatementState, environment: Environment): BindContext => ({
  binder,
  statement,
  environment,
  scope: emptyScope,
  aggregatesRefusedIn: undefined,
  windows: new Map(),
});

function boundStatement(
  statement: StatementState,
  savedSubsets: readonly BoundSubset[],
  query: BoundQuery,
  readsBefore: number,
): BoundStatement {
  return {
    // A caller's subset hides a saved one of the same name; in printed SQL their ids distinguish them.
    query: { ...query, subsets: [...savedSubsets, ...query.subsets] },
    functions: [...statement.functions],
    tables: statement.tables,
    savedSubsets,
    reached: reachedFrom(statement.subsetReads.slice(readsBefore)),
  };
}

/** A saved query's bound top-level subsets, on which its final statement or a caller's builds. */
type BoundSaved = {
  readonly statement: StatementState;
  readonly environment: Environment;
  readonly subsets: readonly BoundSubset[];
};

function bindSaved(request: BindRequest, saved: Query): BoundSaved {
  const { catalog, parameterNames, arrayParameterNames = [] } = request;
  const { parameterTypes = new Map(), takesPostgresCasts = false } = request;
  const declarations = { parameterNames, arrayParameterNames, parameterTypes, takesPostgresCasts };
  const statement = createStatementState(declarations);
  const environment: Environment = { subsets: new Map(), parent: { subsets: new Map(), catalog } };
  const subsets = bindSubsets(contextOf(statement, environment), saved.with, saved.isRecursive);
  return { statement, environment, subsets };
}

/** By catalogue, then by the saved query and its declarations. */
const bound = new WeakMap<Catalog, Map<string, BoundSaved>>();

/** All callers' statements build on the same immutable subsets of a saved query; binding those took most of the time. */
function keptSaved(request: BindRequest, saved: Query): BoundSaved {
  const { sql, catalog, parameterNames, arrayParameterNames = [], parameterTypes = [] } = request;
  const { takesPostgresCasts = false } = request;
  const key = JSON.stringify([
    sql,
    parameterNames,
    arrayParameterNames,
    [...parameterTypes],
    takesPostgresCasts,
  ]);
  const ofCatalog = bound.get(catalog) ?? new Map<string, BoundSaved>();
  bound.set(catalog, ofCatalog);
  const known = ofCatalog.get(key);
  if (known) return known;
  const fresh = bindSaved(request, saved);
  if (ofCatalog.size >= maxKept) ofCatalog.clear();
  ofCatalog.set(key, fresh);
  return fresh;
}

function parseCaller(callerSql: string): Query {
  if (callerSql.length > maxCallerLength) {
    throw invalidQuery(`The query is too long; the limit is ${maxCallerLength} characters`, startOfText);
  }
  return parseQuery(callerSql, maxCallerTokens);
}

/** These subsets, and those that they read, and so on. */
function reachedFrom(reads: readonly BoundSubset[]): ReadonlySet<BoundSubset> {
  const reached = new Set(reads);
  // A set's iteration also visits what is added meanwhile.
  for (const { reads: further } of reached) for (const subset of further) reached.add(subset);
  return reached;
}

/** Maximum saved queries that are kept parsed, and bound for one catalogue; a service has few. */
const maxKept = 100;
const parsed = new Map<string, Query>();

/** All callers' statements need the same immutable tree of a saved query: it is kept by its text. */
function parseSaved(sql: string): Query {
  const known = parsed.get(sql);
  if (known) return known;
  const fresh = parseQuery(sql);
  if (parsed.size >= maxKept) parsed.clear();
  parsed.set(sql, fresh);
  return fresh;
}
