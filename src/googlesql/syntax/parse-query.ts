import { invalidQuery, sandboxRefused } from '../tree/sql-error.ts';
import type {
  Identifier,
  Query,
  QueryBody,
  Select,
  SelectItem,
  SetOperator,
  WithItem,
} from '../tree/syntax-tree.ts';
import { createExpressionParser } from './parse-expression.ts';
import { createFromParser } from './parse-from.ts';
import { parseGroupBy } from './parse-group-by.ts';
import { parsePipes } from './parse-pipes.ts';
import { startsSetOperator, takeSetOperator } from './parse-set-operator.ts';
import { createTokenCursor, type TokenCursor } from './token-cursor.ts';

/** First words of statements other than queries: those of GoogleSQL, and of engines for which a text may be meant. */
const statementWords = new Set(
  `ALTER ANALYZE ASSERT ATTACH BEGIN BREAK CALL CHECKPOINT CLONE COMMIT CONTINUE COPY CREATE DECLARE DEFINE DELETE
  DESCRIBE DETACH DROP EXECUTE EXPLAIN EXPORT FOR GRANT IF IMPORT INSERT INSTALL ITERATE LEAVE LOAD LOOP MERGE MODULE
  PIVOT PRAGMA PREPARE RAISE RENAME REPEAT RESET RETURN REVOKE ROLLBACK RUN SET SHOW START SUMMARIZE TABLE TRUNCATE
  UNDROP UPDATE USE VACUUM VALUES WHILE`.split(/\s+/),
);

/**
 * Parses exactly one query; one `;` may follow it.
 * @param maxTokens as for `lex`
 * @throws GatewayError with line and column: `invalid_query`, or `sandbox_refused` for another kind of statement
 */
