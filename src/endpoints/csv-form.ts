import { z } from 'zod';
import { timeSchema } from './load-mapping.ts';

const format = timeSchema.refine(text => text.includes('%'), 'must be a format such as %d.%m.%Y');

const character = z.string().regex(/^[^\r\n]$/u, 'must be one character');

/** The key `csv` of a source's file: the dialect of its CSV files. Absent keys are detected in the files. */
export const csvSchema = z
  .strictObject({
    delimiter: character,
    /** Empty: nothing is quoted. */
    quote: character.or(z.literal('')),
    escape: character,
    /** Whether the first line has the names; otherwise they are column0, column1 and so on. Default true. */
    header: z.boolean(),
    /** Lines before the header. Default 0. */
    skip: z.int().min(0).max(1000),
    /** false: read files in place even if they have mixed line endings or unclosed quotes. Default true. */
    strict: z.boolean(),
    encoding: z.enum(['utf-8', 'utf-16', 'latin-1']),
    decimal: z.enum(['.', ',']),
    thousands: z.enum(['.', ',', ' ', "'"]),
    date: format,
    timestamp: format,
  })
  .partial();

/** The dialect of CSV files, as far as it is known. */
export type CsvForm = z.infer<typeof csvSchema>;
