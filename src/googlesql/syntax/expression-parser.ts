import type { CallSyntax, Expression, OrderItem, Query, WindowSpec } from '../tree/syntax-tree.ts';

/**
 * How the parts of the grammar reach each other: a query holds expressions, which hold queries.
 * @param head the query in parentheses that it begins with, where that has been read
 */
export type QueryRule = (head?: Query) => Query;

/** The rules of the expression grammar that other parts of the grammar use. */
export type ExpressionParser = {
  expression(): Expression;
  orderItems(): readonly OrderItem[];
  windowSpec(): WindowSpec;
  /** An operand of a comparison: everything that binds tighter than `=`. */
  operand(): Expression;
  call(name: CallSyntax['name']): CallSyntax;
  /** The query that begins with a subquery which has been read, `(select 1) union all (select 2)`; undefined where it ends with that. */
  queryAfter(head: Expression): Query | undefined;
};
