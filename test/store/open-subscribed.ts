import { vi } from 'vitest';
import { createRedisStore } from '../../src/store/redis-store.ts';
import type { Store } from '../../src/store/store.ts';

const manyKeys = Array.from({ length: 20 }, (_, at) => `key ${at}`);

/**
 * Opens a store in Redis and waits until it answers and is subscribed; `received` collects the types of its messages from then on.
 * @param deadlineMs default: so long that a busy machine does not matter
 */
export async function openSubscribed(
  url: string,
  deadlineMs = 1000,
): Promise<{ store: Store; received: string[] }> {
  const store = createRedisStore({ url, deadlineMs });
  const received: string[] = [];
  store.subscribe(({ type }) => received.push(type));
  await vi.waitFor(
    async () => {
      // Of a Cluster, all nodes must answer.
      await store.read(manyKeys, []);
      if (!received.includes('connected')) throw new Error('It is not connected yet');
    },
    { interval: 5 },
  );
  received.splice(0, received.length, 'connected');
  return { store, received };
}
