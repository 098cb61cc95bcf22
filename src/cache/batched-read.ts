import DataLoader from 'dataloader';
import type { CacheKey } from './cache-request.ts';
import type { Generations } from './generations.ts';
import type { Budget, GuardedStore } from './guarded-store.ts';

/** The store's answer for a key, and how much of the request's budget is left. */
export type StoreAnswer = {
  /** False if the store did not answer. */
  readonly isKnown: boolean;
  readonly value: Buffer | undefined;
  readonly remainingMs: number;
};

/** Maximum number of entries in one read. */
const maxBatch = 200;

/** Makes a reader that asks the store once for all keys requested in the same turn of the event loop. */
export function createBatchedRead(
  store: GuardedStore,
  generations: Generations,
): (key: CacheKey) => Promise<StoreAnswer> {
  const loader = new DataLoader<CacheKey, StoreAnswer>(readAll, {
    cache: false,
    maxBatchSize: maxBatch,
    // Runs once all requests that have arrived are parsed, so that one write sends all their keys to the store.
    batchScheduleFn: read => void setImmediate(read),
  });
  return key => loader.load(key);

  async function readAll(keys: readonly CacheKey[]): Promise<StoreAnswer[]> {
    const budget: Budget = { remainingMs: store.budgetMs };
    const groups = [...new Set(keys.map(({ group }) => group))];
    const digests = [...new Set(keys.map(({ digest }) => digest))];
    const indexes = new Map(digests.map((digest, index) => [digest, index]));
    const learn = generations.startRead();
    const answer = await store.call('read', budget, it => it.read(digests, groups));
    for (const [at, group] of groups.entries()) {
      const isThere = !answer || learn(group, answer.generations[at] ?? '');
      if (!isThere)
        void store.call('bumpGeneration', { remainingMs: store.budgetMs }, it => it.bumpGeneration(group));
    }
    const { remainingMs } = budget;
    const isKnown = answer !== undefined;
    return keys.map(({ digest }) => ({ isKnown, value: answer?.values[indexes.get(digest)!], remainingMs }));
  }
}
