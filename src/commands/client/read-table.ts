import { type DataType, Type, tableFromIPC } from '@uwdata/flechette';
import { formatTimestamp } from '../../base/format-timestamp.ts';

/** The kind of a column, as far as it matters for showing it. */
export type ShownKind = 'number' | 'time' | 'other';

/** A column with its values as texts; null means NULL. */
export type ShownColumn = {
  readonly name: string;
  readonly kind: ShownKind;
  readonly cells: readonly (string | null)[];
};

/**
 * Reads rows with their types, to show them to people.
 * @param bytes an Arrow stream
 */
export function readTable(bytes: Uint8Array): ShownColumn[] {
  const table = tableFromIPC(bytes, {
    useBigInt: true,
    useBigIntTimestamp: true,
    useDecimalInt: true,
  });
  for (const { data } of table.children) data.forEach(nameByPlace);
  return table.schema.fields.map(({ name, type }, at) => ({
    name,
    kind: kindOf(type),
    cells: [...table.getChildAt(at)].map(value => (value === null ? null : textOf(value, type))),
  }));
}

/** A batch of values, those of records with the names of their fields. */
type Batch = { readonly names?: string[]; readonly children?: readonly Batch[] };

/** Lets records have their values by the places of their fields: no object takes a value named `__proto__`. */
function nameByPlace({ names, children = [] }: Batch): void {
  names?.forEach((_, at) => {
    names[at] = String(at);
  });
  children.forEach(nameByPlace);
}

function kindOf({ typeId }: DataType): ShownKind {
  if (typeId === Type.Int || typeId === Type.Float || typeId === Type.Decimal) return 'number';
  return typeId === Type.Timestamp || typeId === Type.Date ? 'time' : 'other';
}

function textOf(value: unknown, type: DataType): string {
  switch (type.typeId) {
    case Type.Timestamp:
      return timestampText(BigInt(String(value)), 'timezone' in type && type.timezone !== null);
    case Type.Date:
      return new Date(Number(value)).toISOString().slice(0, 10);
    case Type.Time:
      return timestampText(BigInt(String(value)), false).slice(11);
    case Type.Decimal:
      return decimalText(BigInt(String(value)), 'scale' in type ? type.scale : 0);
    case Type.Binary:
      return Buffer.from(value as Uint8Array).toString('base64'); // what the type holds
    case Type.Struct:
    case Type.List:
      return JSON.stringify(plainOf(value, type));
    default:
      return String(value);
  }
}

/** The value of an array or a record, with texts or JSON numbers as scalars. */
function plainOf(value: unknown, type: DataType): unknown {
  if (value === null || value === undefined) return null;
  if (type.typeId === Type.List && 'children' in type) {
    const [element] = type.children;
    return Array.from(value as Iterable<unknown>, each => plainOf(each, element!.type)); // a vector
  }
  if (type.typeId === Type.Struct && 'children' in type) {
    const record = value as Readonly<Record<string, unknown>>; // by the places of its fields
    return Object.fromEntries(type.children.map(({ name, type }, at) => [name, plainOf(record[at], type)]));
  }
  if (typeof value === 'boolean' || typeof value === 'number') {
    return type.typeId === Type.Bool || type.typeId === Type.Float ? value : textOf(value, type);
  }
  if (type.typeId === Type.Int && Number.isSafeInteger(Number(value))) return Number(value);
  return textOf(value, type);
}

/** @param micros since 1970 */
function timestampText(micros: bigint, isInstant: boolean): string {
  const text = formatTimestamp(micros)
    .slice(0, -1)
    .replace(/\.?0+$/, '');
  return isInstant ? `${text}Z` : text;
}

function decimalText(scaled: bigint, scale: number): string {
  const digits = String(scaled < 0n ? -scaled : scaled).padStart(scale + 1, '0');
  const fraction = digits.slice(-scale).replace(/0+$/, '');
  return `${scaled < 0n ? '-' : ''}${digits.slice(0, -scale)}${fraction && `.${fraction}`}`;
}
