import { isLocalPart } from './ascii.ts';
import { replacement } from './redaction-kinds.ts';

const at = /@|%40/gi;
/** Besides ASCII, letters and digits of all scripts are allowed before the `@`. */
const otherLocalCharacter = /[\p{L}\p{N}]/u;
const domain = /[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)+/uy;
/** `logo@2x.png` is a picture, not an address. */
const picture = /^[1-9]x\.(?:png|jpe?g|gif|webp|svg|avif)$/i;

/** Replaces e-mail addresses; `%40` counts as `@`. */
export function redactEmails(text: string): string {
  let out = '';
  let copied = 0;
  for (const { 0: sign, index } of text.matchAll(at)) {
    if (index < copied) continue;
    const end = domainEnd(text, index + sign.length);
    if (end === undefined) continue;
    const start = localStart(text, index, copied);
    const continues = copied > 0 && start === copied && index === copied;
    if (start === index && !continues) continue;
    // `a@b.com@c.com`: text that directly continues a replaced address is replaced with it.
    if (!continues) out += text.slice(copied, start) + replacement;
    copied = end;
  }
  return copied === 0 ? text : out + text.slice(copied);
}

/** Walks back from the sign, never beyond where an earlier sign has been: linear on any text. */
function localStart(text: string, sign: number, floor: number): number {
  let start = sign;
  while (start > floor && isLocalCharacter(text.charCodeAt(start - 1))) start--;
  while (start < sign && /['.%+-]/.test(text[start]!)) start++;
  return start;
}

function isLocalCharacter(code: number): boolean {
  return code < 128 ? isLocalPart(code) : otherLocalCharacter.test(String.fromCharCode(code));
}

function domainEnd(text: string, start: number): number | undefined {
  domain.lastIndex = start;
  const name = domain.exec(text)?.[0];
  if (name === undefined || picture.test(name)) return undefined;
  const labels = name.split('.');
  while (labels.length > 0 && !/^(?:\p{L}[\p{L}-]*\p{L}|xn--.+)$/u.test(labels.at(-1)!)) labels.pop();
  return labels.length > 1 ? start + labels.join('.').length : undefined;
}
