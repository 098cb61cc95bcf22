import type { JsonStep } from './json-path.ts';
import { readJsonString, writeJsonString } from './json-string.ts';

/** Maximum nesting depth of objects and arrays. */
const maxDepth = 1000;

/**
 * Reads a text in the way of BigQuery's JSON functions on STRING. They read it once, and only up to the value at the path:
 * the rest may be cut off or not JSON at all. They also accept single quotes, trailing commas, missing elements,
 * and more escapes than JSON has.
 * Source: GoogleSQL, "Non-validation of STRING inputs", and its reference implementation.
 * @throws Error if arrays and objects are nested too deep
 */
export const readJsonText = {
  /** `JSON_VALUE`: a number as it is written, the characters of a string, `null` for objects and arrays. */
  value: (text: string, path: readonly JsonStep[]): string | null => find(text, path)?.scalar() ?? null,
  /** `JSON_QUERY`: the value as JSON without white space; `null` for JSON's own null. */
  query(text: string, path: readonly JsonStep[]): string | null {
    const part = find(text, path)?.render();
    return part === undefined || part === 'null' ? null : part;
  },
  /** `JSON_QUERY` on a value of the type JSON, where JSON's own null is a value. */
  member: (text: string, path: readonly JsonStep[]): string | null => find(text, path)?.render() ?? null,
  /** `JSON_VALUE_ARRAY`: `null` unless it is an array of numbers, strings, booleans and nulls. */
  values: (text: string, path: readonly JsonStep[]): (string | null)[] | null =>
    find(text, path)?.elements(reader => (reader.startsContainer() ? undefined : reader.scalarOrNull())) ??
    null,
  /** `JSON_QUERY_ARRAY`: each element as JSON; `null` where it is not an array. */
  queries: (text: string, path: readonly JsonStep[]): string[] | null =>
    find(text, path)?.elements(reader => reader.render()) ?? null,
};

function find(text: string, path: readonly JsonStep[]): JsonReader | undefined {
  const reader = new JsonReader(text, path);
  return reader.pass(0) === 'found' ? reader : undefined;
}

/** The result of reading a value: it was passed, it contains the value at the path, or it cannot be read. */
type Outcome = 'passed' | 'found' | 'failed';

/** A cursor over a text; methods return `undefined` if the text can't be read further. */
class JsonReader {
  readonly #text: string;
  readonly #path: readonly JsonStep[];
  #at = 0;
  #depth = 0;
  /**
   * What the innermost array on the path looks for. The reference has one variable for all arrays, so an outer array continues with what an
   * inner one looked for.
   */
  #wanted: number | undefined;

  constructor(text: string, path: readonly JsonStep[]) {
    this.#text = text;
    this.#path = path;
  }

