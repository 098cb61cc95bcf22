import { GatewayError } from '../errors.ts';
import { type BindContext, type Binder, createStatementState, type Environment } from './bind-context.ts';
import { bindExpression } from './bind-expression.ts';
import { bindQuery, bindSubsets } from './bind-query.ts';
import type { BoundQuery } from './bound-tree.ts';
import { parseQuery } from './parse-query.ts';
import { emptyScope } from './scope.ts';
import { sandboxRefused } from './sql-error.ts';
import type { Catalog } from './types.ts';

export type BindRequest = {
  readonly sql: string;
  readonly callerSql?: string;
  readonly catalog: Catalog;
  readonly parameterNames: readonly string[];
};

export type BoundStatement = {
  readonly query: BoundQuery;
  /** Functions that are called, in upper case. */
  readonly functions: readonly string[];
};

const binder: Binder = { expression: bindExpression, query: bindQuery };

/**
 * Parses and binds a saved query, or a caller's SQL over its subsets.
 * The two texts are parsed apart and never joined. The caller's is bound where the saved subsets are the only
 * tables: there is no catalogue around it, so there is nothing that a name could reach.
 */
export function bindStatement({ sql, callerSql, catalog, parameterNames }: BindRequest): BoundStatement {
  const statement = createStatementState(parameterNames);
  const context = (environment: Environment): BindContext => ({
    binder,
    statement,
    environment,
    scope: emptyScope,
    aggregatesRefusedIn: undefined,
    windows: new Map(),
  });
  const saved = parseQuery(sql);
  const outside: Environment = { subsets: new Map(), catalog };
  if (callerSql === undefined) {
    const query = bindQuery(context(outside), saved);
    return { query, functions: [...statement.functions] };
  }
  const caller = parseCaller(callerSql);
  const savedSubsets: Environment = { subsets: new Map(), parent: outside };
  const subsets = bindSubsets(context(savedSubsets), saved.with);
  statement.functions.clear();
  const query = bindQuery(context({ subsets: savedSubsets.subsets }), caller);
  // A caller's subset of the same name hides a saved one; ids keep the two apart in print.
  return {
    query: { ...query, subsets: [...subsets, ...query.subsets] },
    functions: [...statement.functions],
  };
}

const statementWords =
  /^(?:create|drop|alter|insert|update|delete|merge|truncate|grant|revoke|call|execute|export|load|begin|declare|set|assert|commit|rollback|if|loop|while|repeat|for|raise|return|copy|attach|detach|install|pragma|explain|describe|show|use)\b/i;

/** What is no query at all, or more than one, is refused as a reach for something else. */
function parseCaller(text: string): ReturnType<typeof parseQuery> {
  try {
    return parseQuery(text);
  } catch (error) {
    if (!(error instanceof GatewayError) || !error.position) throw error;
    const isStatement = statementWords.test(textAt(text, error.position));
    const isSecond =
      error.message.includes('Expected end of input') && /;\s*$/.test(textBefore(text, error.position));
    if (!isStatement && !isSecond) throw error;
    const what = isSecond ? 'Only one statement is allowed' : 'Only a query is allowed';
    throw sandboxRefused(what, error.position);
  }
}

function textAt(text: string, { line, column }: { line: number; column: number }): string {
  return text
    .split('\n')
    .slice(line - 1)
    .join('\n')
    .slice(column - 1);
}

function textBefore(text: string, at: { line: number; column: number }): string {
  return text.slice(0, text.length - textAt(text, at).length);
}
