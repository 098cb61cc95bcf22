import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  gzip,
  gzipSync,
  zstdCompress,
  zstdCompressSync,
} from 'node:zlib';

/** Cheap levels: a body of 200 KB is coded in well under a millisecond, and hardly longer than at the best level. */
const zstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
const gzipOptions = { level: 1 };

/** The codings of the `Content-Encoding` header, the best one first (RFC 8878, RFC 7932, RFC 1952). */
const codings = {
  zstd: {
    now: (body: Buffer) => zstdCompressSync(body, zstdOptions),
    aside: (body: Buffer) => promisify(zstdCompress)(body, zstdOptions),
  },
  br: {
    now: (body: Buffer) => brotliCompressSync(body, brotliOptions),
    aside: (body: Buffer) => promisify(brotliCompress)(body, brotliOptions),
  },
  gzip: {
    now: (body: Buffer) => gzipSync(body, gzipOptions),
    aside: (body: Buffer) => promisify(gzip)(body, gzipOptions),
  },
} satisfies Record<string, { now: (body: Buffer) => Buffer; aside: (body: Buffer) => Promise<Buffer> }>;

export type Coding = keyof typeof codings;

/** Shorter bodies are sent as they are. */
const minCodedBytes = 1024;

/** What was chosen for the Accept-Encoding headers seen so far; clients send few different ones. */
const choices = new Map<string, Coding | undefined>();
const maxChoices = 500;

/**
 * Chooses the coding of a body.
 * @param accept the `Accept-Encoding` header
 * @param length of the body, in bytes
 * @returns undefined where the body goes out as it is
 */
export function chooseCoding(accept: string | undefined, length: number): Coding | undefined {
  if (accept === undefined || length < minCodedBytes) return undefined;
  if (choices.has(accept)) return choices.get(accept);
  if (choices.size >= maxChoices) choices.clear();
  const choice = readAcceptEncoding(accept);
  choices.set(accept, choice);
  return choice;
}

/** RFC 9110, section 12.5.3: the highest weight wins; among equal ones our own order. */
function readAcceptEncoding(accept: string): Coding | undefined {
  const weights = new Map<string, number>();
  for (const part of accept.toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map(text => text.trim());
    // What is no number is never the highest weight.
    weights.set(name, Number(parameters.find(text => text.startsWith('q='))?.slice(2) ?? '1'));
  }
  const weightOf = (coding: string) => weights.get(coding) ?? weights.get('*') ?? 0;
  // Not to be sent as it is counts as a weight of 0 only where the header says so.
  const plainWeight = weights.get('identity') ?? 0;
  let best: Coding | undefined;
  for (const coding of Object.keys(codings) as Coding[]) {
    const weight = weightOf(coding);
    if (weight > 0 && weight >= plainWeight && weight > (best ? weightOf(best) : 0)) best = coding;
  }
  return best;
}

/** Coded forms live as long as the body that they were made of. */
const codedForms = new WeakMap<Buffer, Map<Coding, Buffer>>();

/** Longer bodies are coded on another thread; for shorter ones the way there costs more. */
const maxBytesNow = 64 * 1024;

/** The coded form of a body where it was made already, or is made in no time. */
export function codedNow(body: Buffer, coding: Coding): Buffer | undefined {
  const known = codedForms.get(body)?.get(coding);
  if (known || body.length > maxBytesNow) return known;
  return keepForm(body, coding, codings[coding].now(body));
}

/** Codes a body, once. */
export async function codeBody(body: Buffer, coding: Coding): Promise<Buffer> {
  return codedNow(body, coding) ?? keepForm(body, coding, await codings[coding].aside(body));
}

function keepForm(body: Buffer, coding: Coding, coded: Buffer): Buffer {
  const forms = codedForms.get(body) ?? new Map<Coding, Buffer>();
  codedForms.set(body, forms.set(coding, coded));
  return coded;
}
