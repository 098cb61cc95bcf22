import type { Problem } from './bigquery-answers.ts';

/**
 * Puts what an emulator says of a failed query in BigQuery's words; BigQuery's own stay as they are. goccy/bigquery-emulator
 * and its forks write places as `[at 1:8]`, and give `jobInternalError`, at BigQuery a fault that passes, for all that goes wrong
 * with a query. Source: their `server/error.go` and `server/handler.go`.
 */
export function fromEmulatorWords(problem: Problem, job: { readonly dryRun?: boolean } = {}): Problem {
  const { reason, message, debugInfo } = problem;
  if (reason !== 'jobInternalError' && reason !== 'invalidQuery') return problem;
  const [, words, line, column] =
    /^(?:failed to [a-z ]+: |INVALID_ARGUMENT: )*(.*?) \[at (\d+):(\d+)\]/s.exec(message) ?? [];
  if (words !== undefined) return { reason: 'invalidQuery', message: `${words} at [${line}:${column}]` };
  // BigQuery leaves empty fields out, and refuses a dry run rather than call it a failed job.
  const isEmulators = debugInfo === '' || job.dryRun;
  return reason === 'jobInternalError' && isEmulators ? { reason: 'queryFailed', message } : problem;
}
