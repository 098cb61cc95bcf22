import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBigQueryEngine } from '../../src/bigquery/bigquery-engine.ts';
import { readTableMapping } from '../../src/bigquery/table-mapping.ts';
import { readSources } from '../../src/duckdb/sources.ts';
import { openEmulatingWarehouse } from '../bigquery/emulating-warehouse.ts';
import { engineContract } from './engine-contract.ts';
import { openContractEngine } from './open-contract-engine.ts';

engineContract(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'contract-'));
  const local = await openContractEngine(directory);
  const [table, source] = ['test.logs.edge', 'cloudflare.logs.prod'];
  const emulator = await openEmulatingWarehouse({ engine: local, table, source });
  const engine = await createBigQueryEngine({
    project: 'test',
    endpoint: emulator.url,
    mapping: readTableMapping([`${source}=${table}`]),
    sources: readSources(),
    emit: () => undefined,
    random: () => 0.5,
    retryBaseMs: 4,
  });
  return {
    engine,
    close: async () => {
      await engine.close();
      emulator.close();
      await local.close();
      await rm(directory, { recursive: true });
    },
  };
});
