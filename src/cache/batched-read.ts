import DataLoader from 'dataloader';
import type { CacheKey } from './cache-key.ts';
import type { Generations } from './generations.ts';
import { type Budget, budgetMs, type GuardedStore } from './guarded-store.ts';

/** What the store says of a key, and what is left of the reader's time for it. */
export type StoreAnswer = {
  /** False where the store did not answer. */
  readonly isKnown: boolean;
  readonly value: Buffer | undefined;
  readonly remainingMs: number;
};

/** Entries read together at most. */
const maxBatch = 200;

/** Makes a reader that asks the store once for all keys that are wanted at the same moment. */
export function createBatchedRead(
  store: GuardedStore,
  generations: Generations,
): (key: CacheKey) => Promise<StoreAnswer> {
  const loader = new DataLoader<CacheKey, StoreAnswer>(readAll, {
    cache: false,
    maxBatchSize: maxBatch,
    // Once all requests that have arrived are read: what they want goes to the store in one write.
    batchScheduleFn: read => void setImmediate(read),
  });
  return key => loader.load(key);

  async function readAll(keys: readonly CacheKey[]): Promise<StoreAnswer[]> {
    const budget: Budget = { remainingMs: budgetMs };
    const groups = [...new Set(keys.map(({ group }) => group))];
    const digests = keys.map(({ digest }) => digest);
    const learn = generations.startRead();
    const answer = await store.call('read', budget, it => it.read(digests, groups));
    for (const [at, group] of groups.entries()) {
      const isThere = !answer || learn(group, answer.generations[at] ?? '');
      if (!isThere)
        void store.call('bumpGeneration', { remainingMs: budgetMs }, it => it.bumpGeneration(group));
    }
    const { remainingMs } = budget;
    return keys.map((_, at) => ({ isKnown: answer !== undefined, value: answer?.values[at], remainingMs }));
  }
}
