import { isAscii } from 'node:buffer';

/** Receives the parts of a JSON text, in order. Strings are decoded; other scalars are passed as text. */
export type JsonHandler = {
  open(bracket: '{' | '['): void;
  /** The end of the object or array that was opened last. */
  close(): void;
  /** The name of an object's member; its value follows. */
  key(name: string): void;
  string(value: string): void;
  /** A string of at least `longBytes` bytes of ASCII without escapes, whose JSON text is the value itself; in the pieces in which it arrived. */
  longText(pieces: readonly Buffer[]): void;
  /** A number, `true`, `false` or `null`. */
  literal(text: string): void;
};

/** Reads one JSON text as its bytes arrive. */
export type JsonReader = {
  /** @throws SyntaxError for what is not JSON; whatever the handler throws */
  push(chunk: Buffer): void;
  /** @throws SyntaxError if the text is incomplete */
  end(): void;
  /** Bytes of a string that has begun and not ended; the handler has not received them yet. */
  heldBytes(): number;
};

const quote = 0x22;
const backslash = 0x5c;

/**
 * Strings of at least this many bytes are passed on undecoded if possible. A megabyte as a string, and again as JSON text, would be two
 * large objects in V8's heap, each a step towards its next full collection.
 */
export const longBytes = 64 * 1024;

/** Maximum bytes of a number or a word; those in JSON from a warehouse are far shorter. */
const maxLiteral = 64;

/**
 * Makes a push parser for one JSON text. It holds only the current string, so that a page of any size costs no more memory
 * than its longest string. Source: RFC 8259.
 */
export function createJsonReader(handler: JsonHandler): JsonReader {
  const grammar = createGrammar(handler);
  const string = createStringReader();
  let literal = '';

  /** Reads one byte outside of strings. */
  function readByte(byte: number): void {
    if (isLiteralByte(byte)) {
      literal += String.fromCharCode(byte);
      if (literal.length > maxLiteral) throw unexpected(literal);
      return;
    }
    endLiteral();
    if (byte === quote) string.begin();
    else if (!isSpace(byte)) grammar.mark(byte);
  }

  function endLiteral(): void {
    if (literal === '') return;
    grammar.literal(literal);
    literal = '';
  }

  return {
    push(chunk) {
      const next = { quote: finder(chunk, quote), backslash: finder(chunk, backslash) };
      for (let at = 0; at < chunk.length; ) {
        if (string.isOpen()) {
          at = string.read(chunk, at, next);
          if (!string.isOpen()) grammar.string(string.take());
        } else {
          readByte(chunk[at]!);
          at += 1;
        }
      }
    },
    end() {
      endLiteral();
      if (string.isOpen() || !grammar.isWhole()) throw new SyntaxError('The JSON text ends too early');
    },
    heldBytes: string.heldBytes,
  };
}

type Expected = 'value' | 'firstElement' | 'firstKey' | 'key' | 'colon' | 'next' | 'end';

const open = { object: 0x7b, array: 0x5b };
const close = { object: 0x7d, array: 0x5d };
const colon = 0x3a;
const comma = 0x2c;

/** The grammar: which token may follow which. */
function createGrammar(handler: JsonHandler) {
  /** Opening brackets that are not closed yet. */
  const brackets: number[] = [];
  let expected: Expected = 'value';
  const takesValue = () => expected === 'value' || expected === 'firstElement';
  const isIn = (bracket: number) => brackets.at(-1) === bracket;

  function expect(isAllowed: boolean, text: string): void {
    if (!isAllowed) throw unexpected(text);
  }

  function begin(bracket: number): void {
    expect(takesValue(), String.fromCharCode(bracket));
    brackets.push(bracket);
    expected = bracket === open.object ? 'firstKey' : 'firstElement';
    handler.open(bracket === open.object ? '{' : '[');
  }

  function end(bracket: number, first: Expected, mark: number): void {
    expect(isIn(bracket) && (expected === first || expected === 'next'), String.fromCharCode(mark));
    brackets.pop();
    endValue();
    handler.close();
  }

  function endValue(): void {
    expected = brackets.length === 0 ? 'end' : 'next';
  }

  return {
    isWhole: () => expected === 'end',
    /** Any byte outside of strings and literals. */
    mark(byte: number): void {
      if (byte === comma && expected === 'next') expected = isIn(open.object) ? 'key' : 'value';
      else if (byte === colon && expected === 'colon') expected = 'value';
      else if (byte === open.object || byte === open.array) begin(byte);
      else if (byte === close.object) end(open.object, 'firstKey', byte);
      else if (byte === close.array) end(open.array, 'firstElement', byte);
      else throw unexpected(String.fromCharCode(byte));
    },
    string(value: string | readonly Buffer[]): void {
      if (expected === 'firstKey' || expected === 'key') {
        expected = 'colon';
        handler.key(typeof value === 'string' ? value : textOf(value));
      } else {
        expect(takesValue(), '"');
        endValue();
        if (typeof value === 'string') handler.string(value);
        else handler.longText(value);
      }
    },
    literal(text: string): void {
      expect(takesValue() && literalForm.test(text), text);
      endValue();
      handler.literal(text);
    },
  };
}

