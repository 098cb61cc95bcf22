import type { Column, Subset } from '../api/catalogue.ts';
import type { Dialect } from '../api/client.ts';

/** A completion at the cursor. */
export type Option = {
  readonly label: string;
  readonly kind: 'subset' | 'column' | 'function' | 'keyword';
  /** A type or a signature. */
  readonly detail: string;
};

/**
 * The words that can stand at the cursor: subsets, the columns of those that the text names, the fields of their records,
 * functions and keywords.
 * @param before the text up to the cursor
 */
export function completionsAt(
  before: string,
  text: string,
  subsets: readonly Subset[],
  dialect: Dialect,
): Option[] {
  const isField = /[\w`\])]\s*\.\s*\w*$/.test(before);
  const named = subsets.filter(({ name }) => new RegExp(`\\b${name}\\b`, 'i').test(text));
  const columns = unique(
    (named.length > 0 ? named : subsets).flatMap(subset => subset.columns.flatMap(withFields)),
  );
  if (isField) return columns;
  const tables = subsets.map(({ name }): Option => ({ label: name, kind: 'subset', detail: 'subset' }));
  if (/\b(from|join)\s+\w*$/i.test(before)) return tables;
  return [
    ...columns,
    ...tables,
    ...dialect.functions.map(
      ({ name, signatures }): Option => ({ label: name, kind: 'function', detail: signatures[0] ?? '' }),
    ),
    ...dialect.keywords.map((word): Option => ({ label: word, kind: 'keyword', detail: '' })),
  ];
}

function withFields(column: Column): Option[] {
  const { name, type, fields = [] } = column;
  const detail = column.mode === 'REPEATED' ? `ARRAY<${type}>` : type;
  return [{ label: name, kind: 'column', detail }, ...fields.flatMap(withFields)];
}

function unique(options: readonly Option[]): Option[] {
  return [...new Map(options.map(option => [`${option.label} ${option.detail}`, option])).values()];
}
