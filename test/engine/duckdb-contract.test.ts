import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { engineContract } from './engine-contract.ts';
import { openContractEngine } from './open-contract-engine.ts';

engineContract(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'contract-'));
  const engine = await openContractEngine(directory);
  return {
    engine,
    close: async () => {
      await engine.close();
      await rm(directory, { recursive: true });
    },
  };
});
