import { type ByteShares, createByteShares } from '../base/byte-shares.ts';
import { ownMemory } from '../base/bytes.ts';
import { type Column, firstRowAt, type RowsRange } from '../base/rows.ts';
import { orAborted } from '../base/time-limit.ts';
import { type JoinedCallers, takeTurns } from '../base/turns.ts';
import { createSingleFlight } from '../cache/single-flight.ts';
import { createFairQueue, type FairQueueOptions } from '../engine/fair-queue.ts';
import { keepDerivedBytes } from '../http-messages/derived-bytes.ts';
import { checkRows, cutRows } from './cut-rows.ts';
import { createFormatThread, type FormatJob } from './format-thread.ts';
import { type WrittenFormat, writeRows } from './write-rows.ts';

/** Rows as answered by the pipeline. */
export type FormattedRows = {
  readonly columns: readonly Column[];
  /** `{"result":[…]}`, UTF-8; the same object for the same rows. */
  readonly body: Buffer;
};

/**
 * Parts of a long result. The first one is written already, each further one when it is requested.
 * `next` throws GatewayError `unavailable`; call `return` if the end is not reached.
 */
export type WrittenParts = AsyncIterableIterator<Buffer, undefined> & {
  return(): Promise<IteratorReturnResult<undefined>>;
};

type FormatOptions = {
  /** The id of the caller's access token, for fair queuing. */
  readonly caller: string;
  /** Aborted when the caller no longer waits; for a long result, for its first part. */
  readonly signal: AbortSignal;
};

/** Writes rows in other formats: few at once, more on threads, so that the event loop is not blocked. */
export type RowFormatter = {
  /** Holds room for rows of this many bytes that are not there yet; give it back right before `format` or `open`. @throws GatewayError `too_many_requests` */
  readonly claim: ByteShares['claim'];
  /**
   * Writes a result that is not long.
   * @param isKept whether the same rows may be requested again
   * @throws GatewayError `overloaded`, `too_many_requests`, `unavailable`; the signal's reason
   */
  format(
    format: WrittenFormat,
    rows: FormattedRows,
    options: FormatOptions & { readonly isKept: boolean },
  ): Promise<Buffer>;
  /**
   * Starts to write a long result.
   * @throws GatewayError `overloaded`, `too_many_requests`, `unavailable`, `result_too_large`; the signal's reason
   */
  open(format: WrittenFormat, rows: FormattedRows, options: FormatOptions): Promise<WrittenParts>;
  /** Ends the threads. */
  close(): Promise<void>;
};

/** Maximum work that is done on the event loop, in bytes of `workOf`: some five milliseconds. */
const maxInlineWork = 64 * 1024;

/** Longer bodies have a thread of their own, so that a short one waits for no job of more than some 0.2 s. */
const maxShortBytes = 1024 * 1024;

/** Whether a body is long enough to be written in parts, while it is sent. */
export function isLongResult({ body }: Pick<FormattedRows, 'body'>): boolean {
  return body.length > maxShortBytes;
}

/** Short results are written one at a time; callers take turns. */
const shortOptions: FairQueueOptions = { permits: 1, maxWaiting: 64, maxWaitingPerCaller: 16 };

/** Long results whose first part is being written. */
const openingOptions: FairQueueOptions = { ...shortOptions, permits: 4 };

/** Parts are written one at a time. A result that has begun is never refused half-way, and its reader requests one part at a time. */
const partOptions: FairQueueOptions = { permits: 1, maxWaiting: Infinity, maxWaitingPerCaller: Infinity };

