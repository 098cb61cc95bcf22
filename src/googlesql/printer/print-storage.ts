import { fieldName } from '../tree/duckdb-type.ts';
import { quoteName, quoteText } from '../tree/quote-text.ts';
import { sameStorage } from '../tree/storage.ts';
import type { ArrayType, SqlType, StructType } from '../tree/types.ts';

/** Tests whether a single record is present: by its leaf, because testing the record would read every leaf. */
export function isPresent(sql: string, type: SqlType): string {
  const record = type.kind === 'ARRAY' ? type.element : type;
  return record.kind === 'STRUCT' && record.presence
    ? `((${sql})."_p" is not null)`
    : `((${sql}) is not null)`;
}

/** A field of a record. */
export function printField(sql: string, name: string, index: number): string {
  return `(${sql}).${quoteName(fieldName(name, index))}`;
}

/** An array as a LIST, however it is stored. */
export function asList(sql: string, type: SqlType): string {
  if (type.kind !== 'ARRAY' || !type.single) return sql;
  return `(case when ${isPresent(sql, type)} then [${sql}] else [] end)`;
}

/** How values are written as texts. */
export type TextStyle = {
  /** Stands for NULL. */
  readonly absent: string;
  /** Stands between the elements of an array. */
  readonly separator: string;
  /** The text of a value that is neither record nor array; NULL for NULL. */
  scalar(sql: string, kind: SqlType['kind']): string;
  /** The text of a record that is not NULL. */
  record(sql: string, type: StructType): string;
};

/** Prints a value as its text, which is never NULL itself. */
export function printText(sql: string, type: SqlType, style: TextStyle): string {
  switch (type.kind) {
    case 'STRUCT':
      return `(case when ${isPresent(sql, type)} then ${style.record(sql, type)} else '${style.absent}' end)`;
    case 'ARRAY':
      return printElementTexts(sql, type, style);
    default:
      return `coalesce(${style.scalar(sql, type.kind)}, '${style.absent}')`;
  }
}

/** The texts of an array's elements in brackets. */
function printElementTexts(sql: string, type: ArrayType, style: TextStyle): string {
  if (type.single)
    return `(case when ${isPresent(sql, type)} then '[' || ${printText(sql, type.element, style)} || ']' else '[]' end)`;
  const element = lambdaName(type);
  const texts = `list_transform(${sql}, lambda ${element}: ${printText(element, type.element, style)})`;
  // A table stores an empty array as NULL.
  const missing = type.nulls ? style.absent : '[]';
  return `coalesce('[' || array_to_string(${texts}, '${style.separator}') || ']', '${missing}')`;
}

/** The same value in another storage of the same type: without presence leaves, records as lists. */
export function convertStorage(sql: string, from: SqlType, to: SqlType): string {
  if (sameStorage(from, to) && !isFilled(from, to)) return sql;
  if (from.kind === 'ARRAY' && to.kind === 'ARRAY') {
    const list = isFilledArray(from, to) ? `coalesce(${sql}, [])` : asList(sql, from);
    if (sameStorage(from.element, to.element) && !isFilled(from.element, to.element)) return list;
    const element = lambdaName(from);
    return `list_transform(${list}, lambda ${element}: ${convertStorage(element, from.element, to.element)})`;
  }
  if (from.kind !== 'STRUCT' || to.kind !== 'STRUCT') return sql;
  const fields = from.fields.map((field, i) => {
    const value = convertStorage(printField(sql, field.name, i), field.type, to.fields[i]!.type);
    return `${quoteText(fieldName(to.fields[i]!.name, i))}: ${value}`;
  });
  return `(case when ${isPresent(sql, from)} then {${fields.join(', ')}} end)`;
}

/** Whether a stored NULL becomes the empty array that it represents. */
function isFilledArray(from: ArrayType, to: ArrayType): boolean {
  return !from.single && from.nulls === undefined && to.nulls === 'NULL';
}

/** Whether there is such an array anywhere in two types of the same storage. */
function isFilled(from: SqlType, to: SqlType): boolean {
  if (from.kind === 'ARRAY' && to.kind === 'ARRAY')
    return isFilledArray(from, to) || isFilled(from.element, to.element);
  if (from.kind !== 'STRUCT' || to.kind !== 'STRUCT') return false;
  return from.fields.some((field, i) => isFilled(field.type, to.fields[i]!.type));
}

/** A name for an array's element that no inner or outer lambda uses. */
export function lambdaName(type: SqlType): string {
  return `e${depthOf(type)}`;
}

function depthOf(type: SqlType): number {
  if (type.kind === 'ARRAY') return 1 + depthOf(type.element);
  return type.kind === 'STRUCT' ? 1 + Math.max(0, ...type.fields.map(field => depthOf(field.type))) : 0;
}
