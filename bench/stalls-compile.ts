import { growingTexts, textOfLength } from '../test/googlesql/growing-texts.ts';
import { compileCaller } from '../test/sandbox/compile-caller.ts';
import type { StallInput } from './stall-input.ts';

/** Texts of 64 KiB through the front-end: the longest that a caller may send, of every kind that a test holds. */
export function compileStalls(): readonly StallInput[] {
  return Object.entries(growingTexts).map(([name, text]) => {
    const sql = textOfLength(text);
    return { name: `compile: ${name}`, run: () => compileCaller(sql) };
  });
}
