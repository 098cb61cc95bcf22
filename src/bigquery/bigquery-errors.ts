import { GatewayError, type SqlPosition } from '../base/errors.ts';
import { BigQueryFailure } from './answers/bigquery-failure.ts';
import { failureRow } from './answers/failure-table.ts';
import type { BigQueryEvent } from './bigquery-events.ts';
import type { TableMapping } from './client/table-mapping.ts';
import { type MissingColumn, missingColumnError } from './missing-column.ts';

/** Whose text failed, and what of the warehouse is to stay unnamed. */
export type FailureContext = {
  readonly endpoint: string;
  /** What who asks wrote: a caller's SQL, or a saved query that is being checked. Undefined: nothing of the text. */
  readonly ownSql: string | undefined;
  /** Lines of the text before the first one of `ownSql`. */
  readonly linesBefore: number;
  /** The limit of billed bytes that holds; Infinity where there is none. */
  readonly maxBytesBilled: number;
  /** The same, where the run came with it. */
  readonly bytesLimit: number | undefined;
  /** The column that a table lacks, where the failure is about one. */
  readonly missing: MissingColumn | undefined;
  /** The project that pays. */
  readonly project: string;
  readonly mapping: TableMapping;
  readonly emit: (event: BigQueryEvent) => void;
};

/** What a failure of BigQuery means to a caller, who learns of no project, table or SQL but its own; the log has it all. */
export function toCallersError(error: unknown, context: FailureContext): unknown {
  if (!(error instanceof BigQueryFailure)) return leftAlone(error);
  const row = failureRow(error);
  const { message, isOfSource } = row;
  const code = row.isOfCallersSql && context.ownSql !== undefined ? 'invalid_query' : row.code;
  if (message !== undefined) {
    tell(error, context);
    const isOverLimit = error.reason === 'bytesBilledLimitExceeded';
    const bytesLimit = isOverLimit ? context.bytesLimit : undefined;
    const limit =
      isOverLimit && context.maxBytesBilled < Infinity ? `; the limit is ${context.maxBytesBilled}` : '';
    // Who waits as long as the server asked is not turned away again.
    const retryAfterSeconds = row.remedy === 'nothing' ? undefined : error.retryAfterSeconds;
    return new GatewayError(code, message + limit, {
      bytesLimit,
      isOfSource,
      retryAfterSeconds,
      cause: error,
    });
  }
  const { words, position } = splitPosition(error.message);
  const own = position && ownPosition(position, context);
  if (context.missing && !own) {
    tell(error, context);
    return missingColumnError(context.missing, error);
  }
  // A position outside the caller's own SQL is hidden: it refers to text the caller cannot see.
  const cleaned = position && !own ? undefined : cleanWords(words, context);
  if (cleaned === undefined || code === 'engine_failed') {
    tell(error, context);
    return new GatewayError('engine_failed', 'The warehouse refused the query', { cause: error });
  }
  const where = own ? ` at [${own.line}:${own.column}]` : '';
  return new GatewayError(code, cleaned + where, { cause: error, ...(own ? { position: own } : {}) });
}

/** An aborted request becomes `cancelled`; anything else is a known error or a bug. */
function leftAlone(error: unknown): unknown {
  if (!(error instanceof Error) || error.name !== 'AbortError') return error;
  return new GatewayError('cancelled', 'Nobody waits for the answer any more', { cause: error });
}

function tell({ reason, message }: BigQueryFailure, { endpoint, emit }: FailureContext): void {
  emit({ type: 'warehouse.failed', endpoint, reason, message });
}

/** BigQuery ends its messages with the place: `Unrecognized name: nope at [1:8]`. */
function splitPosition(message: string): { words: string; position: SqlPosition | undefined } {
  const [, words, line, column] = /^(.*?) at \[(\d+):(\d+)\]/s.exec(message) ?? [];
  if (words === undefined) return { words: message, position: undefined };
  return { words, position: { line: Number(line), column: Number(column) } };
}

/** The place in the text that who asks wrote, counted as our own front-end counts; undefined where it is not in there. */
function ownPosition(
  position: SqlPosition,
  { linesBefore, ownSql }: FailureContext,
): SqlPosition | undefined {
  const line = position.line - linesBefore;
  if (ownSql === undefined || line < 1) return undefined;
  return { line, column: ownColumn(ownSql.split('\n')[line - 1] ?? '', position.column) };
}

/** BigQuery counts characters, and a tab up to the next multiple of 8; we count UTF-16 units. */
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

/** Puts sources in the place of tables. Undefined where a name of the warehouse is left that who asks did not write. */
function cleanWords(words: string, { mapping, project, ownSql = '' }: FailureContext): string | undefined {
  let clean = words.split('\n')[0]!;
  for (const [source, id] of mapping) {
    const full = [`${id.project}.${id.dataset}.${id.table}`, `${id.project}:${id.dataset}.${id.table}`];
    for (const name of [...full, `${id.dataset}.${id.table}`]) {
      clean = clean.replaceAll(`\`${name}\``, source).replaceAll(name, source);
    }
  }
  const secrets = [project, ...[...mapping.values()].flatMap(id => [id.project, id.dataset, id.table])];
  const told = namesIn(clean);
  const known = namesIn([ownSql, ...mapping.keys()].join(' '));
  const isTold = secrets.some(secret =>
    [...namesIn(secret)].some(name => told.has(name) && !known.has(name)),
  );
  return isTold ? undefined : clean;
}

/** Names as projects, datasets and tables have them, in lower case. */
function namesIn(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/[\w-]+/g));
}
