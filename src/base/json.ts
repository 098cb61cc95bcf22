/** The parsed JSON; undefined for text that is none. */
export function parseJsonOrNot(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** ES2026's JSON with source text access, which the compiler's library does not know yet. */
type ExactJson = {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
};
const exactJson = JSON as unknown as ExactJson; // the same object, with the newer signatures

/** Matches text that may contain an integer beyond 2^53; a match inside a string costs time, not correctness. No unbounded repetition, which would fail for long texts. */
const maybeBigInteger = /9\d{15}|\d{17}/;

/** Whether `parseExactJson` takes its slow path, about ten times as slow as JSON.parse. */
export function mayHaveBigInteger(text: string): boolean {
  return maybeBigInteger.test(text);
}

/**
 * Parses JSON as JSON.parse does, but an integer beyond 2^53 becomes an object that JSON.stringify writes back with all
 * its digits.
 * @throws SyntaxError
 */
export function parseExactJson(text: string): unknown {
  return mayHaveBigInteger(text) ? exactJson.parse(text, keepDigits) : JSON.parse(text);
}

/** Matches numbers of more than 15 digits, beyond what a FLOAT64 always keeps. */
const maybeLongNumber = /(?:\d\.?){16}/;

/** Whether `parseExactNumbers` takes its slow path. */
export function mayHaveLongNumber(text: string): boolean {
  return maybeLongNumber.test(text);
}

/**
 * Parses JSON as `parseExactJson` does, and keeps the digits of decimals as well.
 * @throws SyntaxError
 */
export function parseExactNumbers(text: string): unknown {
  return mayHaveLongNumber(text) ? exactJson.parse(text, keepAllDigits) : JSON.parse(text);
}

/** The digits of a number that parseExactJson kept, undefined for any other value. */
export function keptDigits(value: unknown): string | undefined {
  const isKept = typeof value === 'object' && value !== null && 'rawJSON' in value && Object.isFrozen(value);
  return isKept ? String(value.rawJSON) : undefined;
}

function keepDigits(_key: string, value: unknown, { source }: { source?: string }): unknown {
  const isInexact = typeof value === 'number' && !Number.isSafeInteger(value);
  return isInexact && source && /^-?\d+$/.test(source) ? exactJson.rawJSON(source) : value;
}

function keepAllDigits(_key: string, value: unknown, { source = '' }: { source?: string }): unknown {
  const isLong = typeof value === 'number' && source.replace(/\D/g, '').length > 15;
  const isExact = Number.isSafeInteger(value) && /^-?\d+(?:\.0*)?$/.test(source);
  return isLong && !isExact ? exactJson.rawJSON(source) : value;
}

/** Whether a value is a JSON object; a number that kept all its digits is not one. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && keptDigits(value) === undefined
  );
}

/**
 * Whether parsed JSON has more than `max` values, lists and objects included. Checking or printing often takes microseconds per value,
 * so a megabyte of them would hold the event loop for a second.
 */
export function hasMoreValues(roots: readonly unknown[], max: number): boolean {
  const left = [...roots];
  for (let values = 0; left.length > 0; ) {
    const value = left.pop();
    if (typeof value !== 'object' || value === null) continue;
    const inner = Object.values(value);
    values += inner.length;
    if (values > max) return true;
    for (const each of inner) left.push(each);
  }
  return false;
}

const quote = 0x22;
const backslash = 0x5c;
const openingBrace = 0x7b;
const closingBrace = 0x7d;

/**
 * Finds the end of a string in JSON text without parsing it: its closing quotation mark has an even number of backslashes
 * before it.
 * @param start position of the opening quotation mark
 * @returns the position after the closing one; the length of the text if there is none
 */
export function stringEnd(json: Buffer, start: number): number {
  let end = json.indexOf(quote, start + 1);
  while (end >= 0) {
    let before = end - 1;
    while (json[before] === backslash) before--;
    if ((end - before) % 2 === 1) return end + 1;
    end = json.indexOf(quote, end + 1);
  }
  return json.length;
}

/**
 * Finds the end of an object in JSON text without parsing it.
 * @param start position of the opening brace
 * @returns the position after the closing one; the length of the text if there is none
 */
export function objectEnd(json: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length; at++) {
    const byte = json[at];
    if (byte === quote) at = stringEnd(json, at) - 1;
    else if (byte === openingBrace) depth++;
    else if (byte === closingBrace && --depth === 0) return at + 1;
  }
  return json.length;
}