  /**
   * Passes the value that begins here, or stops before the value at the path.
   * @param matched number of steps that lead here; -1 if the value is off the path
   */
  pass(matched: number): Outcome {
    const next = this.#peek();
    if (matched === this.#path.length) return 'found';
    if (next === '{') return this.#passObject(matched);
    if (next === '[') return this.#passArray(matched);
    return this.#readLeaf() === undefined ? 'failed' : 'passed';
  }

  startsContainer(): boolean {
    const next = this.#peek();
    return next === '{' || next === '[';
  }

  /** A string, number or boolean as text. */
  scalar(): string | undefined {
    if (this.startsContainer()) {
      this.#enter();
      return undefined;
    }
    return this.#readLeaf()?.text ?? undefined;
  }

  scalarOrNull(): string | null | undefined {
    return this.#readLeaf()?.text;
  }

  /** The value in JSON. */
  render(): string | undefined {
    const next = this.#peek();
    if (next === '{') return this.#renderObject();
    if (next === '[') {
      const elements = this.elements(reader => reader.render());
      return elements && `[${elements.join(',')}]`;
    }
    const leaf = this.#readLeaf();
    if (leaf === undefined) return undefined;
    return leaf.isString ? writeJsonString(leaf.text) : (leaf.text ?? 'null');
  }

  /** The elements of an array, each read by `read`; `undefined` if this is not an array. */
  elements<Element>(read: (reader: JsonReader) => Element | undefined): Element[] | undefined {
    if (this.#peek() !== '[') return undefined;
    this.#enter();
    const elements: Element[] = [];
    while (!this.#takes(']')) {
      const element = read(this);
      if (element === undefined) return undefined;
      elements.push(element);
      if (!this.#takes(',') && this.#peek() !== ']') return undefined;
    }
    this.#depth--;
    return elements;
  }

  #renderObject(): string | undefined {
    this.#enter();
    const members: string[] = [];
    while (!this.#takes('}')) {
      const key = this.#readKey();
      const value = key === undefined ? undefined : this.render();
      if (value === undefined) return undefined;
      members.push(`${writeJsonString(key!)}:${value}`);
      if (!this.#takes(',') && this.#peek() !== '}') return undefined;
    }
    this.#depth--;
    return `{${members.join(',')}}`;
  }

  #passObject(matched: number): Outcome {
    this.#enter();
    while (!this.#takes('}')) {
      const key = this.#readKey();
      if (key === undefined) return 'failed';
      const outcome = this.pass(matched >= 0 && key === this.#path[matched]!.key ? matched + 1 : -1);
      if (outcome !== 'passed') return outcome;
      if (!this.#takes(',') && this.#peek() !== '}') return 'failed';
    }
    this.#depth--;
    return 'passed';
  }

  #passArray(matched: number): Outcome {
    this.#enter();
    if (matched >= 0) this.#wanted = this.#path[matched]!.index;
    for (let index = 0; !this.#takes(']'); index++) {
      const outcome = this.pass(matched >= 0 && index === this.#wanted ? matched + 1 : -1);
      if (outcome !== 'passed') return outcome;
      if (!this.#takes(',') && this.#peek() !== ']') return 'failed';
    }
    this.#depth--;
    return 'passed';
  }

  #enter(): void {
    if (this.#depth === maxDepth) {
      throw new Error(
        `JSON parsing failed due to deeply nested array/struct. Maximum nesting depth is ${maxDepth}`,
      );
    }
    this.#depth++;
    this.#at++;
  }

  /** The name of a member, and the colon after it. */
  #readKey(): string | undefined {
    const next = this.#peek();
    if (next !== '"' && next !== "'") return undefined;
    const key = this.#readString();
    return key !== undefined && this.#takes(':') ? key : undefined;
  }

  #readLeaf(): Leaf | undefined {
    const next = this.#peek();
    if (next === '"' || next === "'") {
      const text = this.#readString();
      return text === undefined ? undefined : { text, isString: true };
    }
    // A missing element is a null; the separator is left to be read next.
    if (next === ',' || next === ']') return { text: null, isString: false };
    for (const word of words) {
      if (!this.#text.startsWith(word, this.#at)) continue;
      this.#at += word.length;
      return { text: word === 'null' ? null : word, isString: false };
    }
    const text = this.#readNumber();
    return text === undefined ? undefined : { text, isString: false };
  }

  #readNumber(): string | undefined {
    numberPattern.lastIndex = this.#at;
    const [text, fraction, exponent] = numberPattern.exec(this.#text) ?? [];
    // A point or an `e` must be followed by digits.
    if (text === undefined || fraction === '.' || (exponent !== undefined && !/\d/.test(exponent)))
      return undefined;
    this.#at += text.length;
    return text;
  }

  #readString(): string | undefined {
    const read = readJsonString(this.#text, this.#at);
    if (read) this.#at = read.end;
    return read?.value;
  }

  #takes(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at++;
    return true;
  }

  /** The next character that is not white space. */
  #peek(): string | undefined {
    for (let code = this.#text.charCodeAt(this.#at); code === 32 || (code >= 9 && code <= 13); ) {
      code = this.#text.charCodeAt(++this.#at);
    }
    return this.#text[this.#at];
  }
}

type Leaf =
  | { readonly text: string; readonly isString: boolean }
  | { readonly text: null; readonly isString: false };

const words = ['true', 'false', 'null'];
const numberPattern = /-?(?:0|[1-9]\d*)(\.\d*)?([eE][+-]?\d*)?/y;
