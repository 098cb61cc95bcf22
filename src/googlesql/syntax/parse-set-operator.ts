import type { SetOperator } from '../tree/syntax-tree.ts';
import type { TokenCursor } from './token-cursor.ts';

const operators = ['UNION', 'INTERSECT', 'EXCEPT'] as const;

const prefixes: readonly (readonly [SetOperator['outer'], readonly [string, ...string[]]])[] = [
  ['INNER', ['INNER']],
  ['FULL', ['FULL', 'OUTER']],
  ['FULL', ['FULL']],
  ['FULL', ['OUTER']],
  ['LEFT', ['LEFT', 'OUTER']],
  ['LEFT', ['LEFT']],
];

const isOperator = (word: string): boolean => operators.some(operator => operator === word);

/** Whether words begin a set operator: `UNION …`, `FULL OUTER UNION …`, and not a join. */
export function startsSetOperator([first = '', second = '', third = '']: readonly string[]): boolean {
  if (isOperator(first)) return true;
  return prefixes.some(
    ([, words]) => words[0] === first && (words.length === 1 ? isOperator(second) : isOperator(third)),
  );
}

/** `[LEFT | FULL | INNER] UNION ALL [BY NAME | [STRICT] CORRESPONDING [(columns)]]`, or undefined where none begins. */
export function takeSetOperator(cursor: TokenCursor): SetOperator | undefined {
  const { at } = cursor.peek();
  if (!startsSetOperator([0, 1, 2].map(ahead => cursor.peek(ahead).keyword))) return undefined;
  const outer = prefixes.find(([, words]) => cursor.takeKeyword(...words))?.[0];
  const operator = operators.find(word => cursor.takeKeyword(word))!;
  const all = cursor.takeKeyword('ALL');
  if (!all) cursor.needKeyword('DISTINCT');
  const match = takeMatch(cursor, outer);
  if (outer && !match) {
    cursor.fail(`${outer} in a set operation is for columns that match BY NAME or CORRESPONDING`, at);
  }
  return { operator, all, outer, match };
}

function takeMatch(cursor: TokenCursor, outer: SetOperator['outer']): SetOperator['match'] {
  const isByName = cursor.takeKeyword('BY', 'NAME');
  const isStrict = !isByName && cursor.takeKeyword('STRICT');
  if (isStrict && outer) cursor.fail('STRICT cannot be used with an outer mode in a set operation');
  if (isStrict && !cursor.isKeyword('CORRESPONDING')) cursor.needKeyword('CORRESPONDING');
  if (!isByName && !cursor.takeKeyword('CORRESPONDING')) return undefined;
  const mode = outer ?? (isByName || isStrict ? 'STRICT' : 'INNER');
  if (!cursor.takeKeyword(isByName ? 'ON' : 'BY')) return { mode };
  const columns = cursor.listInParentheses(() => cursor.identifier());
  return { mode, columns };
}
