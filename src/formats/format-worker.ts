import { parentPort } from 'node:worker_threads';
import { GatewayError } from '../base/errors.ts';
import { lowerThreadPriority } from '../base/lower-priority.ts';
import type { Column } from '../base/rows.ts';
import type { RowWriter } from './row-writer.ts';
import { createRowWriter, type WrittenFormat, writeRanges } from './write-rows.ts';

/** A message to the thread about a job: some of its rows, or that the rest is not needed. It does one step at a time. */
export type FormatStep = {
  readonly job: number;
  /** Present in the first step of a job. */
  readonly opens?: { readonly format: WrittenFormat; readonly columns: readonly Column[] } | undefined;
  /** `{…},{…}`; absent: the job is dropped. */
  readonly rows?: Uint8Array;
  /** Whether no rows follow. */
  readonly isLast?: boolean;
};

/** The result of a step with rows. Errors are plain objects, because classes do not survive the crossing of threads. */
export type StepResult = { readonly job: number } & (
  | { readonly written: Uint8Array<ArrayBuffer> }
  | { readonly refused: Pick<GatewayError, 'code' | 'message'> }
  | { readonly failure: unknown }
);

/** The writers of jobs with more rows to come. */
const writers = new Map<number, RowWriter>();

lowerThreadPriority();

parentPort!.on('message', async (step: FormatStep) => {
  const { job, rows } = step;
  if (!rows) {
    writers.delete(job);
    return;
  }
  try {
    const written = new Uint8Array(await write(step, rows));
    parentPort!.postMessage({ job, written } satisfies StepResult, [written.buffer]);
  } catch (failure) {
    writers.delete(job);
    parentPort!.postMessage(failedResult(job, failure));
  }
});

async function write({ job, opens, isLast }: FormatStep, rows: Uint8Array): Promise<Buffer> {
  const opened = opens && (await createRowWriter(opens.format, opens.columns));
  const writer = opened ?? writers.get(job)!;
  const text = Buffer.from(rows.buffer, rows.byteOffset, rows.length);
  const parts = [...(opened ? [opened.start()] : []), ...writeRanges(writer, text, 0)];
  if (isLast) writers.delete(job);
  else writers.set(job, writer);
  return Buffer.concat(isLast ? [...parts, writer.finish()] : parts);
}

function failedResult(job: number, failure: unknown): StepResult {
  if (!(failure instanceof GatewayError)) return { job, failure };
  const { code, message } = failure;
  return { job, refused: { code, message } };
}
