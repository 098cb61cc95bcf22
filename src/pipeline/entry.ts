import type { Column } from '../rows.ts';

/** The rows of one cache key as they are stored: before redaction, rendered as the exact REST body. */
export type Entry = {
  /** The key's canonical text. */
  readonly canonical: string;
  /** Milliseconds since 1970. */
  readonly createdAtMs: number;
  readonly columns: readonly Column[];
  readonly rowCount: number;
  /** `{"result":[…]}`, UTF-8. */
  readonly body: Buffer;
};

/** Changes with the layout below; an entry of another version is a miss. */
const codecVersion = 1;

/** Writes an entry as one line of JSON, then the body's bytes. */
export function encodeEntry({ body, ...head }: Entry): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ version: codecVersion, ...head })}\n`), body]);
}

/** Reads a stored entry; undefined when the bytes are another version's, another key's, or damaged. */
export function decodeEntry(bytes: Buffer, canonical: string): Entry | undefined {
  const end = bytes.indexOf('\n');
  if (end < 0) return undefined;
  try {
    const { version, ...head } = JSON.parse(bytes.toString('utf8', 0, end));
    if (version !== codecVersion || head.canonical !== canonical) return undefined;
    return { ...head, body: bytes.subarray(end + 1) };
  } catch {
    return undefined;
  }
}
