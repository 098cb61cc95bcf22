import { z } from 'zod';

/** The parts of BigQuery's answers that are read. Source: BigQuery REST reference, v2. 64-bit integers come as text. */
const integerText = z.union([z.string().regex(/^-?\d+$/), z.number()]).transform(Number);

/** A column of BigQuery's result schema, or a field of a RECORD. Source: `TableFieldSchema`. */
export type Field = {
  readonly name: string;
  readonly type: string;
  readonly mode?: string | undefined;
  readonly fields?: readonly Field[] | undefined;
};

const field: z.ZodType<Field> = z.lazy(() =>
  z.object({
    name: z.string(),
    type: z.string(),
    mode: z.string().optional(),
    fields: z.array(field).optional(),
  }),
);

const schema = z.object({ fields: z.array(field).default([]) });

const jobReference = z.object({ jobId: z.string(), location: z.string().optional() });

/** A job's name, and the region that knows it. */
export type JobReference = z.output<typeof jobReference>;

const problem = z.object({ reason: z.string().default('unknown'), message: z.string().default('') });

/** Answers `jobs.query` and `jobs.getQueryResults`. Rows are read by `renderRows`, cell by cell. */
export const resultsAnswer = z.object({
  jobComplete: z.boolean().default(false),
  jobReference: jobReference.optional(),
  schema: schema.optional(),
  rows: z.array(z.unknown()).default([]),
  pageToken: z.string().optional(),
  totalBytesProcessed: integerText.optional(),
  totalBytesBilled: integerText.optional(),
  totalSlotMs: integerText.optional(),
});

export type ResultsAnswer = z.output<typeof resultsAnswer>;

const tableReference = z.object({ projectId: z.string(), datasetId: z.string(), tableId: z.string() });

/** Answers `jobs.insert` and `jobs.get`. */
export const jobAnswer = z.object({
  jobReference: jobReference.optional(),
  status: z.object({ state: z.string().optional(), errorResult: problem.optional() }).optional(),
  statistics: z
    .object({
      totalBytesProcessed: integerText.optional(),
      totalSlotMs: integerText.optional(),
      query: z
        .object({
          statementType: z.string().optional(),
          referencedTables: z.array(tableReference).default([]),
          schema: schema.optional(),
          totalBytesProcessed: integerText.optional(),
          totalBytesBilled: integerText.optional(),
          totalSlotMs: integerText.optional(),
        })
        .optional(),
    })
    .optional(),
});

export type JobAnswer = z.output<typeof jobAnswer>;

/** The body of every refusal. */
export const errorAnswer = z.object({
  error: z.object({ message: z.string().default(''), errors: z.array(problem).default([]) }),
});
