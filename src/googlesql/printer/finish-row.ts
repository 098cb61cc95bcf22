import type { WireShape } from '../tree/wire-shape.ts';

const opening = '{"_p":true,';
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const [openingBracket, closingBracket] = [0x5b, 0x5d];
const [openingBrace, closingBrace] = [0x7b, 0x7d];

/**
 * Converts the JSON object of one row, as DuckDB makes it from stored records, to the wire form of contract 2.12.
 * Walks text and shapes side by side, once; what is not a record is copied byte for byte, digits included.
 * @param shapes one for each column, in order
 */
export function finishRow(text: string, shapes: readonly WireShape[]): string {
  let out = '';
  let copied = 0;
  let at = 1;

  /** Replaces the next `skipped` characters by a text. */
  function replace(skipped: number, replacement: string): void {
    out += text.slice(copied, at) + replacement;
    at += skipped;
    copied = at;
  }

  function finish(shape: WireShape): void {
    if (shape.kind === 'final') {
      at = valueEnd(text, at);
      return;
    }
    if (text.startsWith('null', at)) {
      replace(4, '[]');
      return;
    }
    switch (shape.kind) {
      case 'record':
        replace(opening.length, '[{');
        finishFields(shape.fields);
        replace(0, ']');
        return;
      case 'records':
        at++;
        while (text[at] !== ']') {
          if (text[at] === ',') at++;
          if (text.startsWith(opening, at)) {
            replace(opening.length, '{');
            finishFields(shape.fields);
          } else {
            at = valueEnd(text, at);
          }
        }
        at++;
        return;
      case 'list':
        at = valueEnd(text, at);
    }
  }

  /** Reads from the first key of an object to after its closing brace. */
  function finishFields(fields: readonly WireShape[]): void {
    for (const shape of fields) {
      at = stringEnd(text, at) + 1;
      finish(shape);
      at++;
    }
  }

  finishFields(shapes);
  return copied === 0 ? text : out + text.slice(copied);
}

/** The end of the JSON value that starts here. */
function valueEnd(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === quote) return stringEnd(text, start);
  if (first !== openingBracket && first !== openingBrace) {
    let end = start;
    while (!endsScalar(text.charCodeAt(end))) end++;
    return end;
  }
  let depth = 0;
  for (let at = start; ; at++) {
    const character = text[at];
    if (character === '"') at = stringEnd(text, at) - 1;
    else if (character === '[' || character === '{') depth++;
    else if (character === ']' || character === '}') depth--;
    if (depth === 0) return at + 1;
  }
}

/** Whether a number, a truth value or null is over before this character. */
const endsScalar = (code: number) => code === comma || code === closingBrace || code === closingBracket;

/** The end of the string that starts here: after the first quote with an even number of backslashes before it. */
function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  for (;;) {
    let before = end - 1;
    while (text.charCodeAt(before) === backslash) before--;
    if ((end - before) % 2 === 1) return end + 1;
    end = text.indexOf('"', end + 1);
  }
}
