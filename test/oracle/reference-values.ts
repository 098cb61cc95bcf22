import type { Column, ColumnType } from '../../src/base/rows.ts';
import type { SqlType } from '../../src/googlesql/tree/types.ts';
import type { TableValue } from './small-tables.ts';
import { floatText, jsonText, type WireColumn, type WireValue } from './wire-values.ts';

/** A type in the reference implementation's protocol (type.proto). */
export type ReferenceType = {
  readonly typeKind: string;
  readonly arrayType?: { readonly elementType: ReferenceType };
  readonly structType?: { readonly field?: readonly { fieldName?: string; fieldType: ReferenceType }[] };
};

/** A value in its protocol (value.proto); one member is there, none for NULL. */
export type ReferenceValue = {
  readonly int64Value?: string;
  readonly boolValue?: boolean;
  readonly doubleValue?: number;
  readonly stringValue?: string;
  readonly bytesValue?: Buffer;
  readonly numericValue?: Buffer;
  readonly bignumericValue?: Buffer;
  readonly dateValue?: number;
  readonly timeValue?: string;
  readonly datetimeValue?: { readonly bitFieldDatetimeSeconds?: string; readonly nanos?: number };
  readonly timestampValue?: { readonly seconds?: string; readonly nanos?: number };
  readonly jsonValue?: string;
  readonly arrayValue?: { readonly element?: readonly ReferenceValue[] };
  readonly structValue?: { readonly field?: readonly ReferenceValue[] };
};

type NamedType = { readonly name: string; readonly type: ReferenceType };

const kinds: Readonly<Record<string, ColumnType>> = {
  TYPE_STRING: 'STRING',
  TYPE_BYTES: 'BYTES',
  TYPE_BOOL: 'BOOL',
  TYPE_INT64: 'INT64',
  TYPE_DOUBLE: 'FLOAT64',
  TYPE_NUMERIC: 'NUMERIC',
  TYPE_BIGNUMERIC: 'BIGNUMERIC',
  TYPE_TIMESTAMP: 'TIMESTAMP',
  TYPE_DATETIME: 'DATETIME',
  TYPE_DATE: 'DATE',
  TYPE_TIME: 'TIME',
  TYPE_JSON: 'JSON',
  TYPE_STRUCT: 'STRUCT',
};

/** A column's type for the reference implementation's catalogue. */
export function referenceType(type: SqlType): ReferenceType {
  if (type.kind === 'ARRAY')
    return { typeKind: 'TYPE_ARRAY', arrayType: { elementType: referenceType(type.element) } };
  if (type.kind === 'STRUCT') {
    const field = type.fields.map(({ name, type: inner }) => ({
      fieldName: name,
      fieldType: referenceType(inner),
    }));
    return { typeKind: 'TYPE_STRUCT', structType: { field } };
  }
  return { typeKind: Object.keys(kinds).find(name => kinds[name] === type.kind)! };
}

/** A test's value for a table of the reference implementation. */
export function referenceValue(type: SqlType, value: TableValue): ReferenceValue {
  if (value === null) return {};
  switch (type.kind) {
    case 'ARRAY':
      // A test writes an array where the column is one.
      return { arrayValue: { element: (value as TableValue[]).map(v => referenceValue(type.element, v)) } };
    case 'STRUCT': {
      const fields = value as Readonly<Record<string, TableValue>>; // as above, with objects
      return { structValue: { field: type.fields.map(f => referenceValue(f.type, fields[f.name] ?? null)) } };
    }
    case 'INT64':
      return { int64Value: String(value) };
    case 'FLOAT64':
      return { doubleValue: Number(value) };
    case 'BOOL':
      return { boolValue: value === true };
    case 'DATE':
      return { dateValue: Date.parse(`${value}T00:00:00Z`) / 86_400_000 };
    case 'TIMESTAMP': {
      const [whole = '', fraction = ''] = String(value).split('.');
      const seconds = Date.parse(`${whole.replace(' ', 'T')}Z`) / 1000;
      return { timestampValue: { seconds: String(seconds), nanos: Number(fraction.padEnd(9, '0')) } };
    }
    default:
      return { stringValue: String(value) };
  }
}

/** Columns as our own results name and type them. */
export function wireColumns(columns: readonly NamedType[]): readonly WireColumn[] {
  let anonymous = 0;
  return columns.map(({ name, type }) => {
    const isAnonymous = name === '' || name.startsWith('$');
    if (isAnonymous) anonymous += 1;
    return wireColumn(isAnonymous ? `f${anonymous - 1}_` : name, type);
  });
}

