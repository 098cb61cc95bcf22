import { GatewayError, type SqlPosition, shortened } from '../base/errors.ts';
import { BigQueryFailure } from './answers/bigquery-failure.ts';
import { failureRow } from './answers/failure-table.ts';
import type { BigQueryEvent } from './bigquery-events.ts';
import type { TableMapping } from './client/table-mapping.ts';
import { type MissingColumn, missingColumnError } from './missing-column.ts';

/** Whose text failed, and which names of the warehouse must not be shown. */
export type FailureContext = {
  readonly endpoint: string;
  /** The part of the text that the reader of the error wrote: a caller's SQL, or a saved query that is being checked. Undefined if there is none. */
  readonly ownSql: string | undefined;
  /** Lines of the text before the first one of `ownSql`. */
  readonly linesBefore: number;
  /** The limit of billed bytes in force; Infinity if there is none. */
  readonly maxBytesBilled: number;
  /** The same, if it came with the run. */
  readonly bytesLimit: number | undefined;
  /** The missing column of a table, if the failure is about one. */
  readonly missing: MissingColumn | undefined;
  /** The project that pays. */
  readonly project: string;
  readonly mapping: TableMapping;
  readonly emit: (event: BigQueryEvent) => void;
};

/** Translates a failure of BigQuery for a caller, who sees no project, no table, and no SQL but its own; the log has everything. */
export function toCallersError(error: unknown, context: FailureContext): unknown {
  if (!(error instanceof BigQueryFailure)) return leftAlone(error);
  const row = failureRow(error);
  const { message, isSourceFailure } = row;
  const code = row.mayBeCallersSql && context.ownSql !== undefined ? 'invalid_query' : row.code;
  if (message !== undefined) {
    report(error, context);
    const isOverLimit = error.reason === 'bytesBilledLimitExceeded';
    const bytesLimit = isOverLimit ? context.bytesLimit : undefined;
    const limit =
      isOverLimit && context.maxBytesBilled < Infinity ? `; the limit is ${context.maxBytesBilled}` : '';
    // A caller who waits as long as the server asked should not be refused again.
    const retryAfterSeconds = row.remedy === 'nothing' ? undefined : error.retryAfterSeconds;
    return new GatewayError(code, message + limit, {
      bytesLimit,
      isSourceFailure,
      retryAfterSeconds,
      cause: error,
    });
  }
  const { words, position } = splitPosition(error.message);
  const own = position && ownPosition(position, context);
  if (context.missing && !own) {
    report(error, context);
    return missingColumnError(context.missing, error);
  }
  // A position outside the caller's own SQL is hidden: it refers to text the caller cannot see.
  const cleaned = position && !own ? undefined : cleanWords(words, context);
  if (cleaned === undefined || code === 'engine_failed') {
    report(error, context);
    return new GatewayError('engine_failed', 'The warehouse refused the query', { cause: error });
  }
  const where = own ? ` at [${own.line}:${own.column}]` : '';
  return new GatewayError(code, shortened(cleaned) + where, {
    cause: error,
    ...(own ? { position: own } : {}),
  });
}

/** An aborted request becomes `cancelled`; anything else is a known error or a bug. */
function leftAlone(error: unknown): unknown {
  if (!(error instanceof Error) || error.name !== 'AbortError') return error;
  return new GatewayError('cancelled', 'Nobody waits for the answer any more', { cause: error });
}

function report({ reason, message }: BigQueryFailure, { endpoint, emit }: FailureContext): void {
  emit({ type: 'warehouse.failed', endpoint, reason, message });
}

/** BigQuery ends its messages with the position: `Unrecognized name: nope at [1:8]`. */
function splitPosition(message: string): { words: string; position: SqlPosition | undefined } {
  const [, words, line, column] = /^(.*?) at \[(\d+):(\d+)\]/s.exec(message) ?? [];
  if (words === undefined) return { words: message, position: undefined };
  return { words, position: { line: Number(line), column: Number(column) } };
}

/** The position in the reader's own text, counted as our own front-end counts; undefined if it lies outside. */
function ownPosition(
  position: SqlPosition,
  { linesBefore, ownSql }: FailureContext,
): SqlPosition | undefined {
  const line = position.line - linesBefore;
  if (ownSql === undefined || line < 1) return undefined;
  return { line, column: ownColumn(ownSql.split('\n')[line - 1] ?? '', position.column) };
}

/** BigQuery counts characters, and expands a tab to the next multiple of 8; we count UTF-16 units. */
function ownColumn(line: string, column: number): number {
  let counted = 1;
  let units = 0;
  for (const character of line) {
    if (counted >= column) break;
    counted += character === '\t' ? 8 - ((counted - 1) % 8) : 1;
    units += character.length;
  }
  return units + 1;
}

/** Replaces tables by sources. Undefined if a name of the warehouse remains that the reader did not write. */
function cleanWords(words: string, { mapping, project, ownSql = '' }: FailureContext): string | undefined {
  let clean = words.split('\n')[0]!;
  for (const [source, id] of mapping) {
    const full = [`${id.project}.${id.dataset}.${id.table}`, `${id.project}:${id.dataset}.${id.table}`];
    for (const name of [...full, `${id.dataset}.${id.table}`]) {
      clean = clean.replaceAll(`\`${name}\``, source).replaceAll(name, source);
    }
  }
  const secrets = [project, ...[...mapping.values()].flatMap(id => [id.project, id.dataset, id.table])];
  const shown = namesIn(clean);
  const known = namesIn([ownSql, ...mapping.keys()].join(' '));
  const isShown = secrets.some(secret =>
    [...namesIn(secret)].some(name => shown.has(name) && !known.has(name)),
  );
  return isShown ? undefined : clean;
}

/** All words of a text that could be names of projects, datasets or tables, in lower case. */
function namesIn(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\w-]+/g));
}
