import { dirname, join } from 'node:path';
import { isJsonObject } from '../../base/json.ts';
import { readIfThere } from '../../base/missing-file.ts';
import { replaceFile } from '../../base/replace-file.ts';
import { withFileLock } from '../../base/with-file-lock.ts';
import type { Source, SourceField, SourceFields } from '../../endpoints/source.ts';
import { recordOf } from './growing-fields.ts';

/** Fields learned from events, by source; declared fields win. */
export type LearnedFields = Readonly<Record<string, SourceFields>>;

/** The file of the learned fields, beside the database. */
export function learnedFile(databasePath: string): string {
  return join(dirname(databasePath), 'learned-fields.json');
}

/**
 * The key in that file for the learned integers of a source that have had a value with more digits than a FLOAT64: they stay INT64. No
 * source can have such a name; the fields are dotted paths in lower case.
 */
export const largeOf = (source: string) => `large integers of ${source}`;

/** @throws Error that names the file if it is damaged */
export function readLearned(databasePath: string): LearnedFields {
  const file = learnedFile(databasePath);
  const text = readIfThere(file);
  if (text === undefined) return {};
  try {
    const learned: unknown = JSON.parse(text);
    if (isJsonObject(learned) && Object.values(learned).every(isJsonObject)) return learned as LearnedFields; // written by `learn`
    throw new SyntaxError('It has no fields of sources');
  } catch (cause) {
    throw new Error(`${file} is damaged; restore it from a backup, or remove it`, { cause });
  }
}

/**
 * Adds fields to the learned ones of a source. They are on disk when this resolves.
 * @returns all learned fields
 */
export async function learn(
  databasePath: string,
  source: string,
  fields: SourceFields,
): Promise<LearnedFields> {
  return withFileLock(learnedFile(databasePath), async () => {
    const known = readLearned(databasePath);
    const learned = { ...known, [source]: mergeFields(known[source] ?? {}, fields) };
    await replaceFile(learnedFile(databasePath), `${JSON.stringify(learned)}\n`);
    return learned;
  });
}

/** The sources including their learned fields. */
export function withLearned(sources: readonly Source[], learned: LearnedFields): Source[] {
  return sources.map(source => {
    const own = learned[source.name];
    return own ? { ...source, columns: mergeFields(source.columns, own) } : source;
  });
}

/** The fields of both; if they differ the first ones win. Names that differ only in letter case are the same. */
export function mergeFields(first: SourceFields, second: SourceFields): SourceFields {
  const names = new Map(Object.keys(first).map(name => [name.toLowerCase(), name]));
  const merged: Record<string, SourceField> = { ...first };
  for (const [name, field] of Object.entries(second)) {
    const known = names.get(name.toLowerCase());
    merged[known ?? name] = known === undefined ? field : mergeField(merged[known]!, field);
  }
  return merged;
}

function mergeField(first: SourceField, second: SourceField): SourceField {
  const [own, other] = [recordOf(first), recordOf(second)];
  if (!own || !other) return first === 'INT64' && second === 'FLOAT64' ? second : first;
  const record = mergeFields(own, other);
  return Array.isArray(first) ? [record] : record;
}
