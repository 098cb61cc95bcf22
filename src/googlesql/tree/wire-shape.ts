import type { SqlType } from './types.ts';

/**
 * How the JSON that DuckDB makes of a stored value must be changed to be the wire form: not at all, or by unwrapping its records.
 * Plain data: it is sent to the process that reads the rows.
 */
export type WireShape =
  | { readonly kind: 'final' }
  /** A repeated record stored as one STRUCT: `null` is `[]`, `{"_p":true,…}` is `[{…}]`. */
  | { readonly kind: 'record'; readonly fields: readonly WireShape[] }
  /** A repeated record stored as a LIST: `null` is `[]`, and its elements lose their `_p`. */
  | { readonly kind: 'records'; readonly fields: readonly WireShape[] }
  /** A LIST of scalars: `null` is `[]`. */
  | { readonly kind: 'list' };

export const finalShape: WireShape = { kind: 'final' };

/**
 * The shape of a repeated record whose JSON DuckDB can make in its stored form; undefined if one of its leaves needs a
 * conversion in SQL. This saves the planner an expression per leaf, which would take longer than many queries.
 */
export function storedRecordShape(type: SqlType): WireShape | undefined {
  return type.kind === 'ARRAY' && type.element.kind === 'STRUCT' ? shapeOf(type) : undefined;
}

function shapeOf(type: SqlType): WireShape | undefined {
  if (type.kind === 'STRING' || type.kind === 'INT64' || type.kind === 'BOOL') return finalShape;
  if (type.kind !== 'ARRAY') return undefined;
  const { element, single } = type;
  if (element.kind !== 'STRUCT') return shapeOf(element) === finalShape ? { kind: 'list' } : undefined;
  if (!element.presence) return undefined;
  const fields: WireShape[] = [];
  for (const field of element.fields) {
    const shape = shapeOf(field.type);
    if (!shape) return undefined;
    fields.push(shape);
  }
  return { kind: single ? 'record' : 'records', fields };
}