function wireColumn(name: string, type: ReferenceType): Column {
  const element = type.arrayType?.elementType;
  const mode = element ? 'REPEATED' : 'NULLABLE';
  const inner = element ?? type;
  const kind = kinds[inner.typeKind];
  if (!kind) throw new Error(`The reference answers a type that is not compared: ${inner.typeKind}`);
  if (!inner.structType) return { name, type: kind, mode };
  const fields = (inner.structType.field ?? []).map((field, i) =>
    wireColumn(field.fieldName || `_field_${i + 1}`, field.fieldType),
  );
  return { name, type: kind, mode, fields };
}

/** One row of an answer in the form of wire-values.ts. */
export function rowInWireForm(
  columns: readonly NamedType[],
  cells: readonly ReferenceValue[],
): readonly WireValue[] {
  return columns.map(({ type }, i) => wireValue(type, cells[i] ?? {}));
}

function wireValue(type: ReferenceType, value: ReferenceValue): WireValue {
  if (type.arrayType) {
    const { elementType } = type.arrayType;
    return (value.arrayValue?.element ?? []).map(element => wireValue(elementType, element));
  }
  if (type.structType) {
    const { structValue } = value;
    if (!structValue) return null;
    return (type.structType.field ?? []).map((f, i) => wireValue(f.fieldType, structValue.field?.[i] ?? {}));
  }
  return scalarValue(value);
}

function scalarValue(value: ReferenceValue): WireValue {
  if (value.int64Value !== undefined) return value.int64Value;
  if (value.boolValue !== undefined) return value.boolValue;
  if (value.doubleValue !== undefined) return floatText(value.doubleValue);
  if (value.stringValue !== undefined) return value.stringValue;
  if (value.bytesValue !== undefined) return value.bytesValue.toString('base64');
  if (value.numericValue !== undefined) return decimalText(value.numericValue, 9);
  if (value.bignumericValue !== undefined) return decimalText(value.bignumericValue, 38);
  if (value.dateValue !== undefined) return new Date(value.dateValue * 86_400_000).toISOString().slice(0, 10);
  if (value.timeValue !== undefined) return timeText(BigInt(value.timeValue));
  if (value.datetimeValue !== undefined) return datetimeText(value.datetimeValue);
  if (value.timestampValue !== undefined) {
    const { seconds = '0', nanos = 0 } = value.timestampValue;
    return String(BigInt(seconds) * 1_000_000n + BigInt(Math.floor(nanos / 1000)));
  }
  return value.jsonValue === undefined ? null : jsonText(value.jsonValue);
}

/** A number as little-endian two's complement, with so many digits after the point. */
function decimalText(bytes: Buffer, scale: number): string {
  const unsigned = BigInt(`0x${Buffer.from(bytes).reverse().toString('hex') || '0'}`);
  const number = BigInt.asIntN(Math.max(bytes.length * 8, 8), unsigned);
  const digits = String(number < 0n ? -number : number).padStart(scale + 1, '0');
  const text = `${digits.slice(0, -scale)}.${digits.slice(-scale)}`.replace(/\.?0+$/, '');
  return number < 0n ? `-${text}` : text;
}

/** `hour:5 minute:6 second:6`, with more bits above for a date. Source: civil_time.h of GoogleSQL. */
function clockText(bits: bigint): string {
  return [bits >> 12n, bits >> 6n, bits].map((part, i) => padded(part & (i === 0 ? 31n : 63n))).join(':');
}

function timeText(bits: bigint): string {
  return clockText(bits >> 30n) + fraction(Number(bits & 0x3fffffffn));
}

function datetimeText({
  bitFieldDatetimeSeconds = '0',
  nanos = 0,
}: NonNullable<ReferenceValue['datetimeValue']>): string {
  const bits = BigInt(bitFieldDatetimeSeconds);
  const date = [padded(bits >> 26n, 4), padded((bits >> 22n) & 15n), padded((bits >> 17n) & 31n)];
  return `${date.join('-')}T${clockText(bits)}${fraction(nanos)}`;
}

const padded = (part: bigint, width = 2): string => String(part).padStart(width, '0');

function fraction(nanos: number): string {
  return nanos === 0 ? '' : `.${String(Math.floor(nanos / 1000)).padStart(6, '0')}`;
}
