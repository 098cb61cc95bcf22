import type { BindContext } from '../../tree/bind-context.ts';
import { call, type RowCount } from '../../tree/bound-tree.ts';
import { invalidQuery } from '../../tree/sql-error.ts';
import type { Expression } from '../../tree/syntax-tree.ts';

/**
 * Binds the operand of LIMIT or OFFSET: an INT64 literal or parameter.
 * @throws GatewayError `invalid_query` for anything else; NULL and negative values of a parameter fail when the query runs
 */
export function rowCount(
  context: BindContext,
  expression: Expression | undefined,
  clause: 'LIMIT' | 'OFFSET',
): RowCount | undefined {
  if (!expression) return undefined;
  const written = expression.kind === 'cast' ? expression.of : expression;
  // A cast to the operand's own type is allowed; binding removes it.
  const value = ['literal', 'parameter'].includes(written.kind)
    ? context.binder.expression(context, expression)
    : undefined;
  if (value?.type.kind === 'INT64') {
    if (value.kind === 'parameter') return call(clause, checkedCount(clause), [value], value.type);
    // No result has more rows than the largest safe integer.
    if (value.kind === 'literal' && !value.value.startsWith('-'))
      return Math.min(Number(value.value), Number.MAX_SAFE_INTEGER);
  }
  throw invalidQuery(
    `${clause} expects a non-negative integer literal or a parameter of type INT64`,
    expression.at,
  );
}

/** Checks a parameter: DuckDB would treat NULL as no limit, and refuse a negative number with an error that looks like a bug. */
const checkedCount = (clause: string) =>
  `(case when $1 >= 0 then $1 else bq_fail('${clause} expects a non-negative integer, not ' || coalesce(cast($1 as varchar), 'NULL')) end)`;
