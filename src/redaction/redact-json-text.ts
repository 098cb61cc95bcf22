import { redactLongText } from './redact-long-text.ts';
import type { RedactionKind } from './redaction-kinds.ts';

const backslash = 0x5c;
const space = /[ \t\r\n]*/y;
/** A token between the strings of a JSON text. A colon belongs to the key before it: `::1` is not JSON. */
const token =
  /[ \t\r\n{}[\],]{1,1000}|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?|true|false|null)(?![\w.+-])/iy;

/**
 * Replaces personal data in the strings of a JSON text from a JSON column; keys and everything else stay byte for byte.
 * Text that is not JSON is redacted like any other.
 */
export function* redactJsonText(
  text: string,
  kinds: readonly RedactionKind[],
): Generator<undefined, string, undefined> {
  const parts: string[] = [];
  let copied = 0;
  let paused = 0;
  for (let at = 0; at < text.length; ) {
    if (text[at] !== '"') {
      token.lastIndex = at;
      if (!token.test(text)) return yield* redactLongText(text, kinds);
      at = token.lastIndex;
    } else {
      const end = stringEnd(text, at);
      const value = parseString(text.slice(at, end));
      if (value === undefined) return yield* redactLongText(text, kinds);
      space.lastIndex = end;
      space.test(text);
      if (text[space.lastIndex] === ':') {
        at = space.lastIndex + 1;
        continue;
      }
      const redacted = yield* redactLongText(value, kinds);
      if (redacted !== value) {
        parts.push(text.slice(copied, at), JSON.stringify(redacted));
        copied = end;
      }
      at = end;
    }
    if (at - paused >= sliceLength) {
      paused = at;
      yield;
    }
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(copied);
}

/** Characters of JSON between two pauses. */
const sliceLength = 64 * 1024;

/** The end of the string that starts here: after the first quote with an even number of backslashes before it. */
function stringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === backslash) before--;
    if ((end - before) % 2 === 1) return end + 1;
  }
  return text.length;
}

/** @returns undefined for text that is not a JSON string */
function parseString(json: string): string | undefined {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
