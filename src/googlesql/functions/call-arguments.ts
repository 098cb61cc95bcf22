import type { BindContext } from '../tree/bind-context.ts';
import type { BoundExpression } from '../tree/bound-tree.ts';
import { coerce } from '../tree/coercion.ts';
import { invalidQuery } from '../tree/sql-error.ts';
import type { CallSyntax, Expression } from '../tree/syntax-tree.ts';
import type { SqlType } from '../tree/types.ts';

/** The function of a call, without SAFE. */
export const nameOf = (syntax: CallSyntax) => syntax.name.at(-1)!.name.toUpperCase();

/** Arguments by name, each coerced to its type; absent if not given. */
export function namedArguments<Name extends string>(
  context: BindContext,
  syntax: CallSyntax,
  types: Readonly<Record<Name, SqlType>>,
): Partial<Record<Name, BoundExpression>> {
  const found: Partial<Record<Name, BoundExpression>> = {};
  for (const { name, value } of syntax.named ?? []) {
    const known = Object.keys(types).find((key): key is Name => key === name.name.toLowerCase());
    if (!known)
      throw invalidQuery(
        `Named argument ${name.name} not found in signature for call to function ${nameOf(syntax)}`,
        name.at,
      );
    if (found[known])
      throw invalidQuery(
        `Duplicate named argument ${name.name} found in call to function ${nameOf(syntax)}`,
        name.at,
      );
    found[known] = coerce(context.binder.expression(context, value), types[known], value.at);
  }
  return found;
}

/** The text of an argument that must be a string literal: a format, a pattern or a path, which decides what is printed. */
export function constantText(what: string, expression: Expression | undefined, at: Expression['at']): string {
  if (expression?.kind === 'literal' && expression.type === 'STRING') return expression.value;
  throw invalidQuery(`${what} must be a string literal`, expression?.at ?? at);
}
