const digit = 1;
const hex = 2;
const letter = 4;
const local = 8;

const classes = new Uint8Array(128);
for (let at = 0; at < classes.length; at++) {
  const character = String.fromCharCode(at);
  if (/[0-9]/.test(character)) classes[at]! |= digit;
  if (/[0-9a-f]/i.test(character)) classes[at]! |= hex;
  if (/[a-z]/i.test(character)) classes[at]! |= letter;
  if (/[a-z0-9._%+'-]/i.test(character)) classes[at]! |= local;
}

/** Whether a UTF-16 code is a digit; NaN, as past the end of a text, is not. */
export function isDigit(code: number): boolean {
  return (classes[code]! & digit) !== 0;
}

/** Whether a UTF-16 code is a hexadecimal digit. */
export function isHex(code: number): boolean {
  return (classes[code]! & hex) !== 0;
}

/** Whether a UTF-16 code is an ASCII letter or digit. */
export function isAlphanumeric(code: number): boolean {
  return (classes[code]! & (digit | letter)) !== 0;
}

/** Whether a UTF-16 code is an ASCII character of the local part of an e-mail address; the rarer legal ones (`=`, `/`, `"`) are not. */
export function isLocalPart(code: number): boolean {
  return (classes[code]! & local) !== 0;
}

/** Escapes of JSON and URLs, whose last letter or digits do not belong to the text after them: `\n`, `\u0041`, `%3D`. */
const escapeAtEnd = /(?:\\[bfnrt]|\\u[0-9a-f]{4}|%[2357][0-9a-f]|%40|%0[9ad])$/i;

const maxEscapeLength = 6;
const backslash = 0x5c;
const percent = 0x25;

/** Whether an escape ends right before this position. */
export function endsWithEscape(text: string, at: number): boolean {
  const isPossible =
    text.charCodeAt(at - 2) === backslash ||
    text.charCodeAt(at - 3) === percent ||
    text.charCodeAt(at - maxEscapeLength) === backslash;
  return isPossible && escapeAtEnd.test(text.slice(Math.max(0, at - maxEscapeLength), at));
}
