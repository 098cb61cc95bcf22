import { z } from 'zod';
import { readDuration } from '../base/parse-timestamp.ts';
import { redactionKinds } from '../redaction/redaction-kinds.ts';
import type { Parameter } from './parameters/parameter.ts';
import { description, identifier, parameterSchema } from './parameters/parameter-schema.ts';
import { scalarTypeOf } from './parameters/read-parameter.ts';

const name = z
  .string()
  .regex(
    /^[A-Za-z][A-Za-z0-9]*(?:[._-][A-Za-z0-9]+)*$/,
    'must be words of letters and digits joined by ".", "-" or "_"',
  )
  .max(128)
  .refine(text => !z.guid().safeParse(text).success, 'must not be a UUID: a request by one means an id');

const column = z.strictObject({
  type: z.enum([
    'STRING', 'BYTES', 'BOOL', 'INT64', 'FLOAT64', 'NUMERIC', 'BIGNUMERIC',
    'TIMESTAMP', 'DATETIME', 'DATE', 'TIME', 'JSON', 'STRUCT',
  ]), // biome-ignore format: one list
  repeated: z.boolean().default(false),
  required: z.boolean().default(false),
  description,
});

/** How `<name>.batch.sql` answers many values of one parameter at once (contract 7.1). */
const batch = z.strictObject({
  /** The parameter whose values it takes as a list. */
  parameter: identifier,
  /** Its first column: the parameter value to which a row belongs. */
  key: identifier,
});

const duration = z
  .string()
  .regex(/^[1-9]\d{0,4}[smhd]$/, {
    error: 'must be a number of s, m, h or d, such as 90s, 30m, 24h or 7d',
    abort: true,
  })
  .transform(text => ({ text, ms: readDuration(text) ?? 0 })); // never 0: the pattern is the narrower one

/** How far apart two time parameters may be, and the bounds that replace absent ones. */
const window = z
  .strictObject({
    /** The parameter that is the lower bound. */
    start: identifier,
    /** The parameter that is the upper bound. */
    end: identifier,
    default: duration,
    max: duration,
  })
  .refine(({ start, end }) => start !== end, {
    path: ['end'],
    message: 'must be another parameter than start',
  })
  .refine(own => own.default.ms <= own.max.ms, { path: ['default'], message: 'must not be longer than max' });

const seconds = z
  .int()
  .min(0)
  .max(7 * 86_400);

/** Request parameters with a meaning of their own, whose names a declared parameter must not take. */
const reservedParameters = new Set(['sql', 'lql', 'explain', 'format']);

/** Labels that the gateway sets itself. */
const reservedLabels = new Set(['endpoint', 'token_id', 'request_id', 'trace_id']);

/** Maximum labels of one query, the gateway's own included. Source: BigQuery, "Requirements for labels". */
export const maxLabels = 64;

/** Source: as above. */
const label = z
  .string()
  .regex(/^[a-z][a-z0-9_-]{0,62}$/, 'must be 1 to 63 of a-z, 0-9, "_" and "-", starting with a letter')
  .refine(key => !reservedLabels.has(key), 'is set by the gateway itself');

/** The YAML header of a saved query, as written. */
export const headerSchema = z
  .strictObject({
    id: z.guid('must be a UUID').toLowerCase(),
    name,
    description,
    parameters: z
      .record(identifier, parameterSchema)
      .default({})
      .refine(all => !Object.keys(all).some(key => reservedParameters.has(key.toLowerCase())), {
        message:
          'must not be named "sql", "lql", "explain" or "format": they mean something of their own in a request',
      }),
    columns: z
      .record(identifier, column)
      .refine(all => Object.keys(all).length > 0, 'must name at least one column'),
    maxRows: z.int().min(1).max(100_000).default(1000),
    cacheSeconds: seconds.default(0),
    staleSeconds: seconds.default(60),
    staleIfErrorSeconds: seconds.default(3600),
    warmSeconds: seconds.default(0),
    labels: z
      .array(label)
      .max(maxLabels - reservedLabels.size)
      .default([]),
    maxBytesBilled: z.int().min(1).optional(),
    coalesce: z.boolean().default(false),
    public: z.boolean().default(false),
    sandbox: z.boolean().default(false),
    redactPii: z.boolean().default(false),
    redactKinds: z.array(z.enum(redactionKinds)).min(1, 'must name at least one kind').optional(),
    batch: batch.optional(),
    window: window.optional(),
  })
  .refine(header => header.warmSeconds === 0 || header.warmSeconds <= header.cacheSeconds, {
    path: ['warmSeconds'],
    message: 'must not be longer than cacheSeconds: an entry would be gone before it is warmed',
  })
  .refine(({ batch: own, parameters }) => !own || parameters[own.parameter]?.required, {
    path: ['batch', 'parameter'],
    message: 'must be a declared parameter that is required',
  })
  .refine(({ batch: own, parameters }) => !own || canBeKey(parameters[own.parameter]), {
    path: ['batch', 'parameter'],
    message: 'must be a text, an INT64 or a DATE, and not repeated',
  })
  .superRefine(({ window: own, parameters, batch: form }, context) => {
    if (!own) return;
    for (const bound of ['start', 'end'] as const) {
      const problem = problemOfBound(parameters[own[bound]], own[bound] === form?.parameter);
      if (problem) context.addIssue({ code: 'custom', path: ['window', bound], message: problem });
    }
  });

/** Whether a parameter's value can be recognised in a row: its JSON is the canonical text, quoted or not. */
function canBeKey(parameter: Parameter | undefined): boolean {
  const isNamed = ['STRING', 'INT64', 'DATE'].includes(scalarTypeOf(parameter ?? { type: 'STRING' }));
  return isNamed && !parameter?.repeated;
}

function problemOfBound(parameter: Parameter | undefined, isBatched: boolean): string | undefined {
  const isTime = parameter?.type === 'timestamp' || parameter?.type === 'TIMESTAMP';
  if (!isTime || parameter.repeated) return 'must be a declared parameter of type timestamp';
  return isBatched ? 'must not be the parameter of the batch form' : undefined;
}

type Named<T> = T & { readonly name: string };

export type ParameterDefinition = Named<Parameter>;

export type ColumnDefinition = Named<z.infer<typeof column>>;

export type BatchForm = z.infer<typeof batch> & {
  /** The query in BigQuery SQL. */
  readonly sql: string;
};

/**
 * A saved query: one file `sql/<name>.sql`, a YAML header in its leading block comment, then BigQuery SQL.
 * Everything that serves the query reads this one definition.
 */
export type EndpointDefinition = Omit<z.infer<typeof headerSchema>, 'parameters' | 'columns' | 'batch'> & {
  /** In the order of the header. */
  readonly parameters: readonly ParameterDefinition[];
  /** In the order of the query's output. */
  readonly columns: readonly ColumnDefinition[];
  /** The batch form, if there is one: as in the header, with the text of its file. */
  readonly batch: BatchForm | undefined;
  /** The whole file, header included, so that a line in an error is a line of the file. */
  readonly sql: string;
  /** SHA-256 of everything that shapes the rows; part of every cache key. Hex. */
  readonly hash: string;
  /** File name without its folder. */
  readonly file: string;
};
