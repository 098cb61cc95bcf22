import { invalidQuery } from '../../tree/sql-error.ts';
import type { Expression } from '../../tree/syntax-tree.ts';

/** What LIMIT or OFFSET says: a literal. */
export function rowCount(expression: Expression | undefined, clause: string): number | undefined {
  if (!expression) return undefined;
  const isCount =
    expression.kind === 'literal' && expression.type === 'INT64' && !expression.value.startsWith('-');
  const count = isCount ? Number(expression.value) : Number.NaN;
  if (Number.isSafeInteger(count)) return count;
  throw invalidQuery(`${clause} expects a non-negative integer literal`, expression.at);
}
