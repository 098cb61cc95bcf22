import { invalidQuery } from './sql-error.ts';
import type { Expression } from './syntax-tree.ts';

/** A format, a pattern or a path that decides what is printed: it must be a string literal. */
export function constantText(what: string, expression: Expression | undefined, at: Expression['at']): string {
  if (expression?.kind === 'literal' && expression.type === 'STRING') return expression.value;
  throw invalidQuery(`${what} must be a string literal`, expression?.at ?? at);
}
