import { type BoundExpression, childrenOf } from './bound-tree.ts';
import { macroRepeats } from './duckdb-macros.ts';

/** Nodes that DuckDB may make of one expression; a long honest query has a few thousand. */
export const maxExpansionSize = 200_000;

/** A cast of a text names the text so often. */
const castRepeats = 8;

/**
 * Counts the nodes that DuckDB will hold for an expression once templates and macros are filled in: both may name
 * an argument several times, so that nesting multiplies. The count is kept in `known`.
 */
export function expansionSize(expression: BoundExpression, known: WeakMap<BoundExpression, number>): number {
  const found = known.get(expression);
  if (found !== undefined) return found;
  const isCall = expression.kind === 'call' || expression.kind === 'aggregate';
  const template = isCall ? expression.template : '';
  const perMacro = macroRepeats(template);
  // A cast of a text is printed as a check of the text and the cast.
  const perCast = expression.kind === 'cast' || expression.kind === 'element' ? castRepeats : 1;
  const named = namesIn(template);
  const size = childrenOf(expression).reduce((sum, child, i) => {
    return sum + named(i) * perMacro * perCast * expansionSize(child, known);
  }, 1);
  known.set(expression, size);
  return size;
}

/** How often a template names its argument of an index: `$2`, `${12}`, and whatever stands for all of them. */
function namesIn(template: string): (index: number) => number {
  const counts = new Map<number, number>();
  let ofAll = 0;
  for (const [, digit, digits, all] of template.matchAll(/\$(?:(\d)|\{(\d+)\}|(\*|\|\||null))/g)) {
    const index = Number(digit ?? digits) - 1;
    if (all) ofAll += 1;
    else counts.set(index, (counts.get(index) ?? 0) + 1);
  }
  return index => Math.max(1, ofAll + (counts.get(index) ?? 0));
}
