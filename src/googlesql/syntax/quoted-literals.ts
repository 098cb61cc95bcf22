import { syntaxError } from './positions.ts';

type Quoted = { readonly kind: 'string' | 'bytes'; readonly value: string; readonly end: number };

/** The result of one step: some text, and whether an escape gave its bytes; other text stands for its UTF-8. */
type Piece = { readonly value: string; readonly length: number; readonly isByte: boolean };

const simpleEscapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '?': '?',
  '"': '"',
  "'": "'",
  '`': '`',
};

/** Octal, `\xFF`, `\u00e9`, `\U0001f600`: the digits are in whichever group matched. */
const codeEscape = /\\(?:([0-3][0-7]{2})|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))/y;

/** A run of characters that mean themselves in every literal. */
const plainRun = /[^\\'"`\n\r]+/y;

/**
 * Reads one string or bytes literal: quoted once or three times, raw or with escapes.
 * A BYTES value is a string of code units 0–255. Two quotes in a row stand for one inside a string
 * (`'it''s'`): BigQuery would refuse that, callers type it all the same.
 * @param prefix `r`, `b`, `rb` … as written before the quote at `start + prefix.length`
 * @throws GatewayError `invalid_query` with the position of the start
 */
export function readQuoted(text: string, start: number, prefix: string): Quoted {
  const isRaw = prefix !== '' && /r/i.test(prefix);
  const isBytes = prefix !== '' && /b/i.test(prefix);
  const open = start + prefix.length;
  const quote = text[open]!;
  const isTriple = text[open + 1] === quote && text[open + 2] === quote;
  const close = isTriple ? quote.repeat(3) : quote;
  let index = open + close.length;
  let value = '';
  while (!text.startsWith(close, index)) {
    const character = text[index];
    if (character === undefined || (character === '\n' && !isTriple)) {
      const what = isTriple ? 'triple-quoted string' : 'string';
      throw syntaxError(`Unclosed ${what} literal`, text, start);
    }
    const piece =
      character === '\\' ? readEscape(text, index, { isRaw, isBytes, start }) : plainPiece(text, index);
    value += isBytes && !piece.isByte ? Buffer.from(piece.value, 'utf8').toString('latin1') : piece.value;
    index += piece.length;
    if (!isTriple && !isRaw && text.startsWith(quote + quote, index)) {
      value += quote;
      index += 2;
    }
  }
  return { kind: isBytes ? 'bytes' : 'string', value, end: index + close.length };
}

/**
 * Reads an identifier in backquotes, with the escapes of a string: the name is what BigQuery would look up.
 * @param start of the token, which may have something before the quote at `open`
 * @throws GatewayError `invalid_query` with the position of the start; for NUL too, which no name may hold
 */
export function readBackquoted(text: string, start: number, open: number): Omit<Quoted, 'kind'> {
  let index = open + 1;
  let value = '';
  while (text[index] !== '`') {
    const character = text[index];
    if (character === undefined || character === '\n' || character === '\r') {
      throw syntaxError('Unclosed identifier literal', text, start);
    }
    const piece =
      character === '\\'
        ? readEscape(text, index, { isRaw: false, isBytes: false, start })
        : plainPiece(text, index);
    value += piece.value;
    index += piece.length;
  }
  if (value.includes('\0')) throw syntaxError('An identifier cannot hold NUL', text, start);
  return { value, end: index + 1 };
}

function readEscape(
  text: string,
  index: number,
  { isRaw, isBytes, start }: { isRaw: boolean; isBytes: boolean; start: number },
): Piece {
  const next = text[index + 1];
  if (next === undefined) throw syntaxError('Unclosed string literal', text, start);
  if (isRaw) return { value: `\\${next}`, length: 2, isByte: false };
  const simple = Object.hasOwn(simpleEscapes, next) ? simpleEscapes[next] : undefined;
  if (simple !== undefined) return { value: simple, length: 2, isByte: false };
  codeEscape.lastIndex = index;
  const match = codeEscape.exec(text);
  const unicode = match?.[3] ?? match?.[4];
  const code = match?.[1] ? Number.parseInt(match[1], 8) : Number.parseInt(match?.[2] ?? unicode ?? '', 16);
  const isSurrogate = code >= 0xd800 && code <= 0xdfff;
  if (!match || code > 0x10ffff || isSurrogate || (isBytes && unicode)) {
    throw syntaxError(`Illegal escape sequence: \\${next}`, text, start);
  }
  return { value: String.fromCodePoint(code), length: match[0].length, isByte: true };
}

function plainPiece(text: string, index: number): Piece {
  plainRun.lastIndex = index;
  const value = plainRun.test(text)
    ? text.slice(index, plainRun.lastIndex)
    : String.fromCodePoint(text.codePointAt(index)!);
  return { value, length: value.length, isByte: false };
}
