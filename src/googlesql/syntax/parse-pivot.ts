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
    cursor.needSymbol('(');
    const aggregates = cursor.list(namedExpression);
    cursor.needKeyword('FOR');
    const by = expressions.operand();
    cursor.needKeyword('IN');
    cursor.needSymbol('(');
    const values = cursor.list(namedExpression);
    cursor.needSymbol(')');
    cursor.needSymbol(')');
    return { kind: 'pivot', of, aggregates, by, values, alias: alias(), at };
  }
  if (!cursor.isKeyword('UNPIVOT')) return undefined;
  const nulls = ['INCLUDE', 'EXCLUDE'].find(word => cursor.peek(1).keyword === word);
  if (!cursor.isSymbol('(', nulls ? 3 : 1)) return undefined;
  for (let i = nulls ? 3 : 1; i > 0; i--) cursor.next();
  cursor.needSymbol('(');
  const values = identifiers();
  cursor.needKeyword('FOR');
  const name = cursor.identifier();
  cursor.needKeyword('IN');
  cursor.needSymbol('(');
  const groups = cursor.list(unpivotGroup);
  cursor.needSymbol(')');
  cursor.needSymbol(')');
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
    if (!cursor.takeSymbol('(')) return [cursor.identifier()];
    const names = cursor.list(() => cursor.identifier());
    cursor.needSymbol(')');
    return names;
  }

  function unpivotGroup(): UnpivotGroup {
    const columns = identifiers();
    const isLabelled = cursor.takeKeyword('AS') || ['string', 'integer'].includes(cursor.peek().kind);
    const label: Expression | undefined = isLabelled ? expressions.operand() : undefined;
    return { columns, label };
  }
}
