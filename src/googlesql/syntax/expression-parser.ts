import type { CallSyntax, Expression, OrderItem, WindowSpec } from '../tree/syntax-tree.ts';

/** The rules of the expression grammar that other parts of the grammar use. */
export type ExpressionParser = {
  expression(): Expression;
  orderItems(): readonly OrderItem[];
  windowSpec(): WindowSpec;
  /** An operand of a comparison: everything that binds tighter than `=`. */
  operand(): Expression;
  call(name: CallSyntax['name']): CallSyntax;
};
