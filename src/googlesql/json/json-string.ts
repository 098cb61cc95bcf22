const backslash = 92;

/**
 * Reads the string that begins at a quote, `"` or `'`, with every escape that BigQuery accepts: JSON's own, `\x41`, `\101`, and any
 * other character for itself.
 * @returns its characters, and the position after it; `undefined` if it does not end or has an invalid escape
 */
export function readJsonString(text: string, at: number): { value: string; end: number } | undefined {
  const quote = text.charCodeAt(at);
  const start = at + 1;
  for (let end = start; end < text.length; end++) {
    const code = text.charCodeAt(end);
    if (code === quote) return { value: text.slice(start, end), end: end + 1 };
    if (code === backslash) return readEscapes(text, start, end, quote);
  }
  return undefined;
}

/** A string in JSON as BigQuery writes it. */
export function writeJsonString(text: string): string {
  return JSON.stringify(text).replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029');
}

function readEscapes(text: string, start: number, firstEscape: number, quote: number) {
  let value = text.slice(start, firstEscape);
  for (let at = firstEscape; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === quote) return { value, end: at + 1 };
    if (code !== backslash) {
      value += text[at];
      continue;
    }
    escapePattern.lastIndex = at;
    const found = escapePattern.exec(text)?.groups;
    if (!found) return undefined;
    value += unescaped(found);
    at = escapePattern.lastIndex - 1;
  }
  return undefined;
}

const escapePattern =
  /\\(?:u(?<unicode>[\da-fA-F]{4})|x(?<hex>[\da-fA-F]{2})|(?<octal>[0-7]{1,3})|(?<character>[^ux]))/suy;

const namedEscapes: Readonly<Record<string, string>> = {
  b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v',
}; // biome-ignore format: one list

function unescaped({ unicode, hex, octal, character }: Readonly<Record<string, string>>): string {
  if (character !== undefined) return namedEscapes[character] ?? oneCharacter(character);
  return codePoint(octal === undefined ? Number.parseInt(unicode ?? hex!, 16) : Number.parseInt(octal, 8));
}

/** An escaped half of a surrogate pair is not a character, even next to its other half. */
function codePoint(code: number): string {
  return code >= 0xd800 && code <= 0xdfff ? '\ufffd' : String.fromCharCode(code);
}

/** A backslash escapes only the first byte; for a longer character the result is not text. */
function oneCharacter(character: string): string {
  return character <= '\x7f' ? character : '\ufffd';
}
