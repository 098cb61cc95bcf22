import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openContractEngine } from '../engine/open-contract-engine.ts';
import { openExecutingWarehouse } from './executing-warehouse.ts';

/**
 * The executing warehouse as the official clients are to drive it: the rows of the engine contract in the table
 * `acme.logs.edge`, in a region whose jobs are not found unless it is named.
 */
export async function openDrivenWarehouse() {
  const location = 'europe-west3';
  const directory = await mkdtemp(join(tmpdir(), 'driven-'));
  const engine = await openContractEngine(directory);
  const sourceOf = new Map([['acme.logs.edge', 'cloudflare.logs.prod']]);
  const warehouse = await openExecutingWarehouse({ engine, sourceOf, pageRows: 10, location });
  return {
    ...warehouse,
    async close() {
      warehouse.close();
      await engine.close();
      await rm(directory, { recursive: true });
    },
  };
}
