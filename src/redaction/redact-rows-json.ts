import { stringEnd } from '../base/json-scan.ts';
import { redactText } from './redact-text.ts';
import { type RedactionKind, redactionKinds } from './redaction-kinds.ts';

const quote = 0x22;
const colon = 0x3a;

/** Bytes of JSON that are read between two pauses. */
const sliceBytes = 64 * 1024;

/**
 * Replaces personal data in the string values of JSON text, at any depth.
 * Keys, numbers, booleans, null and strings without personal data stay byte for byte.
 * @param json valid JSON, without white space between a key and its colon
 * @param kinds default: all
 */
export function redactRowsJson(
  json: Buffer | string,
  kinds: readonly RedactionKind[] = redactionKinds,
): Buffer {
  const slices = redactInSlices(typeof json === 'string' ? Buffer.from(json) : json, kinds);
  for (;;) {
    const { done, value } = slices.next();
    if (done) return value;
  }
}

/**
 * The same with pauses between strings, in which the caller can do other work.
 * @returns the same bytes if nothing is replaced
 */
export function* redactInSlices(
  bytes: Buffer,
  kinds: readonly RedactionKind[],
): Generator<undefined, Buffer, undefined> {
  const parts: Buffer[] = [];
  let copied = 0;
  let paused = 0;
  let start = bytes.indexOf(quote);
  while (start >= 0) {
    const end = stringEnd(bytes, start);
    if (bytes[end] !== colon) {
      const value: string = JSON.parse(bytes.toString('utf8', start, end));
      const redacted = redactText(value, kinds);
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
