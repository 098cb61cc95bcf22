import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { importLogs } from '../../src/duckdb/import-logs.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { startGatewayProcess } from '../support/fleet.ts';
import { emulatorRows, type SourceRows } from './emulator-rows.ts';
import { fillEmulator } from './fill-emulator.ts';
import { startEmulator } from './start-emulator.ts';

const project = 'test';
const dataset = 'logs';

/**
 * Starts two gateways over the same rows and the same clock, each a process of its own: one asks goccy/bigquery-emulator, the
 * other its embedded engine.
 */
export async function startEmulatorTwins() {
  const directory = await mkdtemp(join(tmpdir(), 'emulator-twins-'));
  const tables = new Map(readSources().map(({ name }, at) => [name, `t${at}`]));
  const rows = await emulatorRows(Date.now());
  const emulator = await startEmulator(project);
  const agent = new Agent({ keepAlive: true });
  const shared = { DATA_DIR: directory, WARM_IN_PROCESS: 'false', QUERY_TIMEOUT_MS: '60000' };
  await Promise.all([
    fillEmulator(emulator, { project, dataset, tables }, rows),
    writeRows(join(directory, 'logs.duckdb'), rows),
  ]);
  const embedded = await startGatewayProcess(shared, agent);
  const overEmulator = await startGatewayProcess(
    {
      ...shared,
      ENGINE: 'bigquery',
      BIGQUERY_PROJECT: project,
      BIGQUERY_TABLES: [...tables]
        .map(([source, table]) => `${source}=${project}.${dataset}.${table}`)
        .join(','),
      BIGQUERY_API_ENDPOINT: emulator.url,
    },
    agent,
  );
  return {
    emulator,
    overEmulator,
    embedded,
    async stop() {
      agent.destroy();
      await Promise.all([overEmulator.kill(), embedded.kill(), emulator.stop()]);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function writeRows(databasePath: string, rows: SourceRows): Promise<void> {
  for (const [source, list] of rows) {
    const input = Readable.from(list.map(row => `${JSON.stringify(row)}\n`));
    await importLogs({ databasePath, sources: readSources(), source, input });
  }
}