type NextBytes = { readonly quote: Finder; readonly backslash: Finder };

/** Collects strings one after another, each from any number of chunks. */
function createStringReader() {
  let pieces: Buffer[] = [];
  let isOpen = false;
  let hasEscape = false;
  /** Whether the next byte is escaped, by a backslash that ended the last chunk. */
  let isEscaped = false;
  let held = 0;
  /** A string that began and ended in one chunk. */
  let whole = '';

  function decoded(): string {
    const text = pieces.length === 0 ? whole : textOf(pieces);
    // Only the rare string with escapes is parsed again.
    return hasEscape ? parseEscaped(text) : text;
  }

  return {
    isOpen: () => isOpen,
    heldBytes: () => held,
    begin(): void {
      isOpen = true;
    },
    /** Reads up to the end of the string or of the chunk, and returns that position. */
    read(chunk: Buffer, start: number, next: NextBytes): number {
      let from = start + (isEscaped ? 1 : 0);
      isEscaped = false;
      let end = next.quote(from);
      for (let at = next.backslash(from); at !== -1 && (end === -1 || at < end); at = next.backslash(from)) {
        hasEscape = true;
        from = at + 2;
        isEscaped = from > chunk.length;
        end = next.quote(from);
      }
      isOpen = end === -1;
      if (!isOpen && pieces.length === 0) {
        whole = chunk.toString('utf8', start, end);
        return end + 1;
      }
      const piece = chunk.subarray(start, isOpen ? chunk.length : end);
      pieces.push(piece);
      held += piece.length;
      return isOpen ? chunk.length : end + 1;
    },
    /** The finished string; its pieces if they can be passed on undecoded. */
    take(): string | readonly Buffer[] {
      const value = held >= longBytes && !hasEscape && pieces.every(isPlain) ? pieces : decoded();
      pieces = [];
      held = 0;
      hasEscape = false;
      return value;
    },
  };
}

const literalForm = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/** Space, tab, and the ends of lines. */
function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d;
}

/** Small letters, digits, `+`, `-`, `.` and `E`. */
function isLiteralByte(byte: number): boolean {
  return (
    (byte >= 0x61 && byte <= 0x7a) ||
    (byte >= 0x30 && byte <= 0x39) ||
    byte === 0x2d ||
    byte === 0x2b ||
    byte === 0x2e ||
    byte === 0x45
  );
}

/** The first position of a byte from `from` on; -1 if there is none. */
type Finder = (from: number) => number;

/** Finds a byte from increasing positions; each position of the chunk is searched once. */
function finder(chunk: Buffer, byte: number): Finder {
  let found = -2;
  return from => {
    if (found !== -1 && found < from) found = chunk.indexOf(byte, from);
    return found;
  };
}

/** The text of a string that arrived in pieces. */
export function textOf(pieces: readonly Buffer[]): string {
  return Buffer.concat(pieces).toString();
}

/** Whether bytes without a quote or a backslash are ASCII that a JSON string may contain unescaped. */
function isPlain(bytes: Buffer): boolean {
  if (!isAscii(bytes)) return false;
  // Not `every`, which calls a function for each byte.
  for (let at = 0; at < bytes.length; at++) if (bytes[at]! < 0x20) return false;
  return true;
}

function parseEscaped(text: string): string {
  try {
    return JSON.parse(`"${text}"`);
  } catch {
    throw new SyntaxError('A string of the JSON text has an escape that JSON does not know');
  }
}

function unexpected(text: string): SyntaxError {
  return new SyntaxError(`Unexpected ${JSON.stringify(text)} in the JSON text`);
}
