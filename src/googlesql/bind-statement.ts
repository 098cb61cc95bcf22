import {
  type BindContext,
  type Binder,
  createStatementState,
  type Environment,
  type TableReference,
} from './bind-context.ts';
import { bindExpression } from './bind-expression.ts';
import { bindQuery, bindSubsets } from './bind-query.ts';
import type { BoundQuery } from './bound-tree.ts';
import { parseQuery } from './parse-query.ts';
import { emptyScope } from './scope.ts';
import { invalidQuery } from './sql-error.ts';
import type { Query } from './syntax-tree.ts';
import type { Catalog } from './types.ts';

export type BindRequest = {
  readonly sql: string;
  readonly callerSql?: string;
  readonly catalog: Catalog;
  readonly parameterNames: readonly string[];
  /** Those of them that are lists. Default: none. */
  readonly arrayParameterNames?: readonly string[];
};

export type BoundStatement = {
  readonly query: BoundQuery;
  /** Functions that are called, in upper case. */
  readonly functions: readonly string[];
  /** Where the saved query's text names base tables, in the order of binding. */
  readonly tables: readonly TableReference[];
};

/** Longest SQL of a caller, in UTF-16 units. */
const maxCallerLength = 65_536;

const binder: Binder = { expression: bindExpression, query: bindQuery };

/**
 * Parses and binds a saved query, or a caller's SQL over its subsets.
 * The two texts are parsed apart and never joined. The caller's is bound where the saved subsets are the only
 * tables: there is no catalogue around it, so there is nothing that a name could reach.
 */
export function bindStatement(request: BindRequest): BoundStatement {
  const { sql, callerSql, catalog, parameterNames, arrayParameterNames = [] } = request;
  const statement = createStatementState(parameterNames, arrayParameterNames);
  const context = (environment: Environment): BindContext => ({
    binder,
    statement,
    environment,
    scope: emptyScope,
    aggregatesRefusedIn: undefined,
    windows: new Map(),
  });
  const saved = parseSaved(sql);
  const outside: Environment = { subsets: new Map(), catalog };
  if (callerSql === undefined) {
    const query = bindQuery(context(outside), saved);
    return { query, functions: [...statement.functions], tables: statement.tables };
  }
  if (callerSql.length > maxCallerLength) {
    const at = { line: 1, column: 1 };
    throw invalidQuery(`The query is too long; the limit is ${maxCallerLength} characters`, at);
  }
  const caller = parseQuery(callerSql);
  const savedSubsets: Environment = { subsets: new Map(), parent: outside };
  const subsets = bindSubsets(context(savedSubsets), saved.with);
  statement.functions.clear();
  const query = bindQuery(context({ subsets: savedSubsets.subsets }), caller);
  // A caller's subset of the same name hides a saved one; ids keep the two apart in print.
  return {
    query: { ...query, subsets: [...subsets, ...query.subsets] },
    functions: [...statement.functions],
    tables: statement.tables,
  };
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
