import { openEmulatingWarehouse } from '../bigquery/emulating-warehouse.ts';
import { engineContract } from './engine-contract.ts';
import { openContractWarehouse } from './open-contract-engine.ts';

engineContract(() =>
  openContractWarehouse(async (engine, names) => {
    const { url: endpoint, close } = await openEmulatingWarehouse({ engine, ...names });
    return { endpoint, close };
  }),
);
