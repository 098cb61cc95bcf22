import { sandboxRefused } from '../tree/sql-error.ts';
import type { FromItem, Identifier, JoinKind, Query } from '../tree/syntax-tree.ts';
import type { ExpressionParser } from './expression-parser.ts';
import { parsePivot } from './parse-pivot.ts';
import { startsSetOperator } from './parse-set-operator.ts';
import { maxDepth, type TokenCursor } from './token-cursor.ts';

type Join = Extract<FromItem, { kind: 'join' }>;

const joins: readonly (readonly [JoinKind, readonly [string, ...string[]]])[] = [
  ['CROSS', ['CROSS', 'JOIN']],
  ['INNER', ['INNER', 'JOIN']],
  ['INNER', ['JOIN']],
  ['LEFT', ['LEFT', 'OUTER', 'JOIN']],
  ['LEFT', ['LEFT', 'JOIN']],
  ['RIGHT', ['RIGHT', 'OUTER', 'JOIN']],
  ['RIGHT', ['RIGHT', 'JOIN']],
  ['FULL', ['FULL', 'OUTER', 'JOIN']],
  ['FULL', ['FULL', 'JOIN']],
];

const refusedOperators = ['NATURAL', 'PIVOT', 'UNPIVOT', 'TABLESAMPLE', 'MATCH_RECOGNIZE'];

/** The grammar after FROM: tables, array paths, UNNEST, derived tables and joins of them. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one closure over the cursor, of small rules
export function createFromParser(cursor: TokenCursor, expressions: ExpressionParser, query: () => Query) {
  return { from, join };

  function from(): FromItem {
    let left = joined(primary());
    while (cursor.isSymbol(',')) {
      const { at } = cursor.next();
      left = joined({ kind: 'join', join: 'CROSS', left, right: primary(), at }, { followsComma: true });
    }
    return left;
  }

  /** The joins after an item. After a comma, RIGHT and FULL are refused: in SQL a comma binds looser than JOIN, in GoogleSQL equally. */
  function joined(first: FromItem, { followsComma = false } = {}): FromItem {
    let left = first;
    for (let next = join(left); next; next = join(left)) {
      if (followsComma && next.kind === 'join' && (next.join === 'RIGHT' || next.join === 'FULL'))
        cursor.fail(
          `Syntax error: ${next.join} JOIN must be parenthesized when following a comma join`,
          next.at,
        );
      left = next;
      while (cursor.isKeyword('ON') || cursor.isKeyword('USING')) left = withCondition(left);
    }
    if (refusedOperators.includes(cursor.peek().keyword))
      cursor.fail(`${cursor.peek().keyword} is not supported`);
    return left;
  }

  /** The join that begins here, given its left side; undefined if none begins. */
  function join(left: FromItem): FromItem | undefined {
    const { at } = cursor.peek();
    const kind = joins.find(([, words]) => cursor.takeKeyword(...words))?.[0];
    if (!kind) return undefined;
    const right = primary();
    return { kind: 'join', join: kind, left, right, at, ...(kind === 'CROSS' ? {} : joinCondition()) };
  }

  /** `a join b join c on … on …`: a further condition belongs to the last earlier join without one, and the items after that join are its right side. */
  function withCondition(item: FromItem): FromItem {
    const after: Join[] = [];
    let open = item;
    if (item.kind === 'join' && item.join === 'CROSS') return cursor.unexpected();
    while (open.kind === 'join' && (open.join === 'CROSS' || open.on || open.using)) {
      after.push(open);
      open = open.left;
    }
    if (open.kind !== 'join') return cursor.unexpected();
    let { right } = open;
    for (const join of after.toReversed()) right = { ...join, left: right };
    return { ...open, right, ...joinCondition() };
  }

  function joinCondition(): Pick<Join, 'on' | 'using'> {
    if (cursor.takeKeyword('ON')) return { on: expressions.expression() };
    if (!cursor.takeKeyword('USING')) return {};
    return { using: cursor.listInParentheses(() => cursor.identifier()) };
  }

  function primary(): FromItem {
    const item = plainItem();
    return parsePivot(cursor, expressions, item) ?? item;
  }

  function plainItem(): FromItem {
    const { at } = cursor.peek();
    if (cursor.isSymbol('(')) return cursor.nested(parenthesized);
    if (cursor.takeKeyword('UNNEST')) {
      const array = cursor.inParentheses(expressions.expression);
      return { kind: 'unnest', array, alias: alias(), offset: offsetAlias(), at };
    }
    if (cursor.isKeyword('LATERAL')) cursor.fail('LATERAL is not supported');
    const path = [tableName()];
    while (cursor.isSymbol('.') && !cursor.isSymbol('*', 1)) {
      cursor.next();
      path.push(cursor.anyIdentifier());
    }
    const written = path.map(part => part.name).join('.');
    if (cursor.isSymbol('(')) throw sandboxRefused(`Table-valued function not found: ${written}`, at);
    if (cursor.isSymbol('*') || cursor.isSymbol('.'))
      throw sandboxRefused('Wildcard tables are not supported', at);
    const named = alias();
    if (cursor.isKeyword('FOR')) {
      throw sandboxRefused('FOR SYSTEM_TIME AS OF is not supported', cursor.peek().at);
    }
    return { kind: 'table', path, alias: named, offset: offsetAlias(), at };
  }

  /** `(select …)` is a derived table, `(a join b …)` a join; nothing else may be in parentheses. */
  function parenthesized(): FromItem {
    const { at } = cursor.next();
    if (startsQuery()) {
      const inner = query();
      cursor.needSymbol(')');
      return { kind: 'derived', query: inner, alias: alias(), at };
    }
    const first = primary();
    const item = joined(first);
    if (item === first) cursor.unexpected('keyword JOIN');
    cursor.needSymbol(')');
    return item;
  }

  /** After `((select …)` follows the rest of a query, or an alias and the rest of a join: this needs a look ahead. */
  function startsQuery(): boolean {
    let ahead = 0;
    while (cursor.isSymbol('(', ahead)) ahead += 1;
    if (ahead > maxDepth) cursor.fail('The query is nested too deeply');
    if (!cursor.startsQuery(ahead)) return false;
    if (ahead === 0) return true;
    const [after, second, third] = cursor.peekAfterClosing(3);
    if ([')', '|>'].includes(after!.value) || ['ORDER', 'LIMIT'].includes(after!.keyword)) return true;
    return startsSetOperator([after!.keyword, second!.keyword, third!.keyword]);
  }

  function alias(): Identifier | undefined {
    if (cursor.takeKeyword('AS')) return cursor.identifier();
    if (refusedOperators.includes(cursor.peek().keyword)) return undefined;
    return cursor.startsName() ? cursor.identifier() : undefined;
  }

  function offsetAlias(): Identifier | undefined {
    const { at } = cursor.peek();
    if (!cursor.takeKeyword('WITH', 'OFFSET')) return undefined;
    return alias() ?? { name: 'offset', quoted: false, at };
  }

  /** The first part of a table's path may contain dashes without backticks: `my-project.data.logs`. */
  function tableName(): Identifier {
    const first = cursor.identifier('table name');
    if (first.quoted) return first;
    let { name } = first;
    while (cursor.isSymbol('-') && !cursor.peek().spaced && !cursor.peek(1).spaced) {
      if (!['name', 'integer'].includes(cursor.peek(1).kind)) break;
      cursor.next();
      name += `-${cursor.next().value}`;
    }
    return { ...first, name };
  }
}
