import { objectEnd } from '../base/json-scan.ts';

const newline = 0x0a;

/**
 * Writes rows as one JSON object a line, each byte for byte as it is in the JSON.
 * @param body `{"result":[…]}`, UTF-8
 */
export function writeNdjson(body: Buffer): Buffer {
  let at = body.indexOf('[') + 1;
  // A row's comma, or the bracket after the last one, becomes the end of its line.
  const lines = Buffer.from(body.subarray(at, body.length - 1));
  const length = lines.length - 1;
  at = 0;
  while (at < length) {
    at = objectEnd(lines, at);
    lines[at++] = newline;
  }
  return lines.subarray(0, at);
}
