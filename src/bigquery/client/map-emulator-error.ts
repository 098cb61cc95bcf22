import type { Problem } from '../answers/bigquery-answers.ts';

/** Reasons that BigQuery gives for transient faults or bad SQL; goccy/bigquery-emulator gives them for any failure of a query. */
const reasons: ReadonlySet<string> = new Set(['jobInternalError', 'internalError', 'invalidQuery']);

/** The analyzer's message and its position. Later failures may have a position too, but in the emulator's own SQL. */
const analysis =
  /^(?:failed to (?:analyze|parse \w+): |INVALID_ARGUMENT: )*(?!failed to )(.*?) \[at (\d+):(\d+)\]/s;

/**
 * Maps an emulator's error for a failed query to BigQuery's; errors of BigQuery stay as they are. goccy/bigquery-emulator
 * and its forks write positions as `[at 1:8]`; a query that breaks the emulator itself is an `internalError` there. Source: version
 * 0.8.1, asked by `npm run test:emulator`.
 * @param source `isEmulators` if the problem is known to be an emulator's. Default: recognised by its empty fields
 */
export function mapEmulatorError(problem: Problem, source: { readonly isEmulators?: boolean } = {}): Problem {
  const { reason, message, debugInfo } = problem;
  if (!reasons.has(reason)) return problem;
  const [, words, line, column] = analysis.exec(message) ?? [];
  if (words !== undefined) return { reason: 'invalidQuery', message: `${words} at [${line}:${column}]` };
  // BigQuery omits empty fields.
  const isEmulators = debugInfo === '' || source.isEmulators;
  return reason !== 'invalidQuery' && isEmulators ? { reason: 'queryFailed', message } : problem;
}
