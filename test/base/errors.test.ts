import { expect, test } from 'vitest';
import { quoted } from '../../src/base/errors.ts';

test.each([
  ['a text', 'x"y', '"x\\"y"'],
  ['a text of the maximum length', 'x'.repeat(120), `"${'x'.repeat(120)}"`],
  ['a longer text', 'x'.repeat(121), `"${'x'.repeat(120)}…"`],
  ['no half of a character', `${'x'.repeat(119)}😀`, `"${'x'.repeat(119)}…"`],
  ['half a character that was sent', `\ud83d${'x'.repeat(120)}`, `"\ufffd${'x'.repeat(119)}…"`],
  ['no half of an e-mail address', `${'x'.repeat(105)} alice@example.com`, `"${'x'.repeat(105)}…"`],
  ['nor where no space is before it', `${'x'.repeat(105)},alice@example.com`, `"${'x'.repeat(105)}…"`],
  ['an object', { a: [1] }, '{"a":[1]}'],
  ['a longer list', Array(100).fill(1), `[${'1,'.repeat(100).slice(0, 119)}…`],
  ['nothing', undefined, 'nothing'],
])('a message quotes %s', (_, given, expected) => {
  expect(quoted(given)).toBe(expected);
});
