import type { Expression } from './syntax-tree.ts';

/** The name of a path is its last part; every other expression has none. */
export function impliedName(expression: Expression): string | undefined {
  if (expression.kind === 'path') return expression.parts.at(-1)?.name;
  return expression.kind === 'field' ? expression.name.name : undefined;
}
