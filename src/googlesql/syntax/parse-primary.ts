import { sandboxRefused } from '../tree/sql-error.ts';
import type { Expression, Identifier, SubscriptMode, TypeSyntax } from '../tree/syntax-tree.ts';
import type { ScalarKind } from '../tree/types.ts';
import type { ExpressionParser, QueryRule } from './expression-parser.ts';
import { parsePostgresType, parseType } from './parse-type.ts';
import { maxDepth, type TokenCursor } from './token-cursor.ts';

const subscriptModes: readonly SubscriptMode[] = ['OFFSET', 'SAFE_OFFSET', 'ORDINAL', 'SAFE_ORDINAL'];

/** `date '2026-01-15'` and its like: a type before a string literal. */
const typedLiterals: Readonly<Record<string, ScalarKind>> = {
  DATE: 'DATE',
  TIMESTAMP: 'TIMESTAMP',
  DATETIME: 'DATETIME',
  TIME: 'TIME',
  NUMERIC: 'NUMERIC',
  DECIMAL: 'NUMERIC',
  BIGNUMERIC: 'BIGNUMERIC',
  BIGDECIMAL: 'BIGNUMERIC',
  JSON: 'JSON',
};

const literalKinds: Readonly<Record<string, ScalarKind>> = {
  integer: 'INT64',
  float: 'FLOAT64',
  string: 'STRING',
  bytes: 'BYTES',
};

