import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { isEmulator } from '../bigquery/client/emulator-endpoint.ts';
import type { TableMapping } from '../bigquery/client/table-mapping.ts';
import { repairReplicas } from '../duckdb/data-folder/repair-replicas.ts';
import { createDuckDbEngine, type DuckDbEngine } from '../duckdb/duckdb-engine.ts';
import {
  namesOf,
  readNewSourceTexts,
  readSourceFolder,
  readSourceTexts,
  type SourceFolder,
  type SourceTexts,
} from '../endpoints/sources.ts';
import { parseTableId, type TableId } from '../endpoints/table-id.ts';
import { watchFolder } from '../endpoints/watch-folder.ts';
import { enforceWindows } from '../engine/bound-window.ts';
import type { Engine } from '../engine/engine.ts';
import type { GatewayEvent } from '../telemetry/events.ts';
import { type Config, ConfigError } from './config.ts';

/** The file of the embedded database in a data folder. */
export function databasePath(config: Pick<Config, 'DATA_DIR'>): string {
  return join(config.DATA_DIR, 'logs.duckdb');
}

type EngineDeps = {
  readonly clock: Clock;
  readonly emit: (event: GatewayEvent) => void;
  /** Replaces the engine that the configuration names. */
  readonly engine?: Engine | undefined;
  /** Whether sources that are added while it runs are read. Default false. */
  readonly followsSources?: boolean;
  /** Whether an unreadable table of the warehouse is an error, and advice on table layouts is emitted. Default false. */
  readonly isThorough?: boolean;
};

/** Opens the engine that the configuration names, with the windows of saved queries enforced. */
export async function openEngine(config: Config, deps: EngineDeps): Promise<Engine> {
  return enforceWindows(deps.engine ?? (await openAdapter(config, deps)), deps.clock);
}

/** Opens the engine for a process that serves: if a file of the database can't be opened, it is set aside and the other one is served. */
export async function openServingEngine(config: Config, given: EngineDeps): Promise<Engine> {
  const deps = { ...given, followsSources: true };
  try {
    return await openEngine(config, deps);
  } catch (error) {
    if (deps.engine || config.ENGINE !== 'duckdb') throw error;
    const damaged = await repairReplicas(databasePath(config), deps.clock.now(), true);
    if (damaged.length === 0) throw error;
    for (const { file, keptAs } of damaged) deps.emit({ type: 'database.damaged', file, keptAs });
    return openEngine(config, deps);
  }
}

async function openAdapter(
  config: Config,
  { clock, emit, followsSources = false, isThorough }: EngineDeps,
): Promise<Engine> {
  const texts = readSourceTexts(config.SOURCES_DIR);
  const folder = readSourceFolder(config.SOURCES_DIR, texts);
  const { sources } = folder;
  const maxResultBytes = config.MAX_RESULT_MB * 1024 * 1024;
  if (config.ENGINE === 'duckdb') {
    const engine = await createDuckDbEngine({
      databasePath: databasePath(config),
      sources,
      clock,
      emit,
      maxConcurrentQueries: config.MAX_CONCURRENT_QUERIES,
      maxWaitingQueries: config.MAX_WAITING_QUERIES,
      maxWaitingPerCaller: config.MAX_WAITING_PER_TOKEN,
      memoryLimitMb: config.ENGINE_MEMORY_MB,
      maxResultBytes,
      takesPostgresCasts: config.COMPAT === 'logflare',
    });
    return followsSources ? followSources(engine, config.SOURCES_DIR, texts) : engine;
  }
  // Loaded only when needed: Google's client takes longer to load than the rest of the gateway.
  const { createBigQueryEngine } = await import('../bigquery/bigquery-engine.ts');
  const mapping = tablesOf(folder, config);
  if (mapping.size === 0)
    throw new ConfigError('BIGQUERY_TABLES: needed for ENGINE=bigquery, where no source names its `table`');
  const engine = await createBigQueryEngine({
    // Never missing: `readConfig` checks that.
    project: config.BIGQUERY_PROJECT ?? '',
    mapping,
    sources,
    location: config.BIGQUERY_LOCATION,
    endpoint: config.BIGQUERY_API_ENDPOINT,
    // 0 means no limit.
    maxBytesBilled: config.BIGQUERY_MAX_BYTES_BILLED || undefined,
    reservation: config.BIGQUERY_RESERVATION,
    maxConcurrentQueries: config.BIGQUERY_MAX_CONCURRENT_QUERIES,
    maxResultBytes,
    maxWaitingQueries: config.MAX_WAITING_QUERIES,
    maxWaitingPerCaller: config.MAX_WAITING_PER_TOKEN,
    backgroundPriority: config.BIGQUERY_BACKGROUND_PRIORITY === 'batch' ? 'BATCH' : 'INTERACTIVE',
    emit,
    random: Math.random,
  });
  try {
    await engine.checkWarehouse({ isThorough });
    return engine;
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** Milliseconds between two attempts to give new sources to an engine whose processes can't start now. */
const retryMs = 10_000;

/** Gives an engine the sources that are added while it runs; from then on they stay as they were read. */
function followSources(engine: DuckDbEngine, directory: string, atStart: SourceTexts): Engine {
  let known = atStart;
  let isBehind = false;
  const watcher = watchFolder(directory, {
    async onChange() {
      const added = readNewSourceTexts(directory, known);
      if (added.length === 0) return;
      const all = [...known, ...added];
      isBehind = true;
      await engine.takeSources(readSourceFolder(directory, all).sources);
      [known, isBehind] = [all, false];
    },
    // The engine reports processes that end; the watcher of the files reports a folder that can't be read.
    onFailed: () => undefined,
    retry: { everyMs: retryMs, isNeeded: () => isBehind },
  });
  return {
    ...engine,
    close() {
      watcher.close();
      return engine.close();
    },
  };
}

/**
 * Names the rows that the queries of a configuration read, to separate what gateways and workers share: configurations with the same data
 * folder, or with the same tables queried by the same project, have the same name.
 * @param idOfFolder returns the id of a data folder
 */
export async function warehouseOf<Id extends string | undefined>(
  config: Config,
  idOfFolder: (databasePath: string) => Promise<Id>,
): Promise<Id | string> {
  if (config.ENGINE === 'duckdb') return idOfFolder(databasePath(config));
  // All endpoints of Google have the same tables; an emulator has different ones with the same names.
  const isGoogle = !isEmulator(config.BIGQUERY_API_ENDPOINT);
  const tables = [...tablesOf(readSourceFolder(config.SOURCES_DIR), config)];
  const byName = tables.toSorted(([one], [other]) => (one < other ? -1 : 1));
  const text = JSON.stringify([isGoogle, config.BIGQUERY_PROJECT, byName]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** The tables named by the sources and by the settings, which win. Sources with broken files have none. */
function tablesOf({ sources, broken }: SourceFolder, { BIGQUERY_TABLES = new Map() }: Config): TableMapping {
  const leftOut = namesOf(broken);
  const named = sources.flatMap(({ name, table }): [string, TableId][] => {
    const id = table === undefined ? undefined : parseTableId(table);
    return id ? [[name, id]] : [];
  });
  return new Map([...named, ...[...BIGQUERY_TABLES].filter(([name]) => !leftOut.has(name))]);
}
