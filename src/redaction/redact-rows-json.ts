import { stringEnd } from '../base/json.ts';
import { followPath, type JsonColumns } from './json-columns.ts';
import { redactJsonText } from './redact-json-text.ts';
import { redactLongText } from './redact-long-text.ts';
import { type RedactionKind, redactionKinds } from './redaction-kinds.ts';

const quote = 0x22;
const colon = 0x3a;

export type RedactionOptions = {
  /** Default: all. */
  readonly kinds?: readonly RedactionKind[];
  /** Which strings hold JSON text, whose keys stay too, by their path from the root of the JSON; arrays do not count in a path. Default: none. */
  readonly jsonColumns?: JsonColumns | undefined;
};

/** Bytes of JSON between two pauses. */
const sliceBytes = 64 * 1024;

/**
 * Replaces personal data in the string values of JSON text, at any depth.
 * Keys, numbers, booleans, null and strings without personal data stay byte for byte.
 * @param json valid JSON, without white space between a key and its colon
 */
export function redactRowsJson(json: Buffer | string, options: RedactionOptions = {}): Buffer {
  const slices = redactInSlices(typeof json === 'string' ? Buffer.from(json) : json, options);
  for (;;) {
    const { done, value } = slices.next();
    if (done) return value;
  }
}

/**
 * `redactRowsJson` with pauses in which the caller can do other work.
 * @returns the same bytes if nothing is replaced
 */
export function* redactInSlices(
  bytes: Buffer,
  { kinds = redactionKinds, jsonColumns }: RedactionOptions,
): Generator<undefined, Buffer, undefined> {
  const parts: Buffer[] = [];
  const path = jsonColumns && followPath(bytes, jsonColumns);
  let copied = 0;
  let paused = 0;
  let start = bytes.indexOf(quote);
  while (start >= 0) {
    const end = stringEnd(bytes, start);
    if (bytes[end] === colon) path?.enter(start, end);
    else {
      const value: string = JSON.parse(bytes.toString('utf8', start, end));
      const redact = path?.isJson(start, end) ? redactJsonText : redactLongText;
      const redacted = yield* redact(value, kinds);
      if (redacted !== value) {
        parts.push(bytes.subarray(copied, start), Buffer.from(JSON.stringify(redacted)));
        copied = end;
      }
    }
    start = bytes.indexOf(quote, end);
    if (end - paused >= sliceBytes) {
      paused = end;
      yield;
    }
  }
  return copied === 0 ? bytes : Buffer.concat([...parts, bytes.subarray(copied)]);
}
