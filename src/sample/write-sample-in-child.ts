import { fork } from 'node:child_process';
import { once } from 'node:events';
import { childEnvironment } from '../base/child-environment.ts';
import { DatabaseBusyError } from '../duckdb/data-folder/database-busy-error.ts';
import type { SampleReport, SampleTask } from './sample-process.ts';

/**
 * Runs `writeSample` in a child process: a gateway that loaded DuckDB itself would keep its 25 MB as long as it runs.
 * @throws DatabaseBusyError; Error with DuckDB's message, or if the process ended before it was done
 */
export async function writeSampleInChild(
  task: SampleTask,
  onProgress: (progress: { readonly done: number; readonly total: number }) => void,
): Promise<void> {
  const child = fork(new URL('./sample-process.ts', import.meta.url), [JSON.stringify(task)], {
    execArgv: [],
    // A process that ends makes its inherited pipes blocking again for all processes that share them.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    env: childEnvironment(),
  });
  let last: SampleReport | undefined;
  child.on('message', (report: SampleReport) => {
    last = report;
    if (report.type === 'progress') onProgress(report);
  });
  const [code, signal] = await once(child, 'exit');
  if (last?.type === 'written') return;
  if (last?.type === 'busy') throw new DatabaseBusyError(task.databasePath);
  if (last?.type === 'failed') throw new Error(last.message);
  throw new Error(`The process that writes the sample rows ended with ${signal ?? `exit code ${code}`}`);
}
