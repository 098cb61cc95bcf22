import { messageOf } from '../base/errors.ts';
import { DatabaseBusyError } from '../duckdb/data-folder/database-busy-error.ts';
import { readSourceFolder } from '../endpoints/sources.ts';
import { type WriteSampleOptions, writeSample } from './write-sample.ts';

/** The task: the parts of WriteSampleOptions that can be sent to a process. It reads the sources itself. */
export type SampleTask = Omit<WriteSampleOptions, 'sources' | 'onProgress'> & {
  /** Folder of the sources. */
  readonly sourcesDirectory: string;
};

/** A report of the process. */
export type SampleReport =
  | { readonly type: 'progress'; readonly done: number; readonly total: number }
  | { readonly type: 'written' }
  | { readonly type: 'busy' }
  | { readonly type: 'failed'; readonly message: string };

/** The process that extends the sample rows up to now; the memory of the writing DuckDB is freed when it ends. */
const task: SampleTask = JSON.parse(process.argv[2] ?? '');
const end = () => process.kill(process.pid, 'SIGKILL');
// The gateway has ended.
process.on('disconnect', end);
report(await write());
process.off('disconnect', end);

async function write(): Promise<SampleReport> {
  try {
    const onProgress = (progress: { done: number; total: number }) =>
      report({ type: 'progress', ...progress });
    const { sources } = readSourceFolder(task.sourcesDirectory);
    await writeSample({ ...task, sources, onProgress });
    return { type: 'written' };
  } catch (error) {
    if (error instanceof DatabaseBusyError) return { type: 'busy' };
    return { type: 'failed', message: messageOf(error) };
  }
}

function report(message: SampleReport): void {
  process.send?.(message);
}
