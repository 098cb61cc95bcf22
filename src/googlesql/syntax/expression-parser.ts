import type { CallSyntax, Expression, OrderItem, Query, WindowSpec } from '../tree/syntax-tree.ts';

/**
 * How the parts of the grammar call each other: a query contains expressions, which contain queries.
 * @param head the query in parentheses with which it begins, if that has been parsed already
 */
export type QueryRule = (head?: Query) => Query;

/** The rules of the expression grammar that other parts of the grammar use. */
export type ExpressionParser = {
  expression(): Expression;
  orderItems(): readonly OrderItem[];
  windowSpec(): WindowSpec;
  /** An operand of a comparison: everything that binds tighter than `=`. */
  operand(): Expression;
  /** @param first the argument before the dot of a chained call, `(x).upper()` */
  call(name: CallSyntax['name'], first?: Expression): CallSyntax;
  /** Continues a query whose first subquery has been parsed, `(select 1) union all (select 2)`; undefined if it ends there. */
  queryAfter(head: Expression): Query | undefined;
};
