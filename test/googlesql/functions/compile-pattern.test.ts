import { expect, test } from 'vitest';
import { compilePattern } from '../../../src/googlesql/values/compile-pattern.ts';

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
