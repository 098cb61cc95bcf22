import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exists } from '../../base/missing-file.ts';
import { databasePath, openEngine } from '../../composition/compose-engine.ts';
import type { Config } from '../../composition/config.ts';
import { readSourceFolder } from '../../endpoints/sources.ts';
import type { Engine } from '../../engine/engine.ts';
import { readLearned, withLearned } from '../../loading/events/learned-fields.ts';
import { lacksLayout } from '../../loading/table-layout.ts';
import { writeSampleInChild } from '../../sample/write-sample-in-child.ts';

/** An engine for the doctor's checks. */
type CheckingEngine = {
  readonly engine: Engine;
  /** Whether there is no database yet. */
  readonly isEmpty: boolean;
  close(): Promise<void>;
};

/**
 * Opens the engine that would run the saved queries, and changes nothing: if the embedded one has no database yet, or its database lacks
 * the tables of new sources, which the next start makes, it opens one over empty tables.
 */
export async function openCheckingEngine(
  config: Config,
  deps: Parameters<typeof openEngine>[1],
): Promise<CheckingEngine> {
  const isEmpty = config.ENGINE === 'duckdb' && !(await exists(databasePath(config)));
  if (!isEmpty && !lacksTables(config)) {
    const engine = await openEngine(config, deps);
    return { engine, isEmpty, close: () => engine.close() };
  }
  // Read here first: a missing folder is then reported without the stack of the process that makes the tables.
  readSourceFolder(config.SOURCES_DIR);
  const directory = await mkdtemp(join(tmpdir(), 'checking-'));
  const remove = () => rm(directory, { recursive: true, force: true });
  try {
    const own = { ...config, DATA_DIR: directory };
    await makeTables(own);
    const engine = await openEngine(own, deps);
    return { engine, isEmpty, close: () => engine.close().finally(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}

function lacksTables(config: Config): boolean {
  if (config.ENGINE !== 'duckdb') return false;
  const path = databasePath(config);
  return lacksLayout(path, withLearned(readSourceFolder(config.SOURCES_DIR).sources, readLearned(path)));
}

/** The tables of the sources, without rows. */
function makeTables(config: Config): Promise<void> {
  const { SOURCES_DIR: sourcesDirectory } = config;
  const to = { databasePath: databasePath(config), sourcesDirectory, rows: 0, nowMs: 0 };
  return writeSampleInChild(to, () => undefined);
}