export function parseQuery(text: string, maxTokens?: number): Query {
  const cursor = createTokenCursor(text, maxTokens);
  return createQueryParser(cursor)();
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one closure over the cursor, of small rules
function createQueryParser(cursor: TokenCursor): () => Query {
  const expressions = createExpressionParser(cursor, query);
  const { from, join } = createFromParser(cursor, expressions, query);
  const pipeParts = { expressions, query, items: selectItems, windows, alias: optionalAlias, join };

  return function statement(): Query {
    if (!cursor.startsQuery() && !cursor.isSymbol('(')) {
      if (cursor.peek().kind === 'end') cursor.fail('Syntax error: Unexpected end of script');
      refuseStatement();
      cursor.unexpected('"(" or keyword SELECT or keyword WITH');
    }
    const result = query();
    const isEnded = cursor.takeSymbol(';');
    if (cursor.peek().kind === 'end') return result;
    if (isEnded) throw sandboxRefused('Only one statement is allowed', cursor.peek().at);
    return cursor.unexpected('end of input');
  };

  function refuseStatement(): void {
    const { keyword, at } = cursor.peek();
    if (statementWords.has(keyword)) throw sandboxRefused(`Only a query is allowed, not ${keyword}`, at);
  }

  function query(head?: Query): Query {
    return cursor.nested(() => {
      const { at } = head ?? cursor.peek();
      const isRecursive = cursor.isKeyword('WITH', 'RECURSIVE');
      const items = head ? [] : withItems();
      const body = queryBody(head);
      if (body.kind === 'from')
        return { at, with: items, isRecursive, body, orderBy: [], pipes: parsePipes(cursor, pipeParts) };
      const orderBy = cursor.takeKeyword('ORDER', 'BY') ? expressions.orderItems() : [];
      const limit = cursor.takeKeyword('LIMIT') ? expressions.expression() : undefined;
      const offset = limit && cursor.takeKeyword('OFFSET') ? expressions.expression() : undefined;
      return {
        at,
        with: items,
        isRecursive,
        body,
        orderBy,
        limit,
        offset,
        pipes: parsePipes(cursor, pipeParts),
      };
    });
  }

  function withItems(): readonly WithItem[] {
    if (!cursor.takeKeyword('WITH')) return [];
    cursor.takeKeyword('RECURSIVE');
    const names = new Set<string>();
    return cursor.list(() => {
      const name = cursor.identifier();
      cursor.needKeyword('AS');
      const item = { name, query: cursor.inParentheses(query) };
      const key = name.name.toLowerCase();
      if (names.has(key)) throw invalidQuery(`Duplicate alias ${name.name} for WITH subquery`, name.at);
      names.add(key);
      return item;
    });
  }

  function queryBody(head: Query | undefined): QueryBody {
    const { at } = head ?? cursor.peek();
    const parts: QueryBody[] = [head ? { kind: 'parenthesized', at, query: head } : primary()];
    let operation: SetOperator | undefined;
    for (let found = takeSetOperator(cursor); found; found = takeSetOperator(cursor)) {
      if (operation && !isSameOperator(operation, found)) {
        cursor.fail(
          'Syntax error: Different set operations cannot be used in the same query without using parentheses for grouping',
        );
      }
      operation ??= found;
      parts.push(primary());
    }
    return operation ? { kind: 'setOperation', at, ...operation, parts } : parts[0]!;
  }

  function primary(): QueryBody {
    const { at } = cursor.peek();
    if (cursor.takeKeyword('FROM')) return { kind: 'from', at, from: from() };
    if (!cursor.takeSymbol('(')) return select();
    const inner = query();
    cursor.needSymbol(')');
    const hasAlias = cursor.isSymbol('|>', cursor.isKeyword('AS') ? 2 : 1);
    const alias = hasAlias ? optionalAlias() : undefined;
    if (alias) return { kind: 'from', at, from: { kind: 'derived', query: inner, alias, at } };
    return { kind: 'parenthesized', at, query: inner };
  }

  function select(): Select {
    const { at } = cursor.peek();
    refuseStatement();
    cursor.needKeyword('SELECT');
    const distinct = cursor.takeKeyword('DISTINCT');
    if (!distinct) cursor.takeKeyword('ALL');
    const as = cursor.takeKeyword('AS', 'STRUCT')
      ? 'STRUCT'
      : cursor.takeKeyword('AS', 'VALUE')
        ? 'VALUE'
        : undefined;
    const items = selectItems();
    const source = cursor.takeKeyword('FROM') ? from() : undefined;
    if (!source) refuseClauses();
    const where = cursor.takeKeyword('WHERE') ? expressions.expression() : undefined;
    const groupBy = cursor.takeKeyword('GROUP', 'BY') ? groupItems() : undefined;
    const having = cursor.takeKeyword('HAVING') ? expressions.expression() : undefined;
    const qualify = cursor.takeKeyword('QUALIFY') ? expressions.expression() : undefined;
    const named = windows();
    return {
      kind: 'select',
      at,
      distinct,
      as,
      items,
      from: source,
      where,
      groupBy,
      having,
      qualify,
      windows: named,
    };
  }

  /** Refuses clauses of a SELECT without FROM: there is nothing to filter or group. LIMIT is allowed, and ORDER BY may belong to a set operation. */
  function refuseClauses(): void {
    const clause = ['WHERE', 'GROUP', 'HAVING', 'QUALIFY', 'WINDOW'].find(word => cursor.isKeyword(word));
    if (clause)
      cursor.fail(
        `Query without FROM clause cannot have a ${clause === 'GROUP' ? 'GROUP BY' : clause} clause`,
      );
  }

  /** A comma may follow the last item. */
  function selectItems(): readonly SelectItem[] {
    const items = [selectItem()];
    while (cursor.takeSymbol(',')) {
      if (endsList()) break;
      items.push(selectItem());
    }
    return items;
  }

  function endsList(): boolean {
    if (cursor.endsQuery()) return true;
    if (['FROM', 'ORDER', 'LIMIT', 'WINDOW'].some(word => cursor.isKeyword(word))) return true;
    return startsSetOperator([0, 1, 2].map(ahead => cursor.peek(ahead).keyword));
  }

  function selectItem(): SelectItem {
    const { at } = cursor.peek();
    if (cursor.takeSymbol('*')) return { kind: 'star', at, ...starModifiers() };
    const expression = expressions.expression();
    if (cursor.isSymbol('.') && cursor.isSymbol('*', 1)) {
      cursor.next();
      cursor.next();
      return { kind: 'star', at, of: expression, ...starModifiers() };
    }
    return { kind: 'expression', expression, alias: optionalAlias() };
  }

  function optionalAlias(): Identifier | undefined {
    return cursor.takeKeyword('AS') || cursor.startsName() ? cursor.identifier() : undefined;
  }

  function starModifiers() {
    const except: Identifier[] = [];
    const replace: { expression: ReturnType<typeof expressions.expression>; name: Identifier }[] = [];
    if (cursor.isKeyword('EXCEPT') && cursor.isSymbol('(', 1)) {
      cursor.next();
      except.push(...cursor.listInParentheses(() => cursor.anyIdentifier()));
    }
    if (cursor.isKeyword('REPLACE') && cursor.isSymbol('(', 1)) {
      cursor.next();
      replace.push(
        ...cursor.listInParentheses(() => {
          const expression = expressions.expression();
          cursor.takeKeyword('AS');
          return { expression, name: cursor.identifier() };
        }),
      );
    }
    return { except, replace };
  }

  function groupItems(): Select['groupBy'] {
    return cursor.takeKeyword('ALL') ? 'ALL' : parseGroupBy(cursor, expressions);
  }

  function windows(): Select['windows'] {
    if (!cursor.takeKeyword('WINDOW')) return [];
    return cursor.list(() => {
      const name = cursor.identifier();
      cursor.needKeyword('AS');
      return { name, spec: expressions.windowSpec() };
    });
  }
}

/** Whether two set operators may stand in one chain. */
function isSameOperator(a: SetOperator, b: SetOperator): boolean {
  const list = (operator: SetOperator) =>
    operator.match?.columns?.map(({ name }) => name.toLowerCase()).join();
  return (
    a.operator === b.operator && a.all === b.all && a.match?.mode === b.match?.mode && list(a) === list(b)
  );
}
