import { didYouMean } from '../../base/nearest-name.ts';
import { sameName } from './scope.ts';
import type { SqlType, StructField } from './types.ts';

/** Maximum fields that are examined: an error should cost less than a millisecond. */
const maxFields = 5000;

/**
 * The end of the message for an unknown name: the path of the shallowest field of that name inside the given fields, with `[]` after each
 * array that must be unnested; otherwise a similar name.
 */
export function whereElse(name: string, fields: Iterable<StructField>, near: Iterable<string>): string {
  const path = deeperPath(name, fields);
  return path === undefined ? didYouMean(name, near) : `; ${name} is a field in ${path}`;
}

function deeperPath(name: string, fields: Iterable<StructField>): string | undefined {
  let level = [...fields].slice(0, maxFields).map(field => ({ path: '', field }));
  for (let looked = 0; level.length > 0 && looked < maxFields; ) {
    const next: typeof level = [];
    for (const { path, field } of level) {
      if (path !== '' && sameName(field.name, name)) return path;
      const inner = structIn(field.type);
      const own = `${path}${path && '.'}${field.name}${field.type.kind === 'ARRAY' ? '[]' : ''}`;
      for (const deeper of inner) next.push({ path: own, field: deeper });
      looked += 1 + inner.length;
      if (looked >= maxFields) break;
    }
    level = next;
  }
  return undefined;
}

function structIn(type: SqlType): readonly StructField[] {
  if (type.kind === 'STRUCT') return type.fields;
  return type.kind === 'ARRAY' ? structIn(type.element) : [];
}
