import { vi } from 'vitest';
import { createRedisStore } from '../../src/store/redis-store.ts';
import type { Store } from '../../src/store/store.ts';

const manyKeys = Array.from({ length: 20 }, (_, at) => `key ${at}`);

/** Opens a store in Redis and waits until it answers and hears; `hearing` grows by the types of its news from then on. */
export async function openListening(url: string): Promise<{ store: Store; hearing: string[] }> {
  const store = createRedisStore({ url });
  const hearing: string[] = [];
  store.subscribe(({ type }) => hearing.push(type));
  await vi.waitFor(
    async () => {
      // Of a Cluster, all nodes must answer.
      await store.read(manyKeys, []);
      if (!hearing.includes('listening')) throw new Error('It does not hear yet');
    },
    { timeout: 8000, interval: 5 },
  );
  hearing.splice(0, hearing.length, 'listening');
  return { store, hearing };
}
