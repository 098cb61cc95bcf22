import fc from 'fast-check';
import { RE2JS } from 're2js';
import { expect, test } from 'vitest';
import { compilePattern, patternProblem, patternSize } from '../../../src/googlesql/values/patterns.ts';

const atom = fc.constantFrom(
  'a',
  'é',
  '.',
  '\\d',
  '[a-z]',
  '[^/]',
  '[[:alpha:]]',
  '\\Qa.b\\E',
  '\\x{1F600}',
  '\\.',
);
const suffix = fc.oneof(
  { weight: 4, arbitrary: fc.constant('') },
  fc.constantFrom('*', '+', '?', '{3}', '{2,}', '{0,4}', '{10}', '{1,7}'),
);
const { pattern } = fc.letrec<{ pattern: string; term: string }>(tie => ({
  term: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'pattern' },
    atom,
    tie('pattern').map(inner => `(${inner})`),
    tie('pattern').map(inner => `(?:${inner})`),
    tie('pattern').map(inner => `(?P<n>${inner})`),
  ),
  pattern: fc
    .array(fc.tuple(tie('term'), suffix), { minLength: 1, maxLength: 4 })
    .chain(terms => fc.constantFrom('', '|').map(joint => terms.map(pair => pair.join('')).join(joint))),
}));

test('estimates no program smaller than half of what RE2 makes', () => {
  fc.assert(
    fc.property(pattern, text => {
      let size: number;
      try {
        size = RE2JS.compile(text).programSize();
      } catch {
        return;
      }
      expect({ text, enough: 2 * patternSize(text) + 2 >= size }).toEqual({ text, enough: true });
    }),
    { numRuns: 2000 },
  );
});

test.each([
  ['a plain text', 'a'.repeat(1024), 1024],
  ['a UUID', '[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}', 42],
  ['a limit of characters', '^.{0,700}$', 1402],
])('takes %s', (_, text, size) => {
  expect([patternProblem(text), patternSize(text)]).toEqual([undefined, size]);
});

test.each([
  ['a thousand a, often', 'a{1000}'.repeat(140)],
  ['an optional group a thousand times', '(a?){1000}'],
  ['the same without a group', '(?:a?){1000}'],
  ['repetitions of repetitions', '((a{30}){30}){30}'],
  ['repetitions beyond every number, and none of them', `${'('.repeat(120)}a${'){1000}'.repeat(120)}{0}`],
  ['a wide range in both cases, often', `(?i)${'[B-\u{1E942}]'.repeat(150)}`],
  ['one class of wide ranges in both cases', `(?i)[${'B-\u{1E942}'.repeat(200)}]`],
  ['wide ranges by their numbers', `(?i)${'[A-\\x{1E942}]'.repeat(50)}`],
  ['letters of all languages, often', '\\pL'.repeat(300)],
])('refuses %s with the limit', (_, text) => {
  expect(patternProblem(text)).toMatch(/^Regular expression is too large: .* the limit is 1500$/);
});

test.each([
  String.raw`\p{Greek}`,
  String.raw`[\p{^Han}\P{Lu}]`,
  String.raw`\pL\p{Any}`,
  // No classes, only their texts.
  String.raw`\\p{Emoji}`,
  String.raw`\Q\p{Emoji}\E`,
  String.raw`\Q\p{Emoji}`,
])('%s is compiled', pattern => {
  expect(compilePattern(pattern).pattern()).toBe(pattern);
});

test.each([
  [String.raw`a\p{Emoji}`, String.raw`\p{Emoji}`],
  [String.raw`[\P{^Alphabetic}]`, String.raw`\P{^Alphabetic}`],
  // A category and a script, by names that only Unicode knows.
  [String.raw`\p{LC}`, String.raw`\p{LC}`],
  [String.raw`\p{Unknown}`, String.raw`\p{Unknown}`],
  [String.raw`\p{constructor}`, String.raw`\p{constructor}`],
])('%s is refused as by RE2', (pattern, wrong) => {
  expect(() => compilePattern(pattern)).toThrow(`invalid character class range: \`${wrong}\``);
});
