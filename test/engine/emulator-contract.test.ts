import { openEmulatingWarehouse } from '../bigquery/emulating-warehouse.ts';
import { engineContract } from './engine-contract.ts';
import { openContractWarehouse } from './open-contract-engine.ts';

engineContract(() => openContractWarehouse((engine, names) => openEmulatingWarehouse({ engine, ...names })));
