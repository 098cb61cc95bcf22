import { z } from 'zod';
import { timeSchema } from './load-mapping.ts';

const format = timeSchema.refine(text => text.includes('%'), 'must be a format such as %d.%m.%Y');

const character = z.string().regex(/^[^\r\n]$/u, 'must be one character');

/** The key `csv` of a source's file: how its CSV files are written. What is absent is found in them. */
export const csvSchema = z
  .strictObject({
    delimiter: character,
    /** Empty: nothing is quoted. */
    quote: character.or(z.literal('')),
    escape: character,
    /** Whether the first line has the names; else they are column0, column1 and so on. Default true. */
    header: z.boolean(),
    /** Lines before the header. Default 0. */
    skip: z.int().min(0).max(1000),
    /** false: read in place although its ends of lines differ, or its quotes are not closed as they should be. Default true. */
    strict: z.boolean(),
    encoding: z.enum(['utf-8', 'utf-16', 'latin-1']),
    decimal: z.enum(['.', ',']),
    thousands: z.enum(['.', ',', ' ', "'"]),
    date: format,
    timestamp: format,
  })
  .partial();

/** How CSV files are written, as far as it is known. */
export type CsvForm = z.infer<typeof csvSchema>;
