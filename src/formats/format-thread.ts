import { Worker } from 'node:worker_threads';
import { GatewayError } from '../base/errors.ts';
import type { Column } from '../base/rows.ts';
import type { FormatStep, StepResult } from './format-worker.ts';
import type { WrittenFormat } from './write-rows.ts';

/** Rows that are written on a thread, range by range. */
export type FormatJob = {
  /**
   * Writes the next rows; call it again only after it has settled.
   * @param rows `{…},{…}`
   * @param isLast whether no rows follow
   * @throws GatewayError `unavailable` if the thread has ended
   */
  write(rows: Buffer, isLast: boolean): Promise<Buffer>;
  /** Ends the job on the thread, finished or not. */
  end(): void;
};

/** A thread that writes rows. It starts with a job and ends when it has had none for a while. */
export type FormatThread = {
  open(format: WrittenFormat, columns: readonly Column[]): FormatJob;
  close(): Promise<void>;
};

/** Maximum megabytes of the thread's heap: the values of one range of rows, and the state of each open job. */
const maxHeapMb = 384;

/** Milliseconds after which a thread without jobs ends and frees its memory. */
const idleMs = 10_000;

/** A running thread, and the steps that wait for their results. */
type Running = {
  readonly worker: Worker;
  readonly waiting: Map<number, PromiseWithResolvers<StepResult>>;
  hasEnded: boolean;
};

/** Makes a thread that has not started. */
export function createFormatThread(): FormatThread {
  let running: Running | undefined;
  let idle: NodeJS.Timeout | undefined;
  let lastJob = 0;
  let openJobs = 0;

  async function close(): Promise<void> {
    clearTimeout(idle);
    const ending = running;
    running = undefined;
    await ending?.worker.terminate();
  }

  return {
    open(format, columns) {
      clearTimeout(idle);
      if (!running || running.hasEnded) running = start();
      const { worker, waiting } = running;
      const mine = running;
      const job = ++lastJob;
      let opens: FormatStep['opens'] = { format, columns };
      let isOpen = true;
      openJobs++;
      return {
        async write(rows, isLast) {
          if (mine.hasEnded) throw interrupted();
          const step = Promise.withResolvers<StepResult>();
          waiting.set(job, step);
          // A copy: a view would be cloned with the whole memory behind it.
          const own = new Uint8Array(rows);
          worker.postMessage({ job, opens, rows: own, isLast } satisfies FormatStep, [own.buffer]);
          opens = undefined;
          return writtenOf(await step.promise);
        },
        end() {
          if (!isOpen) return;
          isOpen = false;
          if (!mine.hasEnded) worker.postMessage({ job } satisfies FormatStep);
          if (--openJobs === 0) idle = setTimeout(() => void close(), idleMs).unref();
        },
      };
    },
    close,
  };
}

function start(): Running {
  const worker = new Worker(new URL('./format-worker.ts', import.meta.url), {
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });
  const running: Running = { worker, waiting: new Map(), hasEnded: false };
  const { waiting } = running;
  worker.unref();
  worker.on('message', (result: StepResult) => {
    const { job } = result;
    waiting.get(job)?.resolve(result);
    waiting.delete(job);
  });
  // The thread is out of memory; `exit` follows.
  worker.on('error', () => undefined);
  worker.once('exit', () => {
    running.hasEnded = true;
    for (const { reject } of waiting.values()) reject(interrupted());
    waiting.clear();
  });
  return running;
}

function interrupted(): GatewayError {
  return new GatewayError('unavailable', 'The writing of the result was interrupted; try again');
}

function writtenOf(result: StepResult): Buffer {
  if ('refused' in result) throw new GatewayError(result.refused.code, result.refused.message);
  if ('failure' in result) throw result.failure;
  const { buffer, byteOffset, length } = result.written;
  return Buffer.from(buffer, byteOffset, length);
}
