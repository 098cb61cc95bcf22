import { z } from 'zod';

/**
 * A part of BigQuery's answers, with the fields that are read. Null counts as absent: emulators written in Go send it for fields that
 * BigQuery omits. Source: BigQuery REST reference, v2.
 */
const part = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.preprocess(withoutNulls, z.object(shape));

function withoutNulls(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || Array.isArray(answer)) return answer;
  return Object.fromEntries(Object.entries(answer).filter(([, value]) => value !== null));
}

/** 64-bit integers come as text. */
const integerText = z.union([z.string().regex(/^-?\d+$/), z.number()]).transform(Number);

/** A column of BigQuery's result schema, or a field of a RECORD. Source: `TableFieldSchema`. */
export type Field = {
  readonly name: string;
  readonly type: string;
  readonly mode?: string | undefined;
  readonly fields?: readonly Field[] | undefined;
};

const field: z.ZodType<Field> = z.lazy(() =>
  part({
    name: z.string(),
    type: z.string(),
    mode: z.string().optional(),
    fields: z.array(field).optional(),
  }),
);

const schema = part({ fields: z.array(field).default([]) });

const jobReference = part({ jobId: z.string(), location: z.string().optional() });

/** A job's id and its region. */
export type JobReference = z.output<typeof jobReference>;

const problem = part({
  reason: z.string().default('unknown'),
  message: z.string().default(''),
  debugInfo: z.string().optional(),
});

/** BigQuery's `ErrorProto`. */
export type Problem = z.output<typeof problem>;

/** The columns in an answer that has been read up to its rows. */
export const answerSoFar = part({ schema: schema.optional() });

/** An answer of `jobs.getQueryResults` without its rows, which `readPage` renders as they arrive. */
export const resultsAnswer = part({
  jobComplete: z.boolean(),
  jobReference: jobReference.optional(),
  schema: schema.optional(),
  /** Rows of the whole result. */
  totalRows: integerText.optional(),
  /** Token of the next page; absent on the last one, where some servers send an empty text. */
  pageToken: z.union([z.string().min(1), z.literal('').transform(() => undefined)]).optional(),
  totalBytesProcessed: integerText.optional(),
});

export type ResultsAnswer = z.output<typeof resultsAnswer>;

/** A dry run leaves no job: BigQuery gives it a location and no id, emulators give it both. */
const dryRunReference = part({ jobId: z.string().optional(), location: z.string().optional() });

const tableReference = part({ projectId: z.string(), datasetId: z.string(), tableId: z.string() });

/** Answers of `jobs.insert` and `jobs.get`. */
export const jobAnswer = part({
  jobReference: dryRunReference,
  status: part({ state: z.string(), errorResult: problem.optional() }),
  statistics: part({
    totalBytesProcessed: integerText.optional(),
    totalSlotMs: integerText.optional(),
    query: part({
      statementType: z.string().optional(),
      referencedTables: z.array(tableReference).default([]),
      schema: schema.optional(),
      totalBytesProcessed: integerText.optional(),
      totalBytesBilled: integerText.optional(),
      totalSlotMs: integerText.optional(),
    }).optional(),
  }).optional(),
});

export type JobAnswer = z.output<typeof jobAnswer>;

/** The answer of `tables.get`: only how the table is partitioned and clustered. */
export const tableAnswer = part({
  timePartitioning: part({
    /** `HOUR`, `DAY`, `MONTH` or `YEAR`. */
    type: z.string(),
    /** Absent for partitions by time of ingestion. */
    field: z.string().optional(),
    /** In this position only for older tables. */
    requirePartitionFilter: z.boolean().default(false),
  }).optional(),
  rangePartitioning: part({ field: z.string() }).optional(),
  requirePartitionFilter: z.boolean().default(false),
  clustering: part({ fields: z.array(z.string()).default([]) }).optional(),
});

export type TableAnswer = z.output<typeof tableAnswer>;

/** The body of every error answer. If the list of errors is absent, only `status` distinguishes them. */
export const errorAnswer = part({
  error: part({
    message: z.string().default(''),
    status: z.string().catch('noReason'),
    errors: z.array(problem).default([]),
  }),
});
