import type { SqlPosition } from '../../base/errors.ts';
import { invalidQuery, startOfText } from '../tree/sql-error.ts';
import { readBackquoted, readQuoted } from './quoted-literals.ts';

export type TokenKind =
  | 'name'
  | 'quotedName'
  | 'string'
  | 'bytes'
  | 'integer'
  | 'float'
  | 'parameter'
  | 'systemVariable'
  | 'symbol'
  | 'end';

export type Token = {
  readonly kind: TokenKind;
  /** The value of the token: a string without quotes and escapes, a parameter without `@`. */
  readonly value: string;
  /** `value` in upper case for a bare name, to compare with keywords; empty for all other kinds. */
  readonly keyword: string;
  readonly at: SqlPosition;
  /** Where it starts and ends in the text, in UTF-16 units. */
  readonly start: number;
  readonly end: number;
  /** Whether white space or a comment precedes it: `a -b` is not `a-b` in a table name. */
  readonly spaced: boolean;
};

/** Maximum length of a text, in UTF-16 units. BigQuery: 1 MB of SQL. */
export const maxSqlLength = 1_000_000;

/**
 * White space as in BigQuery: without U+FEFF, which JavaScript's `\s` includes.
 * A comment also ends at a carriage return: text that BigQuery reads as code must be code here.
 */
const skipped = /(?:[^\S\ufeff]+|#[^\n\r]*|--[^\n\r]*|\/\*[\s\S]*?\*\/)+/y;
/**
 * The beginning of a token: the prefix of a quoted literal, which may be empty; a bare name; a number; or a symbol, longest first, so that
 * `<=` is never read as `<` and `=`.
 */
const tokenStart =
  /((?:[rR][bB]?|[bB][rR]?)?(?=['"]))|([A-Za-z_][A-Za-z0-9_]*)|(0[xX][0-9a-fA-F]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)|(\|\||<=|>=|<>|!=|<<|>>|=>|->|\|>|[()[\]{},.+\-*/%=<>~^&|?;:])/y;
const parameter = /@([A-Za-z_][A-Za-z0-9_]*)/y;
const systemVariable = /@@[A-Za-z_][A-Za-z0-9_.]*/y;

/**
 * Splits a query into tokens; the last one is always `end`.
 * Source: GoogleSQL, "Lexical structure and syntax".
 * @param maxTokens maximum tokens before the end. Default: no limit
 * @throws GatewayError `invalid_query` with line and column
 */
export function lex(text: string, maxTokens = Infinity): readonly Token[] {
  if (text.length > maxSqlLength) {
    throw invalidQuery(`The query is too long; the limit is ${maxSqlLength} characters`, startOfText);
  }
  const positionOf = positions(text);
  const tokens: Token[] = [];
  let index = 0;
  for (;;) {
    skipped.lastIndex = index;
    const spaced = skipped.test(text);
    if (spaced) index = skipped.lastIndex;
    const at = positionOf(index);
    const previous = tokens.at(-1);
    if (index >= text.length) {
      tokens.push({ kind: 'end', value: '', keyword: '', at, start: index, end: index, spaced });
      return tokens;
    }
    if (tokens.length >= maxTokens)
      throw invalidQuery(`The query has too many tokens; the limit is ${maxTokens}`, at);
    const { kind, value, end } = readToken(text, index, at, spaced ? undefined : previous);
    const keyword = kind === 'name' ? value.toUpperCase() : '';
    tokens.push({ kind, value, keyword, at, start: index, end, spaced });
    index = end;
  }
}

type Piece = { readonly kind: TokenKind; readonly value: string; readonly end: number };

function readToken(text: string, from: number, at: SqlPosition, touching: Token | undefined): Piece {
  const match = matchAt(tokenStart, text, from);
  const prefix = match?.[1];
  const name = match?.[2];
  const digits = match?.[3];
  const symbol = match?.[4];
  if (name !== undefined) return { kind: 'name', value: name, end: from + name.length };
  if (prefix !== undefined) return readQuoted(text, from, prefix, at);
  if (digits !== undefined) {
    return opensNumber(text, from, touching)
      ? numberPiece(text, from, digits, at)
      : { kind: 'symbol', value: '.', end: from + 1 };
  }
  if (symbol === '/' && text[from + 1] === '*') throw invalidQuery('Syntax error: Unclosed comment', at);
  if (symbol !== undefined) return { kind: 'symbol', value: symbol, end: from + symbol.length };
  if (text[from] === '`') return readQuotedName(text, from, at);
  if (text[from] === '@') return readAt(text, from, at);
  throw invalidQuery(`Syntax error: Illegal input character ${JSON.stringify(text[from])}`, at);
}

/** `.5` is a number, but in `a.5`, `a[0].5` and `f().5` the dot accesses a field. */
function opensNumber(text: string, start: number, touching: Token | undefined): boolean {
  if (text[start] !== '.') return true;
  if (!touching) return true;
  return !(touching.kind === 'name' || touching.kind === 'quotedName' || /^[)\]]$/.test(touching.value));
}

function numberPiece(text: string, start: number, digits: string, at: SqlPosition): Piece {
  const end = start + digits.length;
  if (/[A-Za-z_]/.test(text[end] ?? '')) {
    throw invalidQuery('Syntax error: Missing whitespace between literal and alias', at);
  }
  return { kind: /^(?:\d+|0[xX].*)$/.test(digits) ? 'integer' : 'float', value: digits, end };
}

function readAt(text: string, start: number, at: SqlPosition): Piece {
  const system = matchAt(systemVariable, text, start);
  if (system) return { kind: 'systemVariable', value: system[0], end: start + system[0].length };
  // The same rule as for a name: if a literal ended elsewhere for us than for BigQuery, code would be hidden from us.
  if (text[start + 1] === '`') return { ...readQuotedName(text, start + 1, at), kind: 'parameter' };
  const named = matchAt(parameter, text, start);
  if (!named) throw invalidQuery('Syntax error: Unexpected "@"', at);
  return { kind: 'parameter', value: named[1]!, end: start + named[0].length };
}

function readQuotedName(text: string, start: number, at: SqlPosition): Piece {
  const { value, end } = readBackquoted(text, start, at);
  if (!value) throw invalidQuery('Syntax error: Invalid empty identifier', at);
  return { kind: 'quotedName', value, end };
}

function matchAt(pattern: RegExp, text: string, index: number): RegExpExecArray | null {
  pattern.lastIndex = index;
  return pattern.exec(text);
}

/** Makes a function that converts ascending offsets to lines and columns, in one walk over the text. */
function positions(text: string): (offset: number) => SqlPosition {
  let line = 1;
  let lineStart = 0;
  let newline = text.indexOf('\n');
  return offset => {
    while (newline !== -1 && newline < offset) {
      line += 1;
      lineStart = newline + 1;
      newline = text.indexOf('\n', lineStart);
    }
    return { line, column: offset - lineStart + 1 };
  };
}
