import { joinBytes } from '../../base/bytes.ts';
import type { Column } from '../../base/rows.ts';
import { resultTooLarge } from '../../engine/result-too-large.ts';
import type { Field, ResultsAnswer } from './bigquery-answers.ts';
import { BigQueryFailure } from './bigquery-failure.ts';
import type { Page, PageRequest } from './read-page.ts';
import { columnsOf } from './render-value.ts';

/** How a result is read. */
export type ResultRequest = {
  /** Maximum rows; the rest is cut off. */
  readonly maxRows: number;
  /** Maximum bytes of the rendered rows. */
  readonly maxResultBytes: number;
  /** Our names for unnamed columns: see `columnsOf`. */
  readonly ours: readonly Column[];
  /** Whether the server may omit the number of rows, as some emulators do. */
  readonly isEmulator: boolean;
  readonly onHeld: NonNullable<PageRequest['onHeld']>;
};

export type Result = {
  readonly columns: readonly Column[];
  /** UTF-8 JSON text of all rows. */
  readonly rowsJson: Buffer;
  readonly rowCount: number;
  readonly isTruncated: boolean;
  readonly bytesProcessed: number;
};

/** Requests one page: the one after a token, or the first. */
export type AskForPage = (
  page: { readonly pageToken: string | undefined; readonly maxResults: number },
  reading: PageRequest,
) => Promise<Page>;

/** Retries a page until it has arrived completely. */
export type RetryRequest = (send: () => Promise<Page>) => Promise<Page>;

/** After this many pages without rows in succession, a result counts as endless. */
const maxEmptyPages = 10;

/**
 * Reads the result of a job, page by page, once it is complete. Pages must fit together: an incomplete page,
 * a schema or number of rows other than the first page's, a repeated page, or too few or too many rows fail the query.
 * @returns undefined while the job is not complete
 * @throws GatewayError `result_too_large`; BigQueryFailure
 */
export async function readResult(
  ask: AskForPage,
  retry: RetryRequest,
  request: ResultRequest,
): Promise<Result | undefined> {
  const { maxRows, maxResultBytes } = request;
  const progress = startProgress(request);

  async function readNext(): Promise<Page> {
    const page = { pageToken: progress.pageToken(), maxResults: maxRows - progress.rowCount() };
    const reading = progress.reading();
    const read = await ask(page, reading);
    const { schema } = read.answer;
    if (read.rows || !schema) return read;
    // The rows came before their columns, which are now known.
    const again = await ask(page, { ...reading, columns: columnsOf(schema.fields, request.ours) });
    if (!isSameSchema(again.answer.schema?.fields ?? [], schema.fields)) throw broken(otherSchema);
    return again;
  }

  for (let isFirst = true; ; isFirst = false) {
    const page = await retry(async () => {
      const read = await readNext();
      if (!isFirst || read.answer.jobComplete) progress.check(read);
      return read;
    });
    if (!page.answer.jobComplete) return undefined;
    progress.add(page);
    if (progress.byteCount() > maxResultBytes) throw resultTooLarge(maxResultBytes);
    if (progress.isWhole()) return progress.finish();
  }
}

/** The part of a result that has been read. */
function startProgress({ maxRows, maxResultBytes, ours, isEmulator, onHeld }: ResultRequest) {
  const pieces: Buffer[] = [];
  const tokens = new Set<string>();
  let first: ResultsAnswer | undefined;
  let columns: readonly Column[] | undefined;
  let pageToken: string | undefined;
  let [rowCount, rowsSeen, byteCount, emptyPages] = [0, 0, 0, 0];

  return {
    pageToken: () => pageToken,
    rowCount: () => rowCount,
    byteCount: () => byteCount,
    reading: (): PageRequest => ({
      columns,
      ours,
      maxRows: maxRows - rowCount,
      roomBytes: maxResultBytes - byteCount,
      maxResultBytes,
      onHeld: bytes => onHeld(byteCount + bytes),
    }),
    /** @throws BigQueryFailure `brokenAnswer` if a page does not continue those before it */
    check({ answer, rows }: Page): void {
      const { schema, totalRows: total } = answer;
      if (!answer.jobComplete) throw broken('a page of a job that is not complete');
      if (!rows || (!schema && !first)) throw broken('no schema');
      if (schema && first && !isSameSchema(schema.fields, first.schema?.fields ?? []))
        throw broken(otherSchema);
      if (total === undefined && !isEmulator) throw broken('no number of rows');
      if (first && total !== first.totalRows) throw broken('another number of rows than the one before');
      if (answer.pageToken !== undefined && tokens.has(answer.pageToken)) throw broken('a page token again');
      const seen = rowsSeen + rows.rowsSeen;
      if (total !== undefined && seen > total) throw broken(`${seen} rows of ${total}`);
      const isLast = answer.pageToken === undefined;
      if (total !== undefined && isLast && seen < Math.min(total, maxRows))
        throw broken(`only ${seen} rows of ${total}`);
      if (rows.rowsSeen === 0 && !isLast && emptyPages >= maxEmptyPages)
        throw broken('no rows, and so had those before');
    },
    /** Adds a page that was checked. */
    add({ answer, rows }: Page): void {
      columns ??= columnsOf(answer.schema?.fields ?? [], ours);
      first ??= answer;
      pageToken = answer.pageToken;
      if (pageToken !== undefined) tokens.add(pageToken);
      if (!rows) return;
      emptyPages = rows.rowsSeen === 0 ? emptyPages + 1 : 0;
      const comma = rowCount > 0 && rows.rowCount > 0 ? [Buffer.from(',')] : [];
      pieces.push(...comma, ...rows.pieces);
      rowCount += rows.rowCount;
      rowsSeen += rows.rowsSeen;
      byteCount += rows.byteCount;
    },
    // Even with `totalRows` rows, a token means reading on: they may be the wrong rows, and the next page must be empty.
    isWhole: () => pageToken === undefined || rowCount >= maxRows,
    async finish(): Promise<Result> {
      const rowsJson = await joinBytes([Buffer.from('['), ...pieces, Buffer.from(']')]);
      // Without a number of rows, a token means that there is another page.
      const isTruncated =
        first?.totalRows === undefined ? pageToken !== undefined : first.totalRows > maxRows;
      const bytesProcessed = first?.totalBytesProcessed ?? 0;
      return { columns: columns ?? [], rowsJson, rowCount, isTruncated, bytesProcessed };
    },
  };
}

const otherSchema = 'another schema than the one before';

function isSameSchema(some: readonly Field[], others: readonly Field[]): boolean {
  return (
    some.length === others.length &&
    some.every((field, at) => {
      const other = others[at]!;
      const isSame = field.name === other.name && field.type === other.type && field.mode === other.mode;
      return isSame && isSameSchema(field.fields ?? [], other.fields ?? []);
    })
  );
}

function broken(found: string): BigQueryFailure {
  return new BigQueryFailure('brokenAnswer', `A page of the result has ${found}`);
}
