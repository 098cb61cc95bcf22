import {
  type BoundBody,
  type BoundExpression,
  type BoundFrom,
  type BoundQuery,
  childrenOf,
} from '../tree/bound-tree.ts';
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
  const holdsQuery = expression.kind === 'subquery' || expression.kind === 'inQuery';
  const size = childrenOf(expression).reduce(
    (sum, child, i) => {
      return sum + named(i) * perMacro * perCast * expansionSize(child, known);
    },
    holdsQuery ? querySize(expression.query, known) : 1,
  );
  known.set(expression, size);
  return size;
}

type Known = WeakMap<BoundExpression, number>;

/** An operand that is named twice, as BETWEEN does, takes the query that it holds along. */
function querySize({ subsets, body, orderBy }: BoundQuery, known: Known): number {
  const keys = orderBy.map(({ by }) => (typeof by === 'number' ? undefined : by));
  const inner = subsets.reduce((sum, subset) => sum + querySize(subset.query, known), 1);
  return inner + bodySize(body, known) + sizeOfAll(keys, known);
}

function bodySize(body: BoundBody, known: Known): number {
  if (body.kind === 'query') return querySize(body.query, known);
  if (body.kind === 'setOperation')
    return body.parts.reduce((sum, part) => sum + bodySize(part.body, known), 1);
  const { items, from, where, groupBy, having, qualify } = body;
  const keys = Array.isArray(groupBy) ? groupBy : [];
  return fromSize(from, known) + sizeOfAll([...items, ...keys, where, having, qualify], known);
}

function fromSize(from: BoundFrom | undefined, known: Known): number {
  switch (from?.kind) {
    case 'derived':
      return querySize(from.query, known);
    case 'join':
      return fromSize(from.left, known) + fromSize(from.right, known) + sizeOfAll([from.on], known);
    case 'unnest':
      return fromSize(from.input, known) + sizeOfAll([from.array, from.on], known);
    default:
      return 1;
  }
}

function sizeOfAll(expressions: readonly (BoundExpression | undefined)[], known: Known): number {
  return expressions.reduce((sum, one) => sum + (one ? expansionSize(one, known) : 0), 0);
}

/** How often a template names its argument of an index: `$2`, `${12}`, and whatever stands for all of them. */
function namesIn(template: string): (index: number) => number {
  const counts = new Map<number, number>();
  let ofAll = 0;
  for (const [, digit, digits, all] of template.matchAll(/\$(?:(\d)|\{(\d+)\}|(\*|\|\||null|and|or\b))/g)) {
    const index = Number(digit ?? digits) - 1;
    if (all) ofAll += 1;
    else counts.set(index, (counts.get(index) ?? 0) + 1);
  }
  return index => Math.max(1, ofAll + (counts.get(index) ?? 0));
}
