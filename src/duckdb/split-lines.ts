import type { Readable } from 'node:stream';

/** Maximum characters of a line; a longer one can't be a row. */
export const maxLineLength = 16 * 1024 * 1024;

/** A line of more than `maxLineLength` characters. */
export class LineTooLongError extends Error {}

/**
 * Splits a stream of UTF-8 text into its lines.
 * @throws LineTooLongError
 */
export async function* splitLines(input: Readable): AsyncIterable<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const part of input) {
    const text = typeof part === 'string' ? part : decoder.decode(part, { stream: true });
    const lines = text.split('\n');
    lines[0] = rest + lines[0];
    rest = lines.pop() ?? '';
    if (rest.length > maxLineLength) {
      throw new LineTooLongError(`A line has more than ${maxLineLength} characters`);
    }
    yield* lines;
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}
