import type { Source, SourceField, SourceFields } from '../endpoints/source.ts';
import {
  arrayOf,
  type Catalog,
  type SqlType,
  type StructField,
  scalar,
  structOf,
} from '../googlesql/tree/types.ts';

/** The catalogue of the sources in their BigQuery form, where all arrays are plain. */
export function sourceCatalog(sources: readonly Source[]): Catalog {
  return new Map(sources.map(({ name, columns }) => [name, { name, columns: fieldsOf(columns) }]));
}

function fieldsOf(fields: SourceFields): StructField[] {
  return Object.entries(fields).map(([name, field]) => ({ name, type: typeOf(field) }));
}

function typeOf(field: SourceField): SqlType {
  if (Array.isArray(field)) return arrayOf(typeOf(field[0]));
  return typeof field === 'string' ? scalar(field) : structOf(fieldsOf(field));
}
