import type { BindContext } from '../../tree/bind-context.ts';
import { call, type RowCount } from '../../tree/bound-tree.ts';
import { invalidQuery } from '../../tree/sql-error.ts';
import type { Expression } from '../../tree/syntax-tree.ts';

/**
 * What LIMIT or OFFSET says: an INT64, a literal or a parameter.
 * @throws GatewayError `invalid_query` for anything else; NULL and negative values of a parameter fail when the query runs
 */
export function rowCount(
  context: BindContext,
  expression: Expression | undefined,
  clause: 'LIMIT' | 'OFFSET',
): RowCount | undefined {
  if (!expression) return undefined;
  const written = expression.kind === 'cast' ? expression.of : expression;
  // A cast that changes nothing is allowed, and leaves what it is of.
  const value = ['literal', 'parameter'].includes(written.kind)
    ? context.binder.expression(context, expression)
    : undefined;
  if (value?.type.kind === 'INT64') {
    if (value.kind === 'parameter') return call(clause, checkedCount(clause), [value], value.type);
    // No query has more rows than that.
    if (value.kind === 'literal' && !value.value.startsWith('-'))
      return Math.min(Number(value.value), Number.MAX_SAFE_INTEGER);
  }
  throw invalidQuery(
    `${clause} expects a non-negative integer literal or a parameter of type INT64`,
    expression.at,
  );
}

/** NULL would be no limit to DuckDB, and a negative number a fault of ours. */
const checkedCount = (clause: string) =>
  `(case when $1 >= 0 then $1 else bq_fail('${clause} expects a non-negative integer, not ' || coalesce(cast($1 as varchar), 'NULL')) end)`;
