import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createBigQueryEngine } from '../../src/bigquery/bigquery-engine.ts';
import { readTableMapping } from '../../src/bigquery/client/table-mapping.ts';
import { createDuckDbEngine } from '../../src/duckdb/duckdb-engine.ts';
import { importLogs } from '../../src/duckdb/import-logs.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { edgeRow } from '../support/edge-row.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { contractRows } from './engine-contract.ts';

/** The embedded engine over the rows of the contract, in a folder that its caller removes. */
export async function openContractEngine(directory: string) {
  const databasePath = join(directory, 'logs.duckdb');
  await importLogs({
    databasePath,
    sources: readSources(),
    source: 'cloudflare.logs.prod',
    input: Readable.from(contractRows.map(row => `${JSON.stringify(edgeRow(row))}\n`)),
  });
  const clock = createStandingClock();
  return createDuckDbEngine({ databasePath, clock, emit: () => undefined });
}

/** A server in BigQuery's place. */
type Warehouse = {
  /** Undefined: Google's own, which the environment leads to. */
  readonly endpoint: string | undefined;
  close(): unknown;
};

/**
 * The adapter for BigQuery over a server that answers with what the embedded engine finds.
 * @param openWarehouse of the table `acme.logs.edge`, which stands for `cloudflare.logs.prod`
 */
export async function openContractWarehouse<Server extends Warehouse>(
  openWarehouse: (local: Engine, names: { table: string; source: string }) => Promise<Server>,
) {
  const directory = await mkdtemp(join(tmpdir(), 'contract-'));
  const local = await openContractEngine(directory);
  const names = { table: 'acme.logs.edge', source: 'cloudflare.logs.prod' };
  const warehouse = await openWarehouse(local, names);
  const engine = await createBigQueryEngine({
    project: 'payer',
    ...(warehouse.endpoint ? { endpoint: warehouse.endpoint } : {}),
    mapping: readTableMapping([`${names.source}=${names.table}`]),
    sources: readSources(),
    emit: () => undefined,
    random: () => 0.5,
    retryBaseMs: 4,
  });
  return {
    engine,
    warehouse,
    close: async () => {
      await engine.close();
      await warehouse.close();
      await local.close();
      await rm(directory, { recursive: true });
    },
  };
}