/** Makes a formatter; its threads start with their first jobs. */
export function createRowFormatter(): RowFormatter {
  const [short, long] = [createFormatThread(), createFormatThread()];
  const shorts = createFairQueue(shortOptions);
  const openings = createFairQueue(openingOptions);
  const turns = createFairQueue(partOptions);
  const share = createSingleFlight<Buffer>();
  // By the identity of the body, because equal JSON may be rows of different types.
  const kept = keepDerivedBytes();
  const shares = createByteShares('written');

  /** Limits the bytes that wait for the threads. */
  async function withRoom<T>(caller: string, { body }: FormattedRows, wait: () => Promise<T>): Promise<T> {
    const release = shares.take(caller, body.length);
    return wait().finally(release);
  }

  async function writeShort(
    format: WrittenFormat,
    rows: FormattedRows,
    { caller, joined, signal }: FormatOptions & { readonly joined: JoinedCallers },
  ): Promise<Buffer> {
    const { columns, body } = rows;
    if (workOf(format, columns, body) <= maxInlineWork) return writeRows(format, columns, body);
    return withRoom(caller, rows, async () => {
      const release = await shorts.take(signal, { caller, joined });
      const job = short.open(format, columns);
      const written = job.write(body.subarray(firstRowAt), true).finally(() => {
        job.end();
        release();
      });
      return orAborted(written, signal);
    });
  }

  return {
    claim: shares.claim,
    async format(format, rows, { caller, signal, isKept }) {
      const key = kept.keyOf(rows.body, format);
      const known = kept.get(key);
      if (known) return known;
      const write = async (inner: AbortSignal, joined: JoinedCallers) => {
        const bytes = await writeShort(format, rows, { caller, joined, signal: inner });
        return isKept ? ownMemory(bytes) : bytes;
      };
      const written = await share(key, signal, write, caller);
      if (isKept) kept.set(key, written);
      return written;
    },
    async open(format, rows, { caller, signal }) {
      return withRoom(caller, rows, async () => {
        const release = await openings.take(signal, { caller });
        try {
          const ranges = await findRanges(format, rows.body, signal);
          const job = long.open(format, rows.columns);
          const take = (inner: AbortSignal) => turns.take(inner, { caller });
          return await startParts(job, rows.body, ranges, signal, take);
        } finally {
          release();
        }
      });
    },
    async close() {
      await Promise.all([short.close(), long.close()]);
    },
  };
}

/**
 * Cuts all rows into ranges before the first is sent, so that a row that can't be written fails the whole result.
 * @throws GatewayError `result_too_large`; the signal's reason
 */
async function findRanges(format: WrittenFormat, body: Buffer, signal: AbortSignal): Promise<RowsRange[]> {
  const turns = takeTurns();
  const ranges: RowsRange[] = [];
  for (const range of cutRows(body, firstRowAt)) {
    if (format !== 'ndjson') checkRows(body, range);
    ranges.push(range);
    if (turns.isOver()) await turns.next();
    signal.throwIfAborted();
  }
  return ranges;
}

/**
 * Writes the first part of a long result.
 * @param signal aborted when the caller no longer waits for the first part
 * @param take waits for the thread
 */
async function startParts(
  job: FormatJob,
  body: Buffer,
  ranges: readonly RowsRange[],
  signal: AbortSignal,
  take: (signal: AbortSignal) => Promise<() => void>,
): Promise<WrittenParts> {
  const cancel = new AbortController();
  let at = 0;

  async function writeNext(): Promise<IteratorResult<Buffer, undefined>> {
    const range = ranges[at++];
    if (!range || cancel.signal.aborted) return end();
    const release = await take(cancel.signal);
    // The thread also finishes a part that is no longer needed, and the next one waits for it.
    const written = job.write(body.subarray(range.start, range.end), at === ranges.length).finally(release);
    return { done: false, value: await orAborted(written, cancel.signal) };
  }

  async function end(): Promise<IteratorReturnResult<undefined>> {
    cancel.abort();
    job.end();
    return { done: true, value: undefined };
  }

  /** Ends the job after an error: a loop over an iterator does not call `return` when `next` throws. */
  async function endWith(error: unknown): Promise<never> {
    await end();
    throw error;
  }

  try {
    let first: IteratorResult<Buffer, undefined> | undefined = await orAborted(writeNext(), signal);
    const parts: WrittenParts = {
      async next() {
        const given = first ?? (await writeNext().catch(endWith));
        first = undefined;
        return given;
      },
      return: end,
      [Symbol.asyncIterator]: () => parts,
    };
    return parts;
  } catch (error) {
    return endWith(error);
  }
}

/** The work of writing a body, in bytes of CSV that take as long: Parquet and Arrow have a cost per value and one per column. */
function workOf(format: WrittenFormat, columns: readonly Column[], body: Buffer): number {
  if (format === 'ndjson' || format === 'csv') return body.length;
  return body.length * 4 + countColumns(columns) * 1024;
}

/** Number of columns, including the fields of records. */
function countColumns(columns: readonly Column[]): number {
  return columns.reduce((count, { fields = [] }) => count + 1 + countColumns(fields), 0);
}
