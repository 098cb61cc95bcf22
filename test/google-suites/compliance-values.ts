import type { ColumnType } from '../../src/base/rows.ts';
import { fieldName } from '../../src/googlesql/tree/duckdb-type.ts';
import type { SqlType } from '../../src/googlesql/tree/types.ts';
import type { TableValue } from '../oracle/small-tables.ts';
import { floatText, jsonText, type WireColumn, type WireValue } from '../oracle/wire-values.ts';

/** The result of a compliance test: `ARRAY<STRUCT<a INT64, …>>[known order:{1, …}, …]`. */
export type WrittenRows = {
  readonly columns: readonly { readonly name: string; readonly type: WrittenType }[];
  readonly rows: readonly (readonly WrittenValue[])[];
  readonly isOrdered: boolean;
  readonly hasUnorderedArrays: boolean;
};

/** A type as the file has it; `unknown` is one that BigQuery, or the comparison, lacks. */
export type WrittenType =
  | { readonly kind: Exclude<ColumnType, 'STRUCT'> }
  | { readonly kind: 'unknown'; readonly name: string }
  /** An INTERVAL or a RANGE: results have its text, tables do not hold it. */
  | { readonly kind: 'text' }
  | { readonly kind: 'ARRAY'; element: WrittenType }
  | {
      readonly kind: 'STRUCT';
      readonly fields: readonly { readonly name: string; readonly type: WrittenType }[];
    };

/** A scalar as the file spells it, a text without its quotes; lists for ARRAY and STRUCT. */
export type WrittenValue = null | string | readonly WrittenValue[];

const kinds: Readonly<Record<string, Exclude<ColumnType, 'STRUCT'>>> = {
  STRING: 'STRING',
  BYTES: 'BYTES',
  BOOL: 'BOOL',
  INT64: 'INT64',
  DOUBLE: 'FLOAT64',
  FLOAT64: 'FLOAT64',
  NUMERIC: 'NUMERIC',
  BIGNUMERIC: 'BIGNUMERIC',
  TIMESTAMP: 'TIMESTAMP',
  DATETIME: 'DATETIME',
  DATE: 'DATE',
  TIME: 'TIME',
  JSON: 'JSON',
};

