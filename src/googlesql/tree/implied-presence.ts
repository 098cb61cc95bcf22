import type { BoundExpression, BoundFrom } from './bound-tree.ts';

type Unnest = Extract<BoundFrom, { kind: 'unnest' }>;

/** The UNNESTs of a FROM clause by relation, and values none of which is NULL in a row that is kept. */
type Known = { readonly unnests: Map<number, Unnest>; readonly values: BoundExpression[] };

/**
 * Finds the records of a FROM clause that need no test of their presence: every row that WHERE and the inner ON conditions
 * keep has a value inside of them, and where a value is, all the records around it are.
 * What lies under an outer join keeps its tests: a condition there does not decide which rows stay.
 * @returns relations of UNNESTs
 */
export function impliedPresence(from: BoundFrom, where?: BoundExpression): ReadonlySet<number> {
  const known: Known = { unnests: new Map(), values: where ? valuesWhereTrue(where) : [] };
  collect(known, from);
  const implied = new Set<number>();
  for (const value of known.values) {
    let at = value;
    while (at.kind === 'field' || at.kind === 'column') {
      if (at.kind === 'field') {
        at = at.of;
        continue;
      }
      const unnest = known.unnests.get(at.relation);
      if (!unnest) break;
      implied.add(at.relation);
      at = unnest.array;
    }
  }
  return implied;
}

function collect({ unnests, values }: Known, from: BoundFrom): void {
  if (from.kind !== 'unnest' && from.kind !== 'join') return;
  const isInner = from.kind === 'unnest' ? !from.outer : from.join === 'CROSS' || from.join === 'INNER';
  if (isInner && from.on) values.push(...valuesWhereTrue(from.on));
  if (from.kind === 'unnest') {
    unnests.set(from.relation, from);
    // An array with an element is present, and so is everything around it; the test of the array itself stays.
    if (isInner) values.push(from.array);
    if (from.input) collect({ unnests, values }, from.input);
  } else if (isInner) {
    collect({ unnests, values }, from.left);
    collect({ unnests, values }, from.right);
  }
}

/** Values that are not NULL where a condition is true. */
export function valuesWhereTrue(condition: BoundExpression): BoundExpression[] {
  if (condition.kind !== 'call') return valuesBehind(condition);
  const [first] = condition.arguments;
  if (condition.name === 'AND') return condition.arguments.flatMap(valuesWhereTrue);
  // An array is never NULL, even if its storage is.
  if (condition.name === 'NOT' && first?.kind === 'isNull')
    return first.of.type.kind === 'ARRAY' ? [] : valuesBehind(first.of);
  return valuesBehind(condition);
}

/** Values that are not NULL if the expression made of them is not. */
function valuesBehind(expression: BoundExpression): BoundExpression[] {
  if (expression.kind === 'field' || expression.kind === 'column') return [expression];
  if (expression.kind === 'cast') return expression.type.kind === 'ARRAY' ? [] : valuesBehind(expression.of);
  if (expression.kind !== 'call') return [];
  // A list may hold NULL beside the value that is found in it.
  if (expression.name === 'IN') return valuesBehind(expression.arguments[0]!);
  return strictCalls.has(expression.name) ? expression.arguments.flatMap(valuesBehind) : [];
}

/** Calls that return NULL when one of their arguments is NULL, as printed. AND and OR are not among them. */
const strictCalls: ReadonlySet<string> = new Set([
  ...['=', '!=', '<', '<=', '>', '>=', 'LIKE', 'NOT'],
  ...['STARTS_WITH', 'ENDS_WITH', 'REGEXP_CONTAINS', 'LOWER', 'UPPER'],
]);
