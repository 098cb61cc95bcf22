import type { Source, SourceField, SourceFields } from '../endpoints/sources.ts';
import {
  arrayOf,
  type Catalog,
  type SqlType,
  type StructField,
  scalar,
  structOf,
} from '../googlesql/tree/types.ts';

/** The catalogue of the log sources as they lie in BigQuery: every record REPEATED, every array plain. */
export function sourceCatalog(sources: readonly Source[]): Catalog {
  return new Map(sources.map(({ name, columns }) => [name, { name, columns: fieldsOf(columns) }]));
}

function fieldsOf(fields: SourceFields): StructField[] {
  return Object.entries(fields).map(([name, field]) => ({ name, type: typeOf(field) }));
}

function typeOf(field: SourceField): SqlType {
  if (!Array.isArray(field)) return scalar(field);
  const [element] = field;
  return arrayOf(typeof element === 'string' ? scalar(element) : structOf(fieldsOf(element)));
}