/** @throws Error where the text is something else */
export function readWrittenRows(text: string): WrittenRows {
  const reader = new Reader(text.replace(/\n\s*NOTE: [\s\S]*$/, '').replace(/^\s*#.*$/gm, ''));
  const type = reader.type();
  if (type.kind !== 'ARRAY') throw new Error('no rows');
  const row = type.element;
  const columns = row.kind === 'STRUCT' ? row.fields : [{ name: '', type: row }];
  const { elements, isOrdered } = reader.elements(type.element);
  reader.end();
  const rows = elements.map(element =>
    row.kind === 'STRUCT' && Array.isArray(element) ? element : [element],
  );
  return { columns, rows, isOrdered, hasUnorderedArrays: reader.hasUnorderedArrays };
}

class Reader {
  hasUnorderedArrays = false;
  #at = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  #take(pattern: RegExp): string | undefined {
    const sticky = new RegExp(`\\s*(?:${pattern.source})`, `y${pattern.flags}`);
    sticky.lastIndex = this.#at;
    const found = sticky.exec(this.#text);
    if (!found) return undefined;
    this.#at = sticky.lastIndex;
    return found[0].trim();
  }

  #expect(pattern: RegExp): string {
    const found = this.#take(pattern);
    if (found === undefined) throw new Error(`cannot read ${this.#text.slice(this.#at, this.#at + 40)}`);
    return found;
  }

  end(): void {
    this.#expect(/$/);
  }

  type(): WrittenType {
    const name = this.#expect(/[A-Za-z_]\w*/);
    if (name === 'ARRAY') {
      this.#expect(/</);
      // `ARRAY<>`: its elements' type stands before each value.
      if (this.#take(/>/) !== undefined)
        return { kind: 'ARRAY', element: { kind: 'unknown', name: 'ARRAY<>' } };
      const element = this.type();
      this.#expect(/>/);
      return { kind: 'ARRAY', element };
    }
    if (name === 'STRUCT') {
      this.#expect(/</);
      const fields: { name: string; type: WrittenType }[] = [];
      while (this.#take(/>/) === undefined) {
        if (fields.length > 0) this.#expect(/,/);
        fields.push(this.#field());
      }
      return { kind: 'STRUCT', fields };
    }
    const inner = this.#take(/<[^<>]*(?:<[^<>]*>[^<>]*)*>|\([^()]*\)/) ?? '';
    if (name === 'INTERVAL' || (name === 'RANGE' && inner !== '')) return { kind: 'text' };
    const kind = kinds[name];
    return kind && inner === '' ? { kind } : { kind: 'unknown', name: name + (inner === '' ? '' : '<…>') };
  }

  #field(): { name: string; type: WrittenType } {
    const quoted = this.#take(/`[^`]*`/);
    if (quoted) return { name: quoted.slice(1, -1), type: this.type() };
    const start = this.#at;
    const first = this.#expect(/[\w.$]+/);
    // A name stands before a type; what is followed by `,`, `<` or `>` is the type itself.
    if (this.#take(/(?=[A-Za-z_]\w*)/) !== undefined && /\s/.test(this.#text[this.#at - 1] ?? ' '))
      return { name: first, type: this.type() };
    this.#at = start;
    return { name: '', type: this.type() };
  }

  elements(type: WrittenType) {
    this.#expect(/\[/);
    const order = this.#take(/(?:un)?known order:/);
    const elements: WrittenValue[] = [];
    while (this.#take(/\]/) === undefined) {
      if (elements.length > 0) this.#expect(/,/);
      if (this.#take(/\]/) !== undefined) break;
      elements.push(this.#value(type));
    }
    return { elements, isOrdered: order === 'known order:', isUnordered: order === 'unknown order:' };
  }

  #value(type: WrittenType): WrittenValue {
    if (this.#take(/NULL\b/) !== undefined) return null;
    if (type.kind === 'ARRAY') {
      if (this.#take(/(?=ARRAY<)/) !== undefined) {
        const own = this.type();
        if (own.kind === 'ARRAY') type.element = own.element;
        if (this.#take(/\(NULL\)/) !== undefined) return null;
      }
      const { elements, isUnordered } = this.elements(type.element);
      if (isUnordered) this.hasUnorderedArrays = true;
      return elements;
    }
    if (type.kind === 'STRUCT') {
      this.#expect(/\{/);
      const fields = type.fields.map((field, i) => {
        if (i > 0) this.#expect(/,/);
        return this.#value(field.type);
      });
      this.#expect(/\}/);
      return fields;
    }
    // A message, a range, the name of an enum value: of a type that is not compared.
    if (type.kind === 'unknown' && this.#take(/(?=\{)/) !== undefined) return this.#braced();
    if (type.kind === 'unknown') return this.#expect(/\[[^\])]*\)|"(?:\\.|[^"\\])*"|[^,{}[\]]+/);
    const quoted = this.#take(
      /b?"""(?:\\[\s\S]|[^\\])*?"""|b?"(?:\\[\s\S]|[^"\\])*"|b?'(?:\\[\s\S]|[^'\\])*'/,
    );
    if (quoted !== undefined) return quoted;
    if (type.kind === 'JSON') return this.#json();
    if (type.kind === 'text') return this.#expect(/\[[^\])]*\)|[^,{}[\]]+/).trim();
    return this.#expect(/[^,{}[\]]+/).trim();
  }

  #braced(): string {
    const start = this.#at;
    let depth = 0;
    do {
      const part = this.#expect(/"(?:\\.|[^"\\])*"|[^"{}]+|[{}]/);
      if (part === '{') depth += 1;
      if (part === '}') depth -= 1;
    } while (depth > 0);
    return this.#text.slice(start, this.#at);
  }

  #json(): string {
    const start = this.#at;
    let depth = 0;
    for (; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at]!;
      if (character === '"') {
        const string = /"(?:\\.|[^"\\])*"/y;
        string.lastIndex = this.#at;
        this.#at += (string.exec(this.#text)?.[0].length ?? 1) - 1;
        continue;
      }
      if (depth === 0 && /[,}\]]/.test(character)) break;
      if (/[{[]/.test(character)) depth += 1;
      if (/[}\]]/.test(character)) depth -= 1;
    }
    return this.#text.slice(start, this.#at).trim();
  }
}

/** Whether a column of a table can have the type. */
export const isStorable = (type: WrittenType): boolean => !unknownType(type) && !holdsText(type);

function holdsText(type: WrittenType): boolean {
  if (type.kind === 'ARRAY') return holdsText(type.element);
  return type.kind === 'STRUCT' ? type.fields.some(field => holdsText(field.type)) : type.kind === 'text';
}

/** The name of the first type in it that can't be compared. */
export function unknownType(type: WrittenType): string | undefined {
  if (type.kind === 'unknown') return type.name;
  if (type.kind === 'ARRAY') return unknownType(type.element);
  if (type.kind !== 'STRUCT') return undefined;
  // DuckDB has no STRUCT without fields.
  if (type.fields.length === 0) return 'STRUCT<>';
  return type.fields.map(field => unknownType(field.type)).find(name => name !== undefined);
}

/** The column of a result; a name is made where the file has none. */
export function writtenColumn(name: string, type: WrittenType): WireColumn {
  const element = type.kind === 'ARRAY' ? type.element : type;
  const mode = type.kind === 'ARRAY' ? 'REPEATED' : 'NULLABLE';
  if (element.kind === 'ARRAY' || element.kind === 'unknown') throw new Error('no such column');
  if (element.kind === 'text') return { name, type: 'STRING', mode };
  if (element.kind !== 'STRUCT') return { name, type: element.kind, mode };
  const fields = element.fields.map((field, i) => writtenColumn(field.name || `_field_${i + 1}`, field.type));
  return { name, type: 'STRUCT', mode, fields };
}

