import { isUtf8 } from 'node:buffer';

/** The encodings that are recognised. */
export type TextEncoding = 'utf-8' | 'utf-16le' | 'utf-16be' | 'windows-1252';

/**
 * Detects the encoding of a text: by its byte order mark or zero bytes; else UTF-8 if it is valid; else Windows-1252, which includes Latin-1.
 * @param head its beginning
 * @param declared the encoding, if it is known
 */
export function encodingOf(head: Buffer, declared?: 'utf-8' | 'utf-16' | 'latin-1'): TextEncoding {
  if (declared === 'utf-8') return 'utf-8';
  if (declared === 'latin-1') return 'windows-1252';
  const [first, second] = head;
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  // In UTF-16 one of the two bytes of most letters is zero.
  const zeros = [0, 0];
  for (const [at, byte] of head.entries()) if (byte === 0) zeros[at % 2]!++;
  const isWide = declared === 'utf-16' || Math.max(...zeros) > head.length / 8;
  if (isWide) return zeros[0]! > zeros[1]! ? 'utf-16be' : 'utf-16le';
  // The head may end in the middle of a character.
  const lastWhole = head.subarray(0, Math.max(0, head.lastIndexOf(0x0a)));
  return isUtf8(head) || (lastWhole.length > 0 && isUtf8(lastWhole)) ? 'utf-8' : 'windows-1252';
}

/** Decodes it, without a byte order mark. */
export function decoderFor(encoding: string): TextDecoder {
  return new TextDecoder(encoding);
}
