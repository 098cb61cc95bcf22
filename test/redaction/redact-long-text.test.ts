import fc from 'fast-check';
import { expect, test } from 'vitest';
import { redactLongText } from '../../src/redaction/redact-long-text.ts';
import { redactText } from '../../src/redaction/redact-text.ts';
import { redactionKinds } from '../../src/redaction/redaction-kinds.ts';

/** What personal data is made of, what stands beside it, and what a text may be cut at. */
const parts = [
  '10.0.0.1', '1.2', '.', ':', '::', 'f', '1', '%3A', '%', 'fe80::1', 'eth0', 'a', 'é', '@', '%40', 'b.com', '-beta', 'curl/', 'host/',
  'Bearer', 'bearer', '%20', '+', '=', ' ', '\t', '\n', '\\n', '\\u0041', 'eyJ', 'eyJa.eyJb.c', '_', '~', '/', "'", '"', ',', ';', '[', ']', '|', '(', '&', '#', '?', 'REDACTED',
]; // biome-ignore format: a list

test('a text in pieces is redacted as a whole one', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...parts), { maxLength: 40 }),
      fc.integer({ min: 1, max: 12 }),
      (all, length) => {
        const text = all.join('');
        expect(redacted(text, length).text).toBe(redactText(text));
      },
    ),
    { numRuns: 5000 },
  );
});

test('white space within a bearer token is no place to cut', () => {
  for (const gap of [' ', '  ', ' \n', '%20 ', ': ', '= ']) {
    const text = `x bearer${gap}s3cret y`;
    for (let length = 1; length < text.length; length++) {
      expect(redacted(text, length).text).toBe(`x bearer${gap}REDACTED y`);
    }
  }
});

test('contract 11.2: there is a pause after each piece, also where a text has no place to cut', () => {
  const long = redacted('10.0.0.1 '.repeat(100_000));
  expect(long).toEqual({ text: 'REDACTED '.repeat(100_000), pauses: 14 });
  expect(redacted('1:'.repeat(2_000_000)).pauses).toBe(4);
});

/** Drives it to its end. */
function redacted(text: string, length?: number): { text: string; pauses: number } {
  const slices = redactLongText(text, redactionKinds, length);
  for (let pauses = 0; ; pauses++) {
    const { done, value } = slices.next();
    if (done) return { text: value, pauses };
  }
}
