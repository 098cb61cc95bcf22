import type { GatewayError, SqlPosition } from '../../base/errors.ts';
import { invalidQuery, startOfText } from '../tree/sql-error.ts';
import { positions, syntaxError } from './positions.ts';
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
const number = /0[xX][0-9a-fA-F]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
/** Longest first, so that `<=` is never read as `<` and `=`. */
const symbol = /\|\||<=|>=|<>|!=|<<|>>|=>|->|\|>|[()[\]{},.+\-*/%=<>~^&|?;:]/y;
const parameter = /@[A-Za-z_][A-Za-z0-9_]*/y;
const systemVariable = /@@[A-Za-z_][A-Za-z0-9_.]*/y;

/** Kinds of characters; a mark is a symbol that begins no longer one, and no comment or number. */
const [other, letter, digit, mark] = [0, 1, 2, 3];
const characters = new Uint8Array(128);
for (const [kind, all] of [
  [letter, 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_'],
  [digit, '0123456789'],
  [mark, '()[]{},+*%~^&?;:'],
] as const) {
  for (const character of all) characters[character.charCodeAt(0)] = kind;
}

/** The kind of the character there; `other` at the end. */
function characterAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code < 128 ? characters[code]! : other;
}

function isWordAt(text: string, index: number): boolean {
  const kind = characterAt(text, index);
  return kind === letter || kind === digit;
}

/**
 * A place in a text, and the token that begins there. It moves in place: a text may have 60,000 tokens, and an object for each that lives
 * as long as the last one costs more than reading them all does.
 */
export type Scan = {
  readonly text: string;
  kind: TokenKind;
  /** As in `Token`. */
  value: string;
  start: number;
  end: number;
  spaced: boolean;
};

/**
 * Starts before the first token.
 * @throws GatewayError `invalid_query` if the text is too long
 */
export function startScan(text: string): Scan {
  if (text.length > maxSqlLength) {
    throw invalidQuery(`The query is too long; the limit is ${maxSqlLength} characters`, startOfText);
  }
  return { text, kind: 'end', value: '', start: 0, end: 0, spaced: false };
}

/**
 * Moves to the next token; after the last one, `end` begins and ends where the text does.
 * @throws GatewayError `invalid_query` with line and column
 */
export function scanNext(scan: Scan): TokenKind {
  const { text, end } = scan;
  let start = end;
  while (text[start] === ' ') start++;
  if (characterAt(text, start) === other) start = endOf(skipped, text, start) ?? start;
  scan.spaced = start > end;
  const isTouched = !scan.spaced && endsOperand(scan);
  scan.start = start;
  switch (characterAt(text, start)) {
    case letter:
      return takeName(scan);
    case mark:
      return take(scan, 'symbol', start + 1);
    case digit:
      return takeNumber(scan, endOf(number, text, start)!);
    default:
      return takeOther(scan, isTouched);
  }
}

/** @param isTouched whether a dot here accesses a field of the token before: `.5` is a number, but not in `a.5`, `a[0].5` and `f().5` */
function takeOther(scan: Scan, isTouched: boolean): TokenKind {
  const { text, start } = scan;
  if (start >= text.length) return take(scan, 'end', start);
  const first = text[start]!;
  if (first === '"' || first === "'") return takeQuoted(scan, '');
  if (first === '`') return takeBackquoted(scan, 'quotedName', start);
  if (first === '@') return takeAt(scan);
  const numberEnd = first === '.' && !isTouched ? endOf(number, text, start) : undefined;
  if (numberEnd !== undefined) return takeNumber(scan, numberEnd);
  if (text.startsWith('/*', start)) throw failed(scan, 'Unclosed comment');
  const symbolEnd = endOf(symbol, text, start);
  if (symbolEnd !== undefined) return take(scan, 'symbol', symbolEnd);
  throw failed(scan, `Illegal input character ${JSON.stringify(first)}`);
}

/**
 * Splits a query into tokens; the last one is always `end`.
 * Source: GoogleSQL, "Lexical structure and syntax".
 * @param maxTokens maximum tokens before the end. Default: no limit
 * @throws GatewayError `invalid_query` with line and column
 */
export function lex(text: string, maxTokens = Infinity): Token[] {
  const scan = startScan(text);
  const positionOf = positions(text);
  const tokens: Token[] = [];
  do {
    const kind = scanNext(scan);
    const { value, start, end, spaced } = scan;
    const at = positionOf(start);
    if (tokens.length >= maxTokens && kind !== 'end')
      throw invalidQuery(`The query has too many tokens; the limit is ${maxTokens}`, at);
    tokens.push({ kind, value, keyword: kind === 'name' ? value.toUpperCase() : '', at, start, end, spaced });
  } while (scan.kind !== 'end');
  return tokens;
}

function take(scan: Scan, kind: TokenKind, end: number, value = scan.text.slice(scan.start, end)): TokenKind {
  scan.kind = kind;
  scan.end = end;
  scan.value = value;
  return kind;
}

/** A name may be the prefix of a quoted literal. */
function takeName(scan: Scan): TokenKind {
  const { text, start } = scan;
  let end = start + 1;
  while (isWordAt(text, end)) end++;
  const isQuoted = end - start <= 2 && (text[end] === '"' || text[end] === "'");
  const prefix = isQuoted ? text.slice(start, end) : '';
  return /^(?:rb?|br?)$/i.test(prefix) ? takeQuoted(scan, prefix) : take(scan, 'name', end);
}

function takeNumber(scan: Scan, end: number): TokenKind {
  if (characterAt(scan.text, end) === letter) {
    throw failed(scan, 'Missing whitespace between literal and alias');
  }
  take(scan, 'integer', end);
  if (!/^(?:\d+|0[xX].*)$/.test(scan.value)) scan.kind = 'float';
  return scan.kind;
}

function takeQuoted(scan: Scan, prefix: string): TokenKind {
  const { kind, value, end } = readQuoted(scan.text, scan.start, prefix);
  return take(scan, kind, end, value);
}

/** @param open where the quote is */
function takeBackquoted(scan: Scan, kind: TokenKind, open: number): TokenKind {
  const { value, end } = readBackquoted(scan.text, scan.start, open);
  if (!value) throw failed(scan, 'Invalid empty identifier');
  return take(scan, kind, end, value);
}

function takeAt(scan: Scan): TokenKind {
  const { text, start } = scan;
  const systemEnd = endOf(systemVariable, text, start);
  if (systemEnd !== undefined) return take(scan, 'systemVariable', systemEnd);
  // The same rule as for a name: if a literal ended elsewhere for us than for BigQuery, code would be hidden from us.
  if (text[start + 1] === '`') return takeBackquoted(scan, 'parameter', start + 1);
  const end = endOf(parameter, text, start);
  if (end === undefined) throw failed(scan, 'Unexpected "@"');
  return take(scan, 'parameter', end, text.slice(start + 1, end));
}

/** Whether a dot after this token accesses a field of it. */
function endsOperand({ kind, value }: Scan): boolean {
  if (kind === 'symbol') return value === ')' || value === ']';
  return kind === 'name' || kind === 'quotedName';
}

/** Where a match ends that begins here; undefined if none does. */
function endOf(pattern: RegExp, text: string, start: number): number | undefined {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

function failed({ text, start }: Scan, message: string): GatewayError {
  return syntaxError(message, text, start);
}
