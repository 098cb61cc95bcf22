import { randomUUID } from 'node:crypto';
import { maxLabels } from '../endpoints/definition.ts';
import type { QueryParameter } from '../engine/engine.ts';
import { lex } from '../googlesql/syntax/lexer.ts';
import { foldName } from '../googlesql/tree/scope.ts';
import type { JobBody } from './client/bigquery-api.ts';

/** A job, before it has an id. */
export type JobRequest = {
  /** SQL with the warehouse's own table names. */
  readonly text: string;
  readonly parameters: readonly QueryParameter[];
  readonly maxRows: number;
  /** `BATCH` starts when BigQuery has idle slots. */
  readonly priority: 'INTERACTIVE' | 'BATCH';
  readonly labels: Readonly<Record<string, string>>;
  readonly maxBytesBilled?: number;
  /** `projects/P/locations/L/reservations/R`. Default: the one assigned to the project. */
  readonly reservation?: string;
  /** Region of the tables, if the dry run named it. Default: that of the settings. */
  readonly location?: string | undefined;
};

/** A job's id and time limit, which must be the same in a repeated request. */
export type JobIdentity = {
  readonly jobId: string;
  /** The region to run in; undefined: BigQuery derives it from the tables. */
  readonly location?: string | undefined;
  readonly jobTimeoutMs: number;
};

/** The body of `jobs.insert`. */
export function jobBody(request: JobRequest, { jobId, location, jobTimeoutMs }: JobIdentity): JobBody {
  return {
    jobReference: { jobId, location },
    configuration: {
      query: { ...sharedBody(request), priority: request.priority },
      labels: cleanLabels(request.labels),
      jobTimeoutMs: String(jobTimeoutMs),
      ...(request.reservation ? { reservation: request.reservation } : {}),
    },
  };
}

/**
 * The body of `jobs.insert` for a dry run, which costs nothing and leaves no job. Without `useQueryCache: false` BigQuery may answer
 * from its cache, and then names neither tables nor bytes.
 */
export function dryRunBody(request: Pick<JobRequest, 'text' | 'parameters'>): JobBody {
  return {
    jobReference: {},
    configuration: { query: { ...sharedBody(request), useQueryCache: false }, dryRun: true },
  };
}

/** A unique name for a job. */
export function newJobId(): string {
  return `gateway_${randomUUID()}`;
}

function sharedBody({
  text,
  parameters,
  maxBytesBilled,
}: Pick<JobRequest, 'text' | 'parameters' | 'maxBytesBilled'>): object {
  const named = namedParameters(text, parameters);
  return {
    query: text,
    useLegacySql: false,
    // BigQuery refuses the mode without a parameter that uses it.
    ...(named.length > 0 ? { parameterMode: 'NAMED', queryParameters: named.map(bindParameter) } : {}),
    ...(maxBytesBilled === undefined ? {} : { maximumBytesBilled: String(maxBytesBilled) }),
  };
}

/** The parameters that the text names. goccy/bigquery-emulator refuses parameters for a text that names none. */
function namedParameters(text: string, parameters: readonly QueryParameter[]): QueryParameter[] {
  const names = new Set(
    lex(text).flatMap(({ kind, value }) => (kind === 'parameter' ? [foldName(value)] : [])),
  );
  return parameters.filter(({ name }) => names.has(foldName(name)));
}

function bindParameter({ name, value, type = 'STRING' }: QueryParameter): object {
  if (value === null || typeof value === 'string') {
    return { name, parameterType: { type }, parameterValue: { value } };
  }
  return {
    name,
    parameterType: { type: 'ARRAY', arrayType: { type } },
    parameterValue: { arrayValues: value.map(element => ({ value: element })) },
  };
}

/** Maximum characters of a label's key or value. Source: BigQuery, "Requirements for labels". */
const maxLabelLength = 63;

/**
 * Makes labels valid for BigQuery: lower-case letters, digits, `_` and `-`. Any other character becomes `_`, and long texts are cut off.
 * Keys that do not start with a letter, and labels beyond the maximum of a job, are dropped: no query fails because of a label.
 */
function cleanLabels(labels: Readonly<Record<string, string>>): Record<string, string> {
  const clean = (text: string) => {
    const characters = [...text.toLowerCase().replace(/[^\p{Ll}\p{Lo}\p{Nd}_-]/gu, '_')];
    return characters.slice(0, maxLabelLength).join('');
  };
  const named = Object.entries(labels).map(([key, value]) => [clean(key), clean(value)] as const);
  const valid = named.filter(([key]) => /^[\p{Ll}\p{Lo}]/u.test(key));
  return Object.fromEntries(valid.slice(0, maxLabels));
}
