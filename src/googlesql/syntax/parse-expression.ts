import {
  type CallSyntax,
  type Expression,
  type FrameBound,
  type OrderItem,
  plainCall,
  type Query,
  type WindowFrame,
  type WindowSpec,
} from '../tree/syntax-tree.ts';
import type { ExpressionParser, QueryRule } from './expression-parser.ts';
import { createPrimaryParser } from './parse-primary.ts';
import { startsSetOperator } from './parse-set-operator.ts';
import type { TokenCursor } from './token-cursor.ts';

/** The precedence levels of binary operators that bind tighter than comparisons, loosest first. */
const levels: ReadonlyMap<string, number> = new Map(
  [['|'], ['^'], ['&'], ['<<', '>>'], ['+', '-'], ['*', '/', '||']].flatMap((operators, level) =>
    operators.map(operator => [operator, level] as const),
  ),
);
/** Maximum operators of one precedence in a row: the time of DuckDB's planner grows with the cube of their number, to seconds for 450. */
const maxChain = 200;
/** The keywords that may follow the arguments of a call. */
const modifiers = ['IGNORE', 'RESPECT', 'HAVING', 'ORDER', 'LIMIT'];
const comparisons = ['=', '<', '>', '<=', '>=', '!=', '<>'];

/** The grammar of expressions; its functions are in order of precedence, loosest first. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one closure over the cursor, of small rules
export function createExpressionParser(cursor: TokenCursor, query: QueryRule): ExpressionParser {
  const parser: ExpressionParser = {
    expression,
    orderItems,
    windowSpec,
    operand: () => binary(0),
    call,
    queryAfter,
  };
  const primary = createPrimaryParser(cursor, parser, query);
  return parser;

  function expression(): Expression {
    return cursor.nested(or);
  }

  function or(): Expression {
    let left = and();
    while (cursor.isKeyword('OR')) left = joinWith('OR', left, and);
    return left;
  }

  function and(): Expression {
    let left = not();
    while (cursor.isKeyword('AND')) left = joinWith('AND', left, not);
    return left;
  }

  function not(): Expression {
    const { at } = cursor.peek();
    if (!cursor.takeKeyword('NOT')) return comparison();
    return { kind: 'unary', operator: 'NOT', of: cursor.nested(not), at };
  }

  function comparison(): Expression {
    const left = binary(0);
    const { at, value, kind } = cursor.peek();
    if (kind === 'symbol' && comparisons.includes(value)) {
      cursor.next();
      const operator = value === '<>' ? '!=' : value;
      const result: Expression = { kind: 'binary', operator, left, right: binary(0), at };
      if (cursor.peek().kind === 'symbol' && comparisons.includes(cursor.peek().value)) cursor.unexpected();
      return result;
    }
    if (cursor.takeKeyword('IS')) return is(left, at);
    const negated = cursor.isKeyword('NOT') && ['IN', 'LIKE', 'BETWEEN'].includes(cursor.peek(1).keyword);
    if (negated) cursor.next();
    if (cursor.takeKeyword('BETWEEN')) {
      const low = binary(0);
      cursor.needKeyword('AND');
      return { kind: 'between', of: left, low, high: binary(0), not: negated, at };
    }
    if (cursor.takeKeyword('LIKE')) return like(left, negated, at);
    if (cursor.takeKeyword('IN')) return inside(left, negated, at);
    return left;
  }

  function is(of: Expression, at: Expression['at']): Expression {
    const negated = cursor.takeKeyword('NOT');
    if (cursor.takeKeyword('DISTINCT', 'FROM')) {
      return { kind: 'isDistinct', left: of, right: binary(0), not: negated, at };
    }
    const what = (['NULL', 'TRUE', 'FALSE', 'UNKNOWN'] as const).find(word => cursor.takeKeyword(word));
    if (!what) return cursor.unexpected('keyword DISTINCT, FALSE, NULL or TRUE');
    return { kind: 'is', of, what, not: negated, at };
  }

  function like(of: Expression, negated: boolean, at: Expression['at']): Expression {
    const quantifier =
      cursor.takeKeyword('ANY') || cursor.takeKeyword('SOME')
        ? 'ANY'
        : cursor.takeKeyword('ALL')
          ? 'ALL'
          : 'ONE';
    if (quantifier === 'ONE') {
      return { kind: 'like', of, patterns: [binary(0)], quantifier, not: negated, at };
    }
    const fromArray = cursor.takeKeyword('UNNEST');
    cursor.needSymbol('(');
    if (fromArray || cursor.startsQuery()) {
      const array: Expression = fromArray
        ? expression()
        : { kind: 'subquery', form: 'ARRAY', query: query(), at };
      cursor.needSymbol(')');
      return { kind: 'likeArray', of, array, quantifier, not: negated, at };
    }
    const patterns = cursor.list(expression);
    cursor.needSymbol(')');
    return { kind: 'like', of, patterns, quantifier, not: negated, at };
  }

  function inside(of: Expression, negated: boolean, at: Expression['at']): Expression {
    const fromArray = cursor.takeKeyword('UNNEST');
    cursor.needSymbol('(');
    let result: Expression;
    if (fromArray) result = { kind: 'inArray', of, array: expression(), not: negated, at };
    else if (cursor.startsQuery()) {
      result = { kind: 'inQuery', of, query: query(), not: negated, at };
    } else {
      const first = expression();
      const longer = queryAfter(first);
      const list = () => [first, ...(cursor.takeSymbol(',') ? cursor.list(expression) : [])];
      result = longer
        ? { kind: 'inQuery', of, query: longer, not: negated, at }
        : inListOrQuery(of, list(), negated, at);
    }
    cursor.needSymbol(')');
    return result;
  }

  function queryAfter(head: Expression): Query | undefined {
    if (head.kind !== 'subquery' || head.form !== 'SCALAR') return undefined;
    const words = [0, 1, 2].map(ahead => cursor.peek(ahead).keyword);
    const goesOn =
      cursor.isSymbol('|>') || ['ORDER', 'LIMIT'].includes(words[0]!) || startsSetOperator(words);
    return goesOn ? query(head.query) : undefined;
  }

  /** A query in extra parentheses is still the query of IN, not a single value. */
  function inListOrQuery(
    of: Expression,
    list: readonly Expression[],
    not: boolean,
    at: Expression['at'],
  ): Expression {
    const [only] = list;
    return list.length === 1 && only?.kind === 'subquery' && only.form === 'SCALAR'
      ? { kind: 'inQuery', of, query: only.query, not, at }
      : { kind: 'inList', of, list, not, at };
  }

  /** An operand, and the following operators that bind at least as tight. */
  function binary(loosest: number): Expression {
    let left = unary();
    let [last, count] = [-1, 0];
    for (;;) {
      const { kind, value } = cursor.peek();
      const level = kind === 'symbol' ? levels.get(value) : undefined;
      if (level === undefined || level < loosest) return left;
      count = level === last ? count + 1 : 1;
      last = level;
      if (count > maxChain) cursor.fail(`Too many operators in a row; the limit is ${maxChain}`);
      left = joinWith(value, left, () => binary(level + 1));
    }
  }

  function joinWith(operator: string, left: Expression, right: () => Expression): Expression {
    const { at } = cursor.next();
    return { kind: 'binary', operator, left, right: right(), at };
  }

  function unary(): Expression {
    const { at } = cursor.peek();
    const operator = (['-', '+', '~'] as const).find(symbol => cursor.takeSymbol(symbol));
    if (!operator) return primary();
    const of = cursor.nested(unary);
    // `-9223372036854775808` is one literal: its digits alone would not fit.
    if (
      operator === '-' &&
      of.kind === 'literal' &&
      /^(INT64|FLOAT64)$/.test(of.type) &&
      !of.value.startsWith('-')
    ) {
      return { ...of, value: `-${of.value}`, at };
    }
    return { kind: 'unary', operator, of, at };
  }

  function call(name: CallSyntax['name'], first?: Expression): CallSyntax {
    if (first && name[0]!.name.toUpperCase() === 'GROUPING')
      cursor.fail('Function GROUPING does not support chained function calls', name[0]!.at);
    cursor.needSymbol('(');
    if (!first && cursor.takeSymbol('*')) {
      cursor.needSymbol(')');
      return { ...plainCall(name, []), star: true, over: over() };
    }
    const distinct = cursor.takeKeyword('DISTINCT');
    const named: NonNullable<CallSyntax['named']>[number][] = [];
    const isEmpty = cursor.isSymbol(')') || (first && modifiers.some(word => cursor.isKeyword(word)));
    const listed = isEmpty ? [] : cursor.list(() => argument(named));
    const values = [first, ...listed].filter(value => value !== undefined);
    const nulls = (['IGNORE', 'RESPECT'] as const).find(word => cursor.takeKeyword(word, 'NULLS'));
    const having = cursor.takeKeyword('HAVING') ? havingExtreme() : undefined;
    const orderBy = cursor.takeKeyword('ORDER', 'BY') ? orderItems() : [];
    const limit = cursor.takeKeyword('LIMIT') ? expression() : undefined;
    cursor.needSymbol(')');
    return { ...plainCall(name, values), named, distinct, nulls, having, orderBy, limit, over: over() };
  }

  /** An argument by position; one with a name goes among `named`. */
  function argument(named: NonNullable<CallSyntax['named']>[number][]): Expression | undefined {
    if (cursor.isSymbol('=>', 1)) {
      const name = cursor.identifier();
      cursor.needSymbol('=>');
      named.push({ name, value: expression() });
      return undefined;
    }
    if (named.length > 0)
      cursor.fail('Call to function must not specify positional arguments after named arguments');
    const value = expression();
    if (cursor.isSymbol('->')) cursor.fail('Lambda expressions are not supported');
    return value;
  }

  function havingExtreme(): NonNullable<CallSyntax['having']> {
    const extreme = cursor.takeKeyword('MAX') ? 'MAX' : 'MIN';
    if (extreme === 'MIN') cursor.needKeyword('MIN');
    return { extreme, expression: expression() };
  }

  function over(): WindowSpec | undefined {
    return cursor.takeKeyword('OVER') ? windowSpec() : undefined;
  }

  function windowSpec(): WindowSpec {
    if (!cursor.takeSymbol('(')) return { base: cursor.identifier(), partitionBy: [], orderBy: [] };
    const base = cursor.startsName() ? cursor.identifier() : undefined;
    const partitionBy = cursor.takeKeyword('PARTITION', 'BY') ? cursor.list(expression) : [];
    const orderBy = cursor.takeKeyword('ORDER', 'BY') ? orderItems() : [];
    const unit = (['ROWS', 'RANGE'] as const).find(word => cursor.takeKeyword(word));
    const spec = { base, partitionBy, orderBy, frame: unit && frame(unit) };
    cursor.needSymbol(')');
    return spec;
  }

  function frame(unit: WindowFrame['unit']): WindowFrame {
    if (!cursor.takeKeyword('BETWEEN')) return { unit, start: frameBound() };
    const start = frameBound();
    cursor.needKeyword('AND');
    return { unit, start, end: frameBound() };
  }

  function frameBound(): FrameBound {
    if (cursor.takeKeyword('UNBOUNDED', 'PRECEDING')) return { kind: 'UNBOUNDED PRECEDING' };
    if (cursor.takeKeyword('UNBOUNDED', 'FOLLOWING')) return { kind: 'UNBOUNDED FOLLOWING' };
    if (cursor.takeKeyword('CURRENT', 'ROW')) return { kind: 'CURRENT ROW' };
    const distance = expression();
    if (cursor.takeKeyword('PRECEDING')) return { kind: 'PRECEDING', distance };
    cursor.needKeyword('FOLLOWING');
    return { kind: 'FOLLOWING', distance };
  }

  /** `x COLLATE 'und:ci'` in ORDER BY: the function COLLATE. */
  function collated(value: Expression): Expression {
    if (!cursor.isKeyword('COLLATE')) return value;
    return plainCall([cursor.anyIdentifier()], [value, primary()]);
  }

  function orderItems(): readonly OrderItem[] {
    return cursor.list(() => {
      const value = collated(expression());
      const descending = cursor.takeKeyword('DESC');
      if (!descending) cursor.takeKeyword('ASC');
      const nulls = (['FIRST', 'LAST'] as const).find(word => cursor.takeKeyword('NULLS', word));
      return { expression: value, descending, nulls };
    });
  }
}
