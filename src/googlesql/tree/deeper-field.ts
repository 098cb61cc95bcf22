import { didYouMean } from '../../base/nearest-name.ts';
import { sameName } from './scope.ts';
import type { SqlType, StructField } from './types.ts';

/** Fields that are looked at: the work of an error stays below a millisecond. */
const maxFields = 5000;

/**
 * The end of a message that a name is unknown: the path of a field of that name inside these, the shallowest first, `[]` behind each array
 * that has to be unnested; else a name that is near.
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
