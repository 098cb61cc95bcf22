import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createDuckDbEngine } from '../../src/duckdb/duckdb-engine.ts';
import { importLogs } from '../../src/duckdb/import-logs.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { edgeRow } from '../support/edge-row.ts';
import { startGatewayProcess } from '../support/fleet.ts';
import { bigqueryEnvironment, sourceTables } from './bigquery-environment.ts';
import { openExecutingWarehouse } from './executing-warehouse.ts';
import { fakeGoogle } from './fake-google.ts';

/**
 * Starts two gateways over the same rows, each a process of its own: one asks a server in BigQuery's place, the other its
 * embedded engine. The saved query `logs.all` takes the label `team`.
 * @param environment for both
 */
export async function startTwins(environment: Record<string, string> = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'twins-'));
  const sqlDirectory = join(directory, 'sql');
  await cp('sql', sqlDirectory, { recursive: true });
  const logsAll = join(sqlDirectory, 'logs.all.sql');
  await writeFile(logsAll, (await readFile(logsAll, 'utf8')).replace('sandbox:', 'labels: [team]\nsandbox:'));
  await writeRows(join(directory, 'logs.duckdb'));

  const agent = new Agent({ keepAlive: true });
  const shared = { DATA_DIR: directory, SQL_DIR: sqlDirectory, WARM_IN_PROCESS: 'false', ...environment };
  const embedded = await startGatewayProcess(shared, agent);
  const clock = { now: () => Date.now() };
  const databasePath = join(directory, 'logs.duckdb');
  const engine = await createDuckDbEngine({ databasePath, clock, emit: () => undefined });
  const sourceOf = new Map(sourceTables.map(([source, table]) => [table, source]));
  // At Google itself, so that nothing is forgiven that only an emulator's would be.
  const executing = await openExecutingWarehouse({ engine, sourceOf, pageRows: 7 });
  const warehouse = await fakeGoogle(executing);
  const overBigQuery = await startGatewayProcess(
    {
      ...shared,
      ...bigqueryEnvironment(''),
      ...warehouse.environment,
      BIGQUERY_LOCATION: 'EU',
    },
    agent,
  );
  return {
    warehouse,
    overBigQuery,
    embedded,
    async stop() {
      agent.destroy();
      await Promise.all([overBigQuery.kill(), embedded.kill()]);
      await warehouse.close();
      await engine.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Rows of the last half an hour: none of them leaves a window of the saved queries while a test runs. */
async function writeRows(databasePath: string): Promise<void> {
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  const paths = ['/rest/v1/todos', '/auth/v1/token', '/storage/v1/object', '/realtime/v1', '/other'];
  const edge = Array.from({ length: 40 }, (_, at) => ({
    ...edgeRow({
      id: `edge ${at}`,
      timestamp: ago(5 + at / 2),
      project: at % 4 === 3 ? 'theirs' : 'ours',
      path: paths[at % paths.length],
    }),
    ...(at === 1 ? { event_message: null, metadata: [] } : {}),
  }));
  const postgres = ['ours', 'theirs'].map((project, at) => ({
    id: `postgres ${at}`,
    timestamp: ago(7),
    project,
    event_message: 'connection from 10.0.0.1 "öffnet" 💾',
    metadata: [{ host: 'db', parsed: [{ error_severity: 'ERROR', query_id: '9007199254740993' }] }],
  }));
  const functions = ['ours', 'theirs'].map((project, at) => ({
    id: `function ${at}`,
    timestamp: ago(9),
    event_message: 'booted',
    metadata: [{ project_ref: project, level: 'info' }],
  }));
  const rows = {
    'cloudflare.logs.prod': edge,
    'postgres.logs': postgres,
    'deno-subhosting-events': functions,
  };
  for (const [source, list] of Object.entries(rows)) {
    const input = Readable.from(list.map(row => `${JSON.stringify(row)}\n`));
    await importLogs({ databasePath, sources: readSources(), source, input });
  }
}
