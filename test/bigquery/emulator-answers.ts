/** An answer, and its HTTP status where that is not 200. */
export type EmulatorAnswer = { readonly status?: number; readonly json: object };

/**
 * Answers in the shape of goccy/bigquery-emulator (0.6, 0.7) and its forks, as their `server/handler.go`, `server/error.go`
 * and `internal/types/types.go` make them: numbers of zero and what it doesn't know are left out, or null.
 */
export type EmulatorField = {
  readonly name: string;
  readonly type: string;
  readonly mode?: string;
  readonly fields?: readonly EmulatorField[];
};

/** `jobs.query` from cells. */
export function emulatorRows(
  fields: readonly EmulatorField[],
  rows: readonly (readonly unknown[])[],
): EmulatorAnswer {
  return emulatorResult(
    fields,
    rows.map(cells => ({ f: cells.map(v => ({ v })) })),
  );
}

/** `jobs.query`: all rows at once, and no word of the cost. */
export function emulatorResult(fields: readonly object[], rows: readonly object[]): EmulatorAnswer {
  return {
    json: {
      jobReference: { projectId: 'test', jobId: 'MdKKn2vX' },
      schema: { fields },
      rows,
      totalRows: String(rows.length),
      jobComplete: true,
    },
  };
}

/** `jobs.insert` for a dry run: the job itself, done, with `SELECT` for whatever it was. */
export function emulatorDryRun(errorResult?: { reason: string; message: string }): EmulatorAnswer {
  return {
    json: {
      configuration: { dryRun: true, jobType: 'QUERY', query: { priority: 'INTERACTIVE', query: 'select' } },
      jobReference: { projectId: 'test', jobId: 'gateway_1' },
      kind: 'bigquery#job',
      selfLink: 'http://0.0.0.0:9050/bigquery/v2/projects/test/jobs/gateway_1',
      statistics: { creationTime: '1', endTime: '1', startTime: '1', query: { statementType: 'SELECT' } },
      status: { state: 'DONE', ...(errorResult ? { errorResult, errors: [errorResult] } : {}) },
    },
  };
}

/** Every refusal: Go writes the empty fields of its error, too. */
export function emulatorRefusal(status: number, reason: string, message: string): EmulatorAnswer {
  const errors = [{ reason, location: '', debugInfo: '', message }];
  return { status, json: { error: { errors, code: status, message } } };
}

/** `jobs.getQueryResults` before the job's end, from a fork that runs jobs in the background. */
export const emulatorIncomplete: EmulatorAnswer = {
  json: {
    jobReference: { projectId: 'test', jobId: 'MdKKn2vX' },
    schema: null,
    rows: null,
    totalRows: '0',
    jobComplete: false,
  },
};
