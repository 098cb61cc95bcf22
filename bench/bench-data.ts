import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProgressBar } from '../src/composition/progress-bar.ts';
import { readCurrent } from '../src/duckdb/replicas.ts';
import { readSources } from '../src/endpoints/sources.ts';
import { writeSample } from '../src/sample/write-sample.ts';

/** Edge rows of the benches' data: `BENCH_ROWS`, default one million. */
export const benchRows = Number(process.env.BENCH_ROWS ?? 1_000_000);

let made: Promise<string> | undefined;

/**
 * Makes the data of the benches where it is not there yet, once: a gateway may read it from then on. It is kept in the system's folder for temporary files.
 * @returns the data folder
 */
export function benchData(): Promise<string> {
  made ??= makeData();
  return made;
}

async function makeData(): Promise<string> {
  const directory = join(tmpdir(), `saved-query-gateway-bench-${benchRows}`);
  await mkdir(directory, { recursive: true });
  await writeSample({
    databasePath: currentFile(directory),
    sources: readSources(),
    rows: benchRows,
    nowMs: Date.now(),
    onProgress: createProgressBar(process.stderr, 'Writing sample data'),
  });
  return directory;
}

/** The database file that a gateway with this data folder reads: one that ran there before may have left the other one current. */
export function currentFile(directory: string): string {
  return readCurrent(join(directory, 'logs.duckdb')).path;
}
