import { type EngineFunctions, maxOutputLength } from '../engine-function.ts';
import { decodeUtf8, fromHex } from '../text-values.ts';

/** Maximum characters or bytes that a cast makes: BASE2 writes eight characters for each byte. */
const maxLength = 8 * maxOutputLength;

type Encoding = {
  write(bytes: Uint8Array): string;
  read(text: string): Uint8Array;
};

function invalid(what: string): never {
  throw new Error(`Failed to decode invalid ${what} string`);
}

function latin(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
}

const ascii: Encoding = {
  write: bytes => (bytes.some(byte => byte > 127) ? invalid('ASCII') : latin(bytes)),
  read: text => (/[^\0-\x7f]/.test(text) ? invalid('ASCII') : Buffer.from(text, 'latin1')),
};

const utf8: Encoding = {
  write: bytes => {
    const text = decodeUtf8(bytes);
    if (text === undefined) throw new Error('A string is not valid UTF-8.');
    return text;
  },
  read: text => Buffer.from(text, 'utf8'),
};

const hex: Encoding = {
  write: bytes => Buffer.from(bytes).toString('hex'),
  read: fromHex,
};

/** Reads bytes as one number and writes it in digits of `bits` bits, counted from its end; surplus bits of the first digit are dropped. */
function numeral(bits: number, prefix: string, what: string): Encoding {
  const isNumeral = new RegExp(`^[0-${2 ** bits - 1}]*$`);
  return {
    write: bytes => {
      if (bytes.length === 0) return '';
      const digits = BigInt(`0x${hex.write(bytes)}`).toString(2 ** bits);
      return digits.padStart(Math.ceil((bytes.length * 8) / bits), '0');
    },
    read: text => {
      if (!isNumeral.test(text)) invalid(what);
      if (text === '') return new Uint8Array();
      const perByte = Math.ceil(8 / bits);
      const length = Math.floor(text.length / 8) * bits + Math.ceil((text.length % 8) / perByte);
      const digits = BigInt(prefix + text)
        .toString(16)
        .padStart(2 * length, '0');
      return Buffer.from(digits.slice(-2 * length), 'hex');
    },
  };
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Source: RFC 4648, section 6. */
const base32: Encoding = {
  write: bytes => {
    let text = '';
    for (let at = 0; at < bytes.length; at += 5) {
      const group = bytes.slice(at, at + 5);
      const bits = [...group].map(byte => byte.toString(2).padStart(8, '0')).join('');
      for (let bit = 0; bit < bits.length; bit += 5)
        text += letters[Number.parseInt(bits.slice(bit, bit + 5).padEnd(5, '0'), 2)];
    }
    return text.padEnd(Math.ceil(text.length / 8) * 8, '=');
  },
  read: text => {
    if (!/^(?:[A-Z2-7]{8})*(?:[A-Z2-7]{2}={6}|[A-Z2-7]{4}={4}|[A-Z2-7]{5}={3}|[A-Z2-7]{7}=)?$/.test(text))
      invalid('base32');
    const digits = text.replace(/=+$/, '');
    const bytes = new Uint8Array(Math.floor((digits.length * 5) / 8));
    let [held, count, at] = [0, 0, 0];
    for (const digit of digits) {
      held = ((held << 5) | letters.indexOf(digit)) & 0xfff;
      count += 5;
      if (count < 8) continue;
      count -= 8;
      bytes[at++] = (held >> count) & 0xff;
    }
    return bytes;
  },
};

/** White space is ignored, and padding may be missing. */
function readBase64(text: string): Uint8Array {
  const plain = text.replace(/[\t-\r ]/g, '');
  const isValid = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/.test(plain);
  return isValid ? Buffer.from(plain, 'base64') : invalid('base64');
}

const base64: Encoding = { write: bytes => Buffer.from(bytes).toString('base64'), read: readBase64 };

const encodings: Readonly<Record<string, Encoding>> = {
  ascii,
  'utf-8': utf8,
  utf8,
  hex,
  base2: numeral(1, '0b', 'base2'),
  base8: numeral(3, '0o', 'base8'),
  base16: hex,
  base32,
  base64,
  base64m: { write: bytes => base64.write(bytes).replace(/.{76}(?=.)/g, '$&\n'), read: readBase64 },
};

function encodingOf(format: string): Encoding {
  const name = format.toLowerCase();
  if (!Object.hasOwn(encodings, name)) throw new Error(`Invalid format '${format}'`);
  return encodings[name]!;
}

/**
 * Checks a format before the query runs.
 * @throws Error with BigQuery's message
 */
export function checkByteFormat(format: string): void {
  encodingOf(format);
}

function limited<Made extends { readonly length: number }>(made: Made): Made {
  if (made.length > maxLength) throw new Error('The output of CAST with a FORMAT is too long');
  return made;
}

/** CAST between BYTES and STRING with a FORMAT, and the functions of base 32. */
export const byteCasts: EngineFunctions = {
  'bq_cast_bytes_text(STRING, BYTES) STRING': (format: string, bytes: Uint8Array) =>
    limited(encodingOf(format).write(bytes)),
  'bq_cast_text_bytes(STRING, STRING) BYTES': (format: string, text: string) =>
    Uint8Array.from(limited(encodingOf(format).read(text))),
  'bq_to_base32(BYTES) STRING': (bytes: Uint8Array) => limited(base32.write(bytes)),
  'bq_from_base32(STRING) BYTES': (text: string) => base32.read(text),
};
