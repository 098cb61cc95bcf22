import type { Expression, FromItem, Identifier, NamedExpression, UnpivotGroup } from '../tree/syntax-tree.ts';
import type { ExpressionParser } from './expression-parser.ts';
import type { TokenCursor } from './token-cursor.ts';

/** `PIVOT(…)` or `UNPIVOT(…)` after a FROM item; undefined where none begins. */
export function parsePivot(
  cursor: TokenCursor,
  expressions: ExpressionParser,
  of: FromItem,
): FromItem | undefined {
  const { at } = cursor.peek();
  if (cursor.isKeyword('PIVOT') && cursor.isSymbol('(', 1)) {
    cursor.next();
    const list = () => cursor.list(namedExpression);
    const [aggregates, by, values] = forIn(list, expressions.operand, namedExpression);
    return { kind: 'pivot', of, aggregates, by, values, alias: alias(), at };
  }
  if (!cursor.isKeyword('UNPIVOT')) return undefined;
  const nulls = ['INCLUDE', 'EXCLUDE'].find(word => cursor.peek(1).keyword === word);
  if (!cursor.isSymbol('(', nulls ? 3 : 1)) return undefined;
  for (let i = nulls ? 3 : 1; i > 0; i--) cursor.next();
  const [values, name, groups] = forIn(identifiers, () => cursor.identifier(), unpivotGroup);
  return {
    kind: 'unpivot',
    of,
    includesNulls: nulls === 'INCLUDE',
    values,
    name,
    groups,
    alias: alias(),
    at,
  };

  /** `(values FOR name IN (item, …))`. */
  function forIn<Values, Name, Item>(values: () => Values, name: () => Name, item: () => Item) {
    return cursor.inParentheses(() => {
      const from = values();
      cursor.needKeyword('FOR');
      const by = name();
      cursor.needKeyword('IN');
      return [from, by, cursor.listInParentheses(item)] as const;
    });
  }

  function namedExpression(): NamedExpression {
    const expression = expressions.expression();
    return { expression, alias: alias() };
  }

  function alias(): Identifier | undefined {
    const isName = cursor.startsName() && !['PIVOT', 'UNPIVOT'].includes(cursor.peek().keyword);
    return cursor.takeKeyword('AS') || isName ? cursor.identifier() : undefined;
  }

  /** `a`, or `(a, b)`. */
  function identifiers(): Identifier[] {
    const name = () => cursor.identifier();
    return cursor.isSymbol('(') ? cursor.listInParentheses(name) : [name()];
  }

  function unpivotGroup(): UnpivotGroup {
    const columns = identifiers();
    const isLabelled = cursor.takeKeyword('AS') || ['string', 'integer'].includes(cursor.peek().kind);
    const label: Expression | undefined = isLabelled ? expressions.operand() : undefined;
    return { columns, label };
  }
}
