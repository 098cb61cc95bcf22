import type { EngineFunctions } from './engine-function.ts';

/** Escapes in STRING literals alone: in BYTES these characters are written as numbers. */
const escapes: Readonly<Record<string, string>> = { '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** Values as literals of SQL: what `%T` of FORMAT writes. */
export const sqlLiterals: EngineFunctions = {
  'bq_string_literal(STRING) STRING': (text: string) => {
    const quote = text.includes('"') && !text.includes("'") ? "'" : '"';
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is escaped.
    const escaped = text.replace(/[\0-\x1f\\\x7f"']/g, character =>
      /["']/.test(character)
        ? character === quote
          ? `\\${quote}`
          : character
        : (escapes[character] ?? escapedByte(character.charCodeAt(0))),
    );
    return `${quote}${escaped}${quote}`;
  },
  'bq_bytes_literal(BYTES) STRING': (bytes: Uint8Array) => {
    const quote = bytes.includes(34) && !bytes.includes(39) ? 39 : 34;
    const mark = String.fromCharCode(quote);
    return `b${mark}${[...bytes].map(byte => (byte === quote ? `\\${mark}` : escapedByte(byte))).join('')}${mark}`;
  },
  'bq_bytes_text(BYTES) STRING': (bytes: Uint8Array) =>
    [...bytes]
      .map(byte => (byte === 34 || byte === 39 ? `\\${String.fromCharCode(byte)}` : escapedByte(byte)))
      .join(''),
};

function escapedByte(byte: number): string {
  if (byte === 92) return '\\\\';
  return byte >= 32 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`;
}
