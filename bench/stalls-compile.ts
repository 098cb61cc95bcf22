import { growingTexts, textOfLength, textWithinLimits } from '../test/googlesql/growing-texts.ts';
import { compileCaller } from '../test/sandbox/compile-caller.ts';
import type { StallInput } from './stall-input.ts';

/**
 * Texts through the front-end, of every kind that a test holds: of 64 KiB, and where those have more tokens than a caller may send, the longest
 * that has not, which are read to their end.
 */
export function compileStalls(): readonly StallInput[] {
  return Object.entries(growingTexts).flatMap(([name, text]) => {
    const whole = textOfLength(text);
    const within = textWithinLimits(text);
    const input = (more: string, sql: string) => ({
      name: `compile: ${name}${more}`,
      run: () => compileCaller(sql),
    });
    return within === whole
      ? [input('', whole)]
      : [input('', whole), input(', as many tokens as may be', within)];
  });
}
