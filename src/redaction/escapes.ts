/** Escapes of JSON and of URLs, whose last letter or digits are no part of what follows: `\n`, `\u0041`, `%3D`. */
const escapeAtEnd = /(?:\\[bfnrt]|\\u[0-9a-f]{4}|%[2357][0-9a-f]|%40|%0[9ad])$/i;

const longestEscape = 6;
const backslash = 0x5c;
const percent = 0x25;

/** Whether an escape ends right before this place. */
export function endsWithEscape(text: string, at: number): boolean {
  const isPossible =
    text.charCodeAt(at - 2) === backslash ||
    text.charCodeAt(at - 3) === percent ||
    text.charCodeAt(at - longestEscape) === backslash;
  return isPossible && escapeAtEnd.test(text.slice(Math.max(0, at - longestEscape), at));
}
