import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { GatewayError } from '../base/errors.ts';
import { orAborted } from '../base/or-aborted.ts';
import type { Column } from '../base/rows.ts';
import { createSingleFlight } from '../cache/single-flight.ts';
import { createFairQueue } from '../engine/fair-queue.ts';
import type { FormatJob, FormatResult } from './format-worker.ts';
import { type WrittenFormat, writeRows } from './write-rows.ts';

/** Rows as the pipeline answers them. */
export type FormattedRows = {
  readonly columns: readonly Column[];
  /** `{"result":[…]}`, UTF-8; the same object for the same rows. */
  readonly body: Buffer;
};

type FormatOptions = {
  /** Who asks, as far as fairness is concerned: the id of an access token. */
  readonly caller: string;
  /** Aborted when nobody waits any more. */
  readonly signal: AbortSignal;
  /** Whether the same rows may be asked for again. */
  readonly isKept: boolean;
};

/** Writes rows in other formats: few at once, more on threads, so that the event loop is not blocked. */
export type RowFormatter = {
  /** @throws GatewayError `overloaded`, `too_many_requests`, `unavailable`; the signal's reason */
  format(format: WrittenFormat, rows: FormattedRows, options: FormatOptions): Promise<Buffer>;
  /** Ends the threads. */
  close(): Promise<void>;
};

/** Work that is done on the event loop, as bytes of `workOf`: some five milliseconds. */
const maxInlineWork = 64 * 1024;

/** Longer bodies are long jobs, which have a thread of their own: a short one waits for no job of more than some 0.2 s. */
const maxShortBytes = 1024 * 1024;

/** Bytes of written bodies that are kept for the next request. */
const maxKeptBytes = 32 * 1024 * 1024;

/** Bytes of bodies that may wait for the threads. A single body may be larger. */
const maxWaitingBytes = 128 * 1024 * 1024;

/** Megabytes that a thread may hold: the values of one slice, and of long jobs what is written of them. */
const maxHeapMb = 384;

/** Milliseconds after which a thread without work ends, and gives its memory back. */
const idleMs = 10_000;

/** One body at a time; callers take turns. */
const queueOptions = { permits: 1, maxWaiting: 64, maxWaitingPerCaller: 16 };

/** Makes a formatter; its threads start with their first jobs. */
export function createRowFormatter(): RowFormatter {
  const [short, long] = [openLane(), openLane()];
  const share = createSingleFlight<Buffer>();
  const kept = new LRUCache<string, Buffer>({
    maxSize: maxKeptBytes,
    sizeCalculation: written => written.length + 1,
  });
  const ids = new WeakMap<Buffer, number>();
  let lastId = 0;
  let waitingBytes = 0;

  /** Distinguishes bodies by identity: equal JSON may be rows of other types. */
  function idOf(body: Buffer): number {
    const id = ids.get(body) ?? ++lastId;
    ids.set(body, id);
    return id;
  }

  async function write(
    format: WrittenFormat,
    { columns, body }: FormattedRows,
    caller: string,
    signal: AbortSignal,
  ): Promise<Buffer> {
    if (workOf(format, columns, body) <= maxInlineWork) return writeRows(format, columns, body);
    if (waitingBytes > 0 && waitingBytes + body.length > maxWaitingBytes) {
      throw new GatewayError('overloaded', 'Too many large results are being written; try again');
    }
    waitingBytes += body.length;
    try {
      const { queue, thread } = body.length <= maxShortBytes ? short : long;
      const release = await queue.take(signal, { caller });
      return await thread.run({ format, columns, body }, signal).finally(release);
    } finally {
      waitingBytes -= body.length;
    }
  }

  return {
    async format(format, rows, { caller, signal, isKept }) {
      const key = `${idOf(rows.body)} ${format}`;
      const known = kept.get(key);
      if (known) return known;
      const written = await share(key, signal, inner => write(format, rows, caller, inner));
      if (isKept) kept.set(key, written);
      return written;
    },
    async close() {
      await Promise.all([short.thread.close(), long.thread.close()]);
    },
  };
}

/** A thread, and the jobs that wait for it. */
function openLane() {
  return { queue: createFairQueue(queueOptions), thread: createFormatThread() };
}

/** What writing takes, in bytes of CSV that take as long: Parquet and Arrow have a cost for each value, and one for each column. */
function workOf(format: WrittenFormat, columns: readonly Column[], body: Buffer): number {
  if (format === 'ndjson' || format === 'csv') return body.length;
  return body.length * 4 + countColumns(columns) * 1024;
}

/** Columns, and the fields of records. */
function countColumns(columns: readonly Column[]): number {
  return columns.reduce((count, { fields = [] }) => count + 1 + countColumns(fields), 0);
}

/** One thread, which starts with a job and ends when it has had none for a while. */
function createFormatThread() {
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;

  async function close(): Promise<void> {
    clearTimeout(idle);
    const ending = worker;
    worker = undefined;
    await ending?.terminate();
  }

  function start(): Worker {
    const started = new Worker(new URL('./format-worker.ts', import.meta.url), {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    });
    started.unref();
    // It is out of memory; `exit` follows.
    started.on('error', () => undefined);
    started.once('exit', () => {
      if (worker === started) worker = undefined;
    });
    return started;
  }

  async function run(job: FormatJob, signal: AbortSignal): Promise<Buffer> {
    clearTimeout(idle);
    worker ??= start();
    const current = worker;
    const { promise, resolve, reject } = Promise.withResolvers<FormatResult>();
    const gone = () =>
      reject(new GatewayError('unavailable', 'The writing of the result was interrupted; try again'));
    current.once('message', resolve).once('exit', gone);
    current.postMessage(job);
    try {
      const result = await orAborted(promise, signal);
      if ('refused' in result) throw new GatewayError(result.refused.code, result.refused.message);
      if ('failure' in result) throw result.failure;
      const { written } = result;
      return Buffer.from(written.buffer, written.byteOffset, written.length);
    } catch (error) {
      // A job can't be stopped half-way, and the next one must not wait for it.
      if (signal.aborted) await close();
      throw error;
    } finally {
      current.off('message', resolve).off('exit', gone);
      idle = setTimeout(() => void close(), idleMs).unref();
    }
  }

  return { run, close };
}
