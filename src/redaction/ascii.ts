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

/** Whether a UTF-16 code is a digit; NaN, as beyond the end of a text, is none. */
export function isDigit(code: number): boolean {
  return (classes[code]! & digit) !== 0;
}

/** Whether it is a hexadecimal digit. */
export function isHex(code: number): boolean {
  return (classes[code]! & hex) !== 0;
}

/** Whether it is an ASCII letter or digit. */
export function isAlphanumeric(code: number): boolean {
  return (classes[code]! & (digit | letter)) !== 0;
}

/** Whether it is an ASCII character of the part of an e-mail address before the `@`; the rarer legal ones (`=`, `/`, `"`) are not. */
export function isLocalPart(code: number): boolean {
  return (classes[code]! & local) !== 0;
}
