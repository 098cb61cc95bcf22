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