/** The type of a table's column. */
export function storedType(type: WrittenType): SqlType {
  switch (type.kind) {
    case 'unknown':
    case 'text':
      throw new Error('no such type');
    case 'ARRAY':
      return { kind: 'ARRAY', single: false, element: storedType(type.element) };
    case 'STRUCT':
      return {
        kind: 'STRUCT',
        presence: false,
        fields: type.fields.map(field => ({ name: field.name, type: storedType(field.type) })),
      };
    default:
      return { kind: type.kind };
  }
}

/** A value in the form in which engines are compared. */
export function wireOf(type: WrittenType, value: WrittenValue): WireValue {
  if (type.kind === 'ARRAY') return asList(value ?? []).map(element => wireOf(type.element, element));
  if (value === null) return null;
  if (type.kind === 'STRUCT')
    return type.fields.map((field, i) => wireOf(field.type, asList(value)[i] ?? null));
  const text = String(value);
  switch (type.kind) {
    case 'FLOAT64':
      return floatText(floatOf(text));
    case 'text':
      return withWireBounds(
        text.replace(/\s+/g, ' ').replace('[ ', '[').replace(' )', ')').replaceAll('NULL', 'UNBOUNDED'),
      );
    case 'BOOL':
      return text === 'true';
    case 'STRING':
      return unquoted(text).toString('utf8');
    case 'BYTES':
      return unquoted(text.replace(/^b/, '')).toString('base64');
    case 'NUMERIC':
    case 'BIGNUMERIC':
      return /\./.test(text) ? text.replace(/\.?0+$/, '') : text;
    case 'TIMESTAMP':
      return String(microseconds(text));
    case 'DATETIME':
      return withMicroseconds(text.replace(' ', 'T'));
    case 'TIME':
      return withMicroseconds(text);
    case 'JSON':
      return jsonText(text);
    default:
      return text;
  }
}

/** The bounds of a RANGE as values of their type: contract 2.12. */
function withWireBounds(text: string): string {
  return text.replace(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?(\+00)?/g, (bound, zone?: string) =>
    String(wireOf({ kind: zone ? 'TIMESTAMP' : 'DATETIME' }, bound)),
  );
}

/** A value for a table. */
export function storedOf(type: WrittenType, value: WrittenValue): TableValue {
  if (value === null) return null;
  if (type.kind === 'ARRAY') return asList(value).map(element => storedOf(type.element, element));
  if (type.kind === 'STRUCT')
    return Object.fromEntries(
      type.fields.map((field, i) => [
        fieldName(field.name, i),
        storedOf(field.type, asList(value)[i] ?? null),
      ]),
    );
  if (type.kind === 'TIMESTAMP') return String(value).replace(/\+00$/, '');
  if (type.kind === 'FLOAT64') return floatOf(String(value));
  // Scalars alone are left, and these are no lists.
  return wireOf(type, value) as string | boolean;
}

const asList = (value: WrittenValue): readonly WrittenValue[] => (Array.isArray(value) ? value : []);

function floatOf(text: string): number {
  if (/^[+-]?inf/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  return /nan/i.test(text) ? Number.NaN : Number(text);
}

const withMicroseconds = (text: string): string =>
  text.replace(/\.(\d+)$/, (_, digits: string) => `.${digits.padEnd(6, '0')}`);

function microseconds(text: string): bigint {
  const parts = /^(\d+)-(\d\d)-(\d\d) (\d\d:\d\d:\d\d)(?:\.(\d+))?\+00$/.exec(text);
  if (!parts) throw new Error(`no instant: ${text}`);
  const [, year = '', month, day, clock, fraction = ''] = parts;
  const milliseconds = Date.parse(`${year.padStart(4, '0')}-${month}-${day}T${clock}Z`);
  return BigInt(milliseconds) * 1000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
}

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\x07',
  b: '\b',
  f: '\f',
  v: '\v',
};

/** The bytes of a quoted text. */
function unquoted(text: string): Buffer {
  const inner = /^("""|'''|"|')([\s\S]*)\1$/.exec(text)?.[2] ?? text;
  const parts: Buffer[] = [];
  for (const [, code, plain] of inner.matchAll(
    /\\(x[0-9a-fA-F]{2}|[0-7]{3}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[\s\S])|([^\\]+)/g,
  )) {
    if (plain !== undefined) parts.push(Buffer.from(plain));
    else if (/^x/.test(code!)) parts.push(Buffer.from([Number.parseInt(code!.slice(1), 16)]));
    else if (/^[0-7]{3}/.test(code!)) parts.push(Buffer.from([Number.parseInt(code!, 8)]));
    else if (/^u.|^U./.test(code!))
      parts.push(Buffer.from(String.fromCodePoint(Number.parseInt(code!.slice(1), 16))));
    else parts.push(Buffer.from(escapes[code!] ?? code!));
  }
  return Buffer.concat(parts);
}
