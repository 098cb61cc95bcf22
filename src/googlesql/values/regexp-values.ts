import type { RE2JS } from 're2js';
import { type EngineFunctions, maxOutputLength } from './engine-function.ts';
import { compilePattern, patternProblem } from './patterns.ts';

/** Maximum characters of a pattern that is not a constant. */
const maxPatternLength = 1024;

/**
 * Regular expressions with what DuckDB lacks: a position, an occurrence, or a pattern that differs from row to row. Positions count code
 * points from 1.
 */
export const regexpValues: EngineFunctions = {
  'bq_regexp_extract_at(STRING, STRING, INT64, INT64) STRING': (
    text: string,
    pattern: string,
    position: bigint,
    occurrence: bigint,
  ) => occurrenceOf(text, pattern, position, occurrence)?.text ?? null,
  'bq_regexp_extract_each(STRING, STRING) ARRAY<STRING>': (text: string, pattern: string) => {
    const found = [];
    for (const match of matches(text, compiled(pattern))) found.push(match.text ?? '');
    return found;
  },
  'bq_regexp_instr(STRING, STRING, INT64, INT64, INT64) INT64': (
    text: string,
    pattern: string,
    position: bigint,
    occurrence: bigint,
    after: bigint,
  ) => {
    if (after !== 0n && after !== 1n) throw new Error('Invalid return_position_after_match.');
    const found = occurrenceOf(text, pattern, position, occurrence);
    if (pattern === '' || text === '' || found?.text === undefined) return 0n;
    const end = after === 1n ? found.start + found.text.length : found.start;
    const place = BigInt(Array.from(text.slice(0, end)).length + 1);
    return place < position ? position : place;
  },
  'bq_regexp_replace_each(STRING, STRING, STRING) STRING': replaceEach,
};

type Match = {
  /** Of the group, where the pattern has one, else of the whole; absent where the group took no part. */
  readonly text: string | undefined;
  readonly start: number;
};

/** Whether a text is not a regular expression. */
export function isInvalidPattern(pattern: string): boolean {
  try {
    compilePattern(pattern);
    return false;
  } catch {
    return true;
  }
}

let [lastPattern, lastCompiled]: [string | undefined, RE2JS | undefined] = [undefined, undefined];

/** The last pattern is remembered: a query has one, or one for each row. */
function compiled(pattern: string): RE2JS {
  if (pattern === lastPattern && lastCompiled) return lastCompiled;
  if (pattern.length > maxPatternLength)
    throw new Error(`Regular expression is too large: it has more than ${maxPatternLength} characters`);
  const problem = patternProblem(pattern);
  if (problem) throw new Error(problem);
  try {
    lastCompiled = compilePattern(pattern);
  } catch (error) {
    throw new Error(`Cannot parse regular expression: ${wordsOf(error)}`, { cause: error });
  }
  lastPattern = pattern;
  return lastCompiled;
}

const wordsOf = (error: unknown) => String((error as Error).message).replace(/^error parsing regexp: /, '');

function* matches(text: string, expression: RE2JS): Generator<Match> {
  if (expression.groupCount() > 1)
    throw new Error(
      'Regular expressions passed into extraction functions must not have more than 1 capturing group',
    );
  const group = expression.groupCount();
  const matcher = expression.matcher(text);
  for (let at = 0; matcher.find(at); ) {
    const [start, end] = [matcher.start(), matcher.end()];
    const found = matcher.group(group) ?? undefined;
    // Continues after an empty match, which would be found again; the reference reports the position after going on.
    at = end > start ? end : end + widthAt(text, end);
    const place =
      found === undefined || group === 1
        ? matcher.start(group)
        : end > start
          ? start
          : Math.min(at, text.length);
    yield { text: found, start: place };
    if (at >= text.length) return;
  }
}

function occurrenceOf(
  text: string,
  pattern: string,
  position: bigint,
  occurrence: bigint,
): Match | undefined {
  if (position < 1n) throw new Error('Position must be positive');
  if (occurrence < 1n) throw new Error('Occurrence must be positive');
  const expression = compiled(pattern);
  const letters = position > 1n ? Array.from(text) : undefined;
  // A position beyond the last character is the end, up to the length in bytes.
  if (letters && position > BigInt(Buffer.byteLength(text))) return undefined;
  const before = letters ? letters.slice(0, Number(position) - 1).join('').length : 0;
  let left = occurrence;
  for (const match of matches(text.slice(before), expression))
    if (--left === 0n) return { text: match.text, start: match.start + before };
  return undefined;
}

function replaceEach(text: string, pattern: string, replacement: string): string {
  const expression = compiled(pattern);
  const pieces = replacement.split(/(\\.?)/s).map(piece => {
    if (!piece.startsWith('\\')) return piece;
    if (piece === '\\\\') return '\\';
    const group = /^\\\d$/.test(piece) ? Number(piece[1]) : Number.POSITIVE_INFINITY;
    if (group > expression.groupCount()) throw new Error(`Invalid REGEXP_REPLACE replacement: ${piece}`);
    return group;
  });
  const matcher = expression.matcher(text);
  let out = '';
  let at = 0;
  let lastEnd = -1;
  while (at <= text.length && matcher.find(at)) {
    const [start, end] = [matcher.start(), matcher.end()];
    out += text.slice(at, start);
    if (start === end && start === lastEnd) {
      // No empty match directly follows another match.
      at = end + widthAt(text, end);
      out += text.slice(end, at);
      if (at > text.length) break;
      continue;
    }
    for (const piece of pieces) out += typeof piece === 'number' ? (matcher.group(piece) ?? '') : piece;
    if (out.length > maxOutputLength) throw new Error('REGEXP_REPLACE output is too long');
    at = end;
    lastEnd = end;
  }
  return out + text.slice(at);
}

/** UTF-16 units of the character at a position; one at the end of the text. */
const widthAt = (text: string, at: number) => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
