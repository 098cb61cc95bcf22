import type { Expression, GroupBy } from '../tree/syntax-tree.ts';
import type { ExpressionParser } from './expression-parser.ts';
import type { TokenCursor } from './token-cursor.ts';

/** Maximum grouping sets of a query: DuckDB needs some 2 MB for each. BigQuery: 4,096. */
const maxSets = 64;

/**
 * Parses GROUP BY, except ALL: keys, or the sets of ROLLUP, CUBE and GROUPING SETS.
 * @param afterKey parses what may follow a key
 */
export function parseGroupBy(
  cursor: TokenCursor,
  expressions: ExpressionParser,
  afterKey?: (key: Expression) => void,
): GroupBy {
  const keys: Expression[] = [];
  const { at } = cursor.peek();
  let sets = 0;
  const groupingSets = takeSets();
  if (groupingSets) {
    if (cursor.isSymbol(',')) cursor.fail('More than one ROLLUP, CUBE or GROUPING SETS is not supported');
    return { keys, sets: groupingSets };
  }
  if (cursor.isSymbol('(') && cursor.isSymbol(')', 1)) {
    cursor.next();
    cursor.next();
    return { keys, sets: [[]] };
  }
  do {
    if (startsSets()) cursor.fail(`GROUP BY with keys beside ${cursor.peek().keyword} is not supported`);
    key();
  } while (cursor.takeSymbol(','));
  return { keys };

  function key(): void {
    const expression = expressions.expression();
    keys.push(expression);
    afterKey?.(expression);
  }

  function startsSets(): boolean {
    if (cursor.isKeyword('GROUPING', 'SETS')) return true;
    return (cursor.isKeyword('ROLLUP') || cursor.isKeyword('CUBE')) && cursor.isSymbol('(', 1);
  }

  function takeSets(): number[][] | undefined {
    if (!startsSets()) return undefined;
    if (cursor.takeKeyword('GROUPING', 'SETS')) {
      return cursor.listInParentheses(() => takeSets() ?? oneSet()).flat();
    }
    const isCube = cursor.next().keyword === 'CUBE';
    const items = cursor.listInParentheses(keySet);
    return isCube ? cube(items) : rollup(items);
  }

  /** `a`, `(a, b)` or `()`: indexes of keys. */
  function keySet(): number[] {
    if (cursor.isSymbol('(') && cursor.isSymbol(')', 1)) {
      cursor.next();
      cursor.next();
      return [];
    }
    const expression = expressions.expression();
    const parts =
      expression.kind === 'struct' && expression.isTuple
        ? expression.fields.map(field => field.expression)
        : [expression];
    return parts.map(part => {
      afterKey?.(part);
      return keys.push(part) - 1;
    });
  }

  function oneSet(): number[][] {
    countSets(1);
    return [keySet()];
  }

  /** Called before the sets are made: those of a ROLLUP of 30,000 keys would take gigabytes. */
  function countSets(more: number): void {
    sets += more;
    if (sets > maxSets) cursor.fail(`The query has too many grouping sets; the limit is ${maxSets}`, at);
  }

  function cube(items: readonly number[][]): number[][] {
    countSets(2 ** items.length);
    return items.reduce<number[][]>((all, item) => all.flatMap(set => [[...set, ...item], set]), [[]]);
  }

  /** All items, all but the last, and so on down to none. */
  function rollup(items: readonly number[][]): number[][] {
    countSets(items.length + 1);
    return Array.from({ length: items.length + 1 }, (_, i) => items.slice(0, items.length - i).flat());
  }
}
