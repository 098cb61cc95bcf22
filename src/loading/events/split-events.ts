import { stringEnd } from '../../base/json.ts';

/** A body that can't be read, and the code of the error to answer with. */
export class BodyError extends Error {
  override readonly name = 'BodyError';
  readonly code: 'invalid_body' | 'body_too_large';

  constructor(message: string, code: BodyError['code'] = 'invalid_body') {
    super(message);
    this.code = code;
  }
}

/**
 * Finds the events of a body without parsing them: an array, an object with an array `batch` and no message, or one object after
 * another, as in NDJSON.
 * @returns their texts, in order
 * @throws BodyError for a body that ends too early, or has something between its values
 */
export function* splitEvents(body: Buffer): Iterable<string> {
  let at = afterSpace(body, body[0] === 0xef && body[1] === 0xbb ? 3 : 0);
  while (at < body.length) {
    const list = body[at] === openBracket ? at : batchOf(body, at);
    const end = valueEnd(body, at);
    if (list === undefined) yield body.toString('utf8', at, end);
    else yield* elementsOf(body, list);
    at = afterSpace(body, end);
  }
}

const [quote, comma, colon] = [0x22, 0x2c, 0x3a];
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d];
const [space, tab, lineFeed, carriageReturn] = [0x20, 0x09, 0x0a, 0x0d];

function* elementsOf(body: Buffer, list: number): Iterable<string> {
  let at = afterSpace(body, list + 1);
  if (body[at] === closeBracket) return;
  for (;;) {
    const end = valueEnd(body, at);
    yield body.toString('utf8', at, end);
    at = afterSpace(body, end);
    if (body[at] === closeBracket) return;
    if (body[at] !== comma) throw new BodyError(`holds something other than a comma at byte ${at}`);
    at = afterSpace(body, at + 1);
  }
}

/** Where the array `batch` of an object begins; undefined without one, or if the object is itself an event, with a message. */
function batchOf(body: Buffer, object: number): number | undefined {
  if (body[object] !== openBrace) return undefined;
  let batch: number | undefined;
  let at = afterSpace(body, object + 1);
  while (body[at] === quote) {
    const keyEnd = stringEnd(body, at);
    const key = body.toString('latin1', at + 1, keyEnd - 1);
    if (/^(?:event_)?message$/i.test(key)) return undefined;
    const before = afterSpace(body, keyEnd);
    if (body[before] !== colon) return undefined;
    const value = afterSpace(body, before + 1);
    if (key === 'batch') batch = body[value] === openBracket ? value : undefined;
    at = afterSpace(body, valueEnd(body, value));
    if (body[at] !== comma) break;
    at = afterSpace(body, at + 1);
  }
  return batch;
}

/** The position after a value, which is not checked to be valid JSON. */
function valueEnd(body: Buffer, start: number): number {
  let depth = 0;
  let at = start;
  for (; at < body.length; at++) {
    const byte = body[at]!;
    if (byte === quote) {
      at = stringEnd(body, at) - 1;
      if (depth === 0) return at + 1;
    } else if (byte === openBracket || byte === openBrace) depth++;
    else if (byte === closeBracket || byte === closeBrace) {
      if (depth === 0) break;
      if (--depth === 0) return at + 1;
    } else if (depth === 0 && (byte === comma || isSpace(byte))) break;
  }
  if (depth > 0) throw new BodyError('ends too early');
  if (at === start) throw new BodyError(`has no value at byte ${start}`);
  return at;
}

function isSpace(byte: number | undefined): boolean {
  return byte === space || byte === lineFeed || byte === carriageReturn || byte === tab;
}

function afterSpace(body: Buffer, start: number): number {
  let at = start;
  while (isSpace(body[at])) at++;
  return at;
}
