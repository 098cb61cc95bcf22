import { sqlColumnName } from '../../endpoints/written-names.ts';
import type { Column, Subset } from '../api/catalogue.ts';
import { telling } from '../result/summary.ts';

/** A query to begin with. */
export type Example = { readonly title: string; readonly sql: string };

/** Queries over one subset, made from its columns. */
export function examplesOf({ name, columns }: Subset): Example[] {
  const named = columns.find(({ type, mode }) => type === 'TIMESTAMP' && mode !== 'REPEATED')?.name;
  const time = named && sqlColumnName(named);
  const plain = columns
    .filter(({ type, mode }) => type !== 'STRUCT' && mode !== 'REPEATED')
    .map(column => sqlColumnName(column.name));
  const order = time ? `\norder by ${time} desc` : '';
  const newest = {
    title: 'Newest rows',
    sql: `select ${plain.join(', ') || '*'}\nfrom ${name}${order}\nlimit 100`,
  };
  const perMinute = time && {
    title: 'Rows per minute',
    sql: `select timestamp_trunc(${time}, minute) as minute, count(*) as total\nfrom ${name}\ngroup by minute\norder by minute desc`,
  };
  const found = telling.flatMap(field => pathTo(columns, field) ?? []).slice(0, 2);
  return [newest, ...(perMinute ? [perMinute] : []), ...found.map(path => countedBy(name, path))];
}

/** The columns from the table to a field of this name; undefined if there is none. */
function pathTo(columns: readonly Column[], field: string): { readonly path: readonly Column[] } | undefined {
  for (const column of columns) {
    if (column.name === field && column.type !== 'STRUCT' && column.mode !== 'REPEATED')
      return { path: [column] };
    const found = pathTo(column.fields ?? [], field);
    if (found) return { path: [column, ...found.path] };
  }
  return undefined;
}

/** Counts the values of a field; each repeated record on the way to it is one join. */
function countedBy(subset: string, { path }: { readonly path: readonly Column[] }): Example {
  let from = `${subset} as t`;
  let at = 't';
  for (const { name, mode } of path.slice(0, -1)) {
    if (mode === 'REPEATED') {
      from += `\ncross join unnest(${at}.${sqlColumnName(name)}) as ${name}_entry`;
      at = `${name}_entry`;
    } else at = `${at}.${sqlColumnName(name)}`;
  }
  const { name } = path.at(-1)!;
  const field = sqlColumnName(name);
  return {
    title: `Rows by ${name}`,
    sql: `select cast(${at}.${field} as string) as ${field}, count(*) as total\nfrom ${from}\ngroup by ${field}\norder by total desc\nlimit 20`,
  };
}
