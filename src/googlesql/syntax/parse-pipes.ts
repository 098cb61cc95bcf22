import type {
  AggregateItem,
  Expression,
  FromItem,
  Identifier,
  OrderItem,
  PipeOperator,
  Query,
  Select,
  SelectItem,
} from '../tree/syntax-tree.ts';
import type { ExpressionParser } from './expression-parser.ts';
import { parseGroupBy } from './parse-group-by.ts';
import { parsePivot } from './parse-pivot.ts';
import { takeSetOperator } from './parse-set-operator.ts';
import type { TokenCursor } from './token-cursor.ts';

/** What pipe operators share with the clauses of a query. */
export type PipeParts = {
  readonly expressions: ExpressionParser;
  query(): Query;
  items(): readonly SelectItem[];
  windows(): Select['windows'];
  alias(): Identifier | undefined;
  /** A join that continues a FROM item; undefined where none begins. */
  join(left: FromItem): FromItem | undefined;
};

/** Operators of GoogleSQL that are not supported, by their first words. */
const refused =
  `CALL CREATE DESCRIBE EXPORT FORK GRAPH IF INSERT LOG MATCH_RECOGNIZE RECURSIVE STATIC_DESCRIBE
  TABLESAMPLE TEE WINDOW WITH`.split(/\s+/);

/** The operators after a query: `|> WHERE … |> SELECT …`. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one closure over the cursor, of small rules
export function parsePipes(cursor: TokenCursor, parts: PipeParts): readonly PipeOperator[] {
  const { expressions } = parts;
  const operators: PipeOperator[] = [];
  while (cursor.takeSymbol('|>')) operators.push(operator());
  return operators;

  function operator(): PipeOperator {
    const { at, keyword } = cursor.peek();
    if (cursor.takeKeyword('WHERE')) return { kind: 'where', at, condition: expressions.expression() };
    if (cursor.takeKeyword('ASSERT')) {
      const condition = expressions.expression();
      const payload = cursor.takeSymbol(',') ? list(expressions.expression) : [];
      return { kind: 'assert', at, condition, payload };
    }
    if (cursor.takeKeyword('SELECT')) return select(at);
    if (cursor.takeKeyword('EXTEND'))
      return { kind: 'extend', at, items: parts.items(), windows: parts.windows() };
    if (cursor.takeKeyword('SET')) return { kind: 'set', at, items: list(assignment) };
    if (cursor.takeKeyword('DROP')) return { kind: 'drop', at, names: list(() => cursor.identifier()) };
    if (cursor.takeKeyword('RENAME')) return { kind: 'rename', at, names: list(renaming) };
    if (cursor.takeKeyword('AS')) return { kind: 'as', at, name: cursor.identifier() };
    if (cursor.takeKeyword('AGGREGATE')) return aggregate(at);
    if (cursor.takeKeyword('DISTINCT')) return { kind: 'distinct', at };
    if (cursor.takeKeyword('ORDER', 'BY')) return { kind: 'orderBy', at, items: expressions.orderItems() };
    if (cursor.takeKeyword('LIMIT')) {
      const limit = expressions.expression();
      const offset = cursor.takeKeyword('OFFSET') ? expressions.expression() : undefined;
      return { kind: 'limit', at, limit, offset };
    }
    const input = { kind: 'input', at } as const;
    const join = parsePivot(cursor, expressions, input) ?? parts.join(input);
    if (join) return { kind: 'join', at, join };
    const setOperator = takeSetOperator(cursor);
    if (setOperator)
      return {
        kind: 'setOperation',
        at,
        operator: setOperator,
        queries: list(() => cursor.inParentheses(parts.query)),
      };
    if (refused.includes(keyword)) cursor.fail(`Pipe operator ${keyword} is not supported`);
    return cursor.unexpected('a pipe operator');
  }

  /** Items between commas; one more comma may follow the last. */
  function list<Item>(item: () => Item): Item[] {
    const items = [item()];
    while (cursor.takeSymbol(',')) {
      if (cursor.endsQuery()) break;
      items.push(item());
    }
    return items;
  }

  function select(at: Expression['at']): PipeOperator {
    const distinct = cursor.takeKeyword('DISTINCT');
    if (!distinct) cursor.takeKeyword('ALL');
    const as = (['STRUCT', 'VALUE'] as const).find(word => cursor.takeKeyword('AS', word));
    return { kind: 'select', at, distinct, as, items: parts.items(), windows: parts.windows() };
  }

  function assignment(): { name: Identifier; expression: Expression } {
    const name = cursor.identifier();
    cursor.needSymbol('=');
    return { name, expression: expressions.expression() };
  }

  function renaming(): { from: Identifier; to: Identifier } {
    const from = cursor.identifier();
    cursor.takeKeyword('AS');
    return { from, to: cursor.identifier() };
  }

  function aggregate(at: Expression['at']): PipeOperator {
    const items: AggregateItem[] = [];
    while (!startsGroupBy() && !cursor.endsQuery()) {
      items.push({ ...named(expressions.expression()), order: orderSuffix() });
      if (!cursor.takeSymbol(',')) break;
    }
    if (!startsGroupBy()) return { kind: 'aggregate', at, items, keys: [] };
    cursor.needKeyword('GROUP');
    const isOrdered = cursor.takeKeyword('AND', 'ORDER');
    cursor.needKeyword('BY');
    if (cursor.isKeyword('ALL')) cursor.fail('GROUP BY ALL is not supported in the pipe operator AGGREGATE');
    const keys: AggregateItem[] = [];
    const { sets } = parseGroupBy(cursor, expressions, key => {
      const item = named(key);
      keys.push({ ...item, order: orderSuffix() ?? (isOrdered ? ascending : undefined) });
    });
    return { kind: 'aggregate', at, items, keys, sets };
  }

  function startsGroupBy(): boolean {
    return cursor.isKeyword('GROUP', 'BY') || cursor.isKeyword('GROUP', 'AND', 'ORDER', 'BY');
  }

  function named(expression: Expression): Pick<AggregateItem, 'expression' | 'alias'> {
    return { expression, alias: parts.alias() };
  }

  function orderSuffix(): AggregateItem['order'] {
    const descending = cursor.takeKeyword('DESC');
    if (!descending && !cursor.takeKeyword('ASC')) return undefined;
    const nulls = (['FIRST', 'LAST'] as const).find(word => cursor.takeKeyword('NULLS', word));
    return { descending, nulls };
  }
}

const ascending: Omit<OrderItem, 'expression'> = { descending: false };
