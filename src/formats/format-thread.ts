import { GatewayError } from '../base/errors.ts';
import { createIdleThread } from '../base/idle-thread.ts';
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

/** Makes a thread that has not started. */
export function createFormatThread(): FormatThread {
  const thread = createIdleThread<FormatStep, StepResult>({
    script: new URL('./format-worker.ts', import.meta.url),
    maxHeapMb,
    work: 'The writing of the result',
  });
  return {
    open(format, columns) {
      const { id: job, post, next, end } = thread.open();
      let opens: FormatStep['opens'] = { format, columns };
      return {
        async write(rows, isLast) {
          const result = next();
          // A copy: a view would be cloned with the whole memory behind it.
          const own = new Uint8Array(rows);
          post({ job, opens, rows: own, isLast }, [own.buffer]);
          opens = undefined;
          return writtenOf(await result);
        },
        end() {
          post({ job });
          end();
        },
      };
    },
    close: thread.close,
  };
}

function writtenOf(result: StepResult): Buffer {
  if ('refused' in result) throw new GatewayError(result.refused.code, result.refused.message);
  if ('failure' in result) throw result.failure;
  const { buffer, byteOffset, length } = result.written;
  return Buffer.from(buffer, byteOffset, length);
}