/** The grammar of one operand: a literal, a path, a call, a bracket; then its dots and subscripts. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one closure over the cursor, of small rules
export function createPrimaryParser(cursor: TokenCursor, parser: ExpressionParser, query: QueryRule) {
  return () => postfix(primary());

  function postfix(first: Expression): Expression {
    let of = first;
    let calls = 0;
    for (;;) {
      const { at } = cursor.peek();
      if (cursor.isSymbol('.') && !cursor.isSymbol('*', 1)) {
        cursor.next();
        // `(x).(safe.ln)()`: the name of a function in brackets where it has dots.
        const bracketed = cursor.isSymbol('(');
        const name = bracketed ? cursor.inParentheses(path) : [cursor.anyIdentifier()];
        const isCall = bracketed || cursor.isSymbol('(');
        if (isCall && ++calls > maxDepth) cursor.fail('The query is nested too deeply');
        of = isCall ? parser.call(name, of) : { kind: 'field', of, name: name[0]!, at };
      } else if (cursor.takeSymbol('[')) {
        of = subscript(of, at);
      } else if (cursor.isSymbol(':') && cursor.isSymbol(':', 1) && !cursor.peek(1).spaced) {
        of = { kind: 'cast', safe: false, of, to: parsePostgresType(cursor), isPostgres: true, at };
      } else return of;
    }
  }

  function subscript(of: Expression, at: Expression['at']): Expression {
    const mode = subscriptModes.find(word => cursor.isKeyword(word) && cursor.isSymbol('(', 1));
    if (mode) {
      cursor.next();
      cursor.needSymbol('(');
    }
    const index = parser.expression();
    if (mode) cursor.needSymbol(')');
    cursor.needSymbol(']');
    return { kind: 'subscript', of, mode: mode ?? 'BARE', index, at };
  }

  function primary(): Expression {
    const { kind, value, at } = cursor.peek();
    const literal = literalKinds[kind];
    if (literal) {
      cursor.next();
      return { kind: 'literal', type: literal, value, at };
    }
    switch (kind) {
      case 'parameter':
        cursor.next();
        return { kind: 'parameter', name: value, at };
      case 'systemVariable':
        throw sandboxRefused(`System variables are not supported: ${value}`, at);
      case 'quotedName':
        return pathOrCall();
      case 'name':
        return keywordExpression() ?? (cursor.isReserved() ? cursor.unexpected() : pathOrCall());
      case 'end':
        return cursor.fail('Syntax error: Unexpected end of script');
      default:
        return bracketed();
    }
  }

  function bracketed(): Expression {
    const { at } = cursor.peek();
    if (cursor.takeSymbol('[')) return arrayElements(at, undefined);
    if (cursor.isSymbol('?')) return cursor.fail('Positional parameters are not supported');
    if (!cursor.takeSymbol('(')) return cursor.unexpected();
    if (cursor.startsQuery()) return subquery('SCALAR', at);
    const first = parser.expression();
    const longer = parser.queryAfter(first);
    if (longer || !cursor.isSymbol(',')) {
      cursor.needSymbol(')');
      return longer ? { kind: 'subquery', form: 'SCALAR', query: longer, at } : first;
    }
    cursor.next();
    const fields = [first, ...cursor.list(parser.expression)].map(expression => ({ expression }));
    cursor.needSymbol(')');
    return { kind: 'struct', isTuple: true, fields, at };
  }

  /** `a.b.c`, and `safe.parse_date(…)` when a parenthesis follows. */
  function pathOrCall(): Expression {
    const parts = path();
    if (cursor.isSymbol('(')) return parser.call(parts);
    return { kind: 'path', parts, at: parts[0]!.at };
  }

  function path(): Identifier[] {
    const parts: Identifier[] = [cursor.identifier()];
    while (cursor.isSymbol('.') && !cursor.isSymbol('*', 1)) {
      cursor.next();
      parts.push(cursor.anyIdentifier());
    }
    return parts;
  }

  /** Expressions that start with a keyword; undefined when the word is a plain name here. */
  function keywordExpression(): Expression | undefined {
    const { keyword, at } = cursor.peek();
    const follows = cursor.peek(1);
    switch (keyword) {
      case 'NULL':
      case 'TRUE':
      case 'FALSE':
        cursor.next();
        return { kind: 'literal', type: keyword === 'NULL' ? 'NULL' : 'BOOL', value: keyword, at };
      case 'CASE':
        return caseExpression();
      case 'CAST':
      case 'SAFE_CAST':
        return follows.value === '(' ? cast() : undefined;
      case 'EXTRACT':
        return extract();
      case 'EXISTS':
        cursor.next();
        cursor.needSymbol('(');
        return subquery('EXISTS', at);
      case 'INTERVAL':
        return interval();
      case 'ARRAY':
        return array();
      case 'STRUCT':
        return struct();
      case 'RANGE':
        return follows.value === '(' ? parser.call([cursor.anyIdentifier()]) : rangeLiteral();
      case 'WITH':
        return follows.value === '(' ? withExpression() : undefined;
      case 'COLLATE':
      case 'IF':
      case 'GROUPING':
      case 'LEFT':
      case 'RIGHT':
        return follows.value === '(' ? parser.call([cursor.anyIdentifier()]) : undefined;
      default:
        return typedLiteral();
    }
  }

  function rangeLiteral(): Expression {
    const { at } = cursor.peek();
    if (!cursor.isSymbol('<', 1)) return cursor.unexpected();
    const type = parseType(cursor);
    if (type.kind !== 'scalar' || cursor.peek().kind !== 'string')
      return cursor.unexpected('a string literal');
    return { kind: 'literal', type: type.type, value: cursor.next().value, at };
  }

  /** `WITH(a AS 1, b AS a + 1, a * b)`: names for values, and an expression over them. */
  function withExpression(): Expression {
    const { at } = cursor.next();
    cursor.needSymbol('(');
    const variables: { name: Identifier; value: Expression }[] = [];
    while (cursor.startsName() && cursor.peek(1).keyword === 'AS') {
      const name = cursor.identifier();
      cursor.needKeyword('AS');
      variables.push({ name, value: parser.expression() });
      cursor.needSymbol(',');
    }
    if (variables.length === 0) cursor.unexpected('a name and AS');
    const body = parser.expression();
    cursor.needSymbol(')');
    return { kind: 'with', variables, body, at };
  }

  function typedLiteral(): Expression | undefined {
    const { keyword, at } = cursor.peek();
    if (cursor.peek(1).kind !== 'string' || !Object.hasOwn(typedLiterals, keyword)) return undefined;
    cursor.next();
    return { kind: 'literal', type: typedLiterals[keyword]!, value: cursor.next().value, at };
  }

  function subquery(form: 'SCALAR' | 'EXISTS' | 'ARRAY', at: Expression['at']): Expression {
    const inner = query();
    cursor.needSymbol(')');
    return { kind: 'subquery', form, query: inner, at };
  }

  function caseExpression(): Expression {
    const { at } = cursor.next();
    const operand = cursor.isKeyword('WHEN') ? undefined : parser.expression();
    const branches: { when: Expression; result: Expression }[] = [];
    while (cursor.takeKeyword('WHEN')) {
      const when = parser.expression();
      cursor.needKeyword('THEN');
      branches.push({ when, result: parser.expression() });
    }
    if (branches.length === 0) cursor.unexpected('keyword WHEN');
    const otherwise = cursor.takeKeyword('ELSE') ? parser.expression() : undefined;
    cursor.needKeyword('END');
    return { kind: 'case', operand, branches, otherwise, at };
  }

  function cast(): Expression {
    const { keyword, at } = cursor.next();
    cursor.needSymbol('(');
    const of = parser.expression();
    cursor.needKeyword('AS');
    const type = parseType(cursor, { mayHaveLimits: true });
    const limits = type.kind === 'scalar' && cursor.takeSymbol('(') ? cursor.list(parser.operand) : undefined;
    if (limits) cursor.needSymbol(')');
    const to = limits ? { ...type, limits } : type;
    const format = cursor.takeKeyword('FORMAT') ? [parser.expression()] : undefined;
    if (format && cursor.takeKeyword('AT', 'TIME', 'ZONE')) format.push(parser.expression());
    cursor.needSymbol(')');
    return { kind: 'cast', safe: keyword === 'SAFE_CAST', of, to, format, at };
  }

  function extract(): Expression {
    const { at } = cursor.next();
    cursor.needSymbol('(');
    const part = cursor.anyIdentifier().name.toUpperCase();
    let weekday: string | undefined;
    if (cursor.takeSymbol('(')) {
      weekday = cursor.anyIdentifier().name.toUpperCase();
      cursor.needSymbol(')');
    }
    cursor.needKeyword('FROM');
    const of = parser.expression();
    const zone = cursor.takeKeyword('AT', 'TIME', 'ZONE') ? parser.expression() : undefined;
    cursor.needSymbol(')');
    return { kind: 'extract', part, weekday, of, zone, at };
  }

  function interval(): Expression {
    const { at } = cursor.next();
    const of = parser.operand();
    // `INTERVAL '1 day'` is what PostgreSQL takes.
    if (!cursor.startsName()) cursor.unexpected('a part such as DAY after the value of INTERVAL');
    const part = cursor.anyIdentifier().name.toUpperCase();
    const to = cursor.takeKeyword('TO') ? cursor.anyIdentifier().name.toUpperCase() : undefined;
    return { kind: 'interval', of, part, to, at };
  }

  function array(): Expression {
    const { at } = cursor.next();
    if (cursor.takeSymbol('(')) return subquery('ARRAY', at);
    let element: TypeSyntax | undefined;
    if (cursor.takeSymbol('<')) {
      element = parseType(cursor);
      cursor.needClosingAngle();
    }
    cursor.needSymbol('[');
    return arrayElements(at, element);
  }

  function arrayElements(at: Expression['at'], element: TypeSyntax | undefined): Expression {
    const elements = cursor.isSymbol(']') ? [] : cursor.list(parser.expression);
    cursor.needSymbol(']');
    return { kind: 'array', element, elements, at };
  }

  function struct(): Expression {
    const { at } = cursor.peek();
    const type = cursor.isSymbol('<', 1) ? parseType(cursor) : undefined;
    if (!type) cursor.next();
    const fields = cursor.inParentheses(() => (cursor.isSymbol(')') ? [] : cursor.list(structField)));
    return { kind: 'struct', type, fields, at };
  }

  function structField(): { expression: Expression; alias?: Identifier } {
    const expression = parser.expression();
    return { expression, alias: cursor.takeKeyword('AS') ? cursor.identifier() : undefined };
  }
}
