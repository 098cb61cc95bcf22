import { readFileSync } from 'node:fs';
import { z } from 'zod';

const scalar = z.enum(['STRING', 'INT64', 'FLOAT64', 'BOOL', 'TIMESTAMP']);

/**
 * The type of a field, as `schema/sources.json` writes it: a BigQuery scalar, `[scalar]` for a repeated one,
 * `[{…}]` for a repeated record.
 */
export type SourceField = z.infer<typeof scalar> | [z.infer<typeof scalar> | SourceFields];
export type SourceFields = { readonly [name: string]: SourceField };

const field: z.ZodType<SourceField> = z.lazy(() => z.union([scalar, z.tuple([z.union([scalar, fields])])]));
const fields: z.ZodType<SourceFields> = z.record(z.string().regex(/^[A-Za-z]\w*$/), field);

const fileSchema = z.record(
  z.string().min(1),
  z.strictObject({
    /** The common table expression of `logs.all` that shows this source. */
    subset: z.string(),
    columns: fields.refine(
      columns => columns.id === 'STRING' && columns.timestamp === 'TIMESTAMP',
      'must have an id STRING and a timestamp TIMESTAMP',
    ),
  }),
);

/** A log source: the table that a saved query reads. */
export type Source = { readonly name: string; readonly columns: SourceFields };

/**
 * Reads the log sources.
 * @param file default: the repository's `schema/sources.json`
 * @throws Error that names the file and the source at fault
 */
export function readSources(
  file: string | URL = new URL('../../schema/sources.json', import.meta.url),
): Source[] {
  const read = fileSchema.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (!read.success) throw new Error(`${file}: ${z.prettifyError(read.error)}`);
  return Object.entries(read.data).map(([name, { columns }]) => ({ name, columns }));
}
