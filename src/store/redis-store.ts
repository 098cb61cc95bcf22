import { Redis } from 'ioredis';
import type { Store } from './store.ts';
import { StoreError } from './store-error.ts';
import type { StoreEvent } from './store-events.ts';

type RedisStoreOptions = {
  /** `redis://` or `rediss://`. */
  readonly url: string;
  readonly emit: (event: StoreEvent) => void;
  /** Milliseconds a request waits for Redis at most (contract section 5). Default 50. */
  readonly deadlineMs?: number;
};

const keyPrefix = 'sqg:1:';

/**
 * Makes a store in Redis, shared by all gateways. Redis need not be there: calls reject at once while it is not, and
 * within the deadline where it is frozen; it is used again as soon as it answers.
 */
export function createRedisStore({ url, emit, deadlineMs = 50 }: RedisStoreOptions): Store {
  const redis = new Redis(url, {
    // Without these a client waits for a frozen or absent server for seconds.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2000,
    commandTimeout: 1000,
    retryStrategy: attempt => Math.min(50 * attempt, 1000),
  });
  let isUp: boolean | undefined;
  const report = (up: boolean, message = '') => {
    if (up === isUp) return;
    const isFirst = isUp === undefined;
    isUp = up;
    if (up && !isFirst) emit({ type: 'store.up' });
    if (!up) emit({ type: 'store.down', message });
  };
  redis.on('ready', () => report(true));
  redis.on('error', (error: Error) => report(false, error.message));
  redis.on('close', () => report(false, 'The connection is closed'));

  async function answer<T>(command: Promise<T>): Promise<T> {
    try {
      const value = await withDeadline(command, deadlineMs);
      report(true);
      return value;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      // While the first connection is being made, Redis is neither up nor down yet; its own events will tell.
      if (isUp !== undefined) report(false, message);
      throw new StoreError(`Redis did not answer: ${message}`, { cause: error });
    }
  }

  return {
    get: async key => (await answer(redis.getBuffer(keyPrefix + key))) ?? undefined,
    set: async (key, value, ttlMs) => {
      await answer(redis.set(keyPrefix + key, value, 'PX', Math.max(1, Math.ceil(ttlMs))));
    },
    close: async () => {
      redis.removeAllListeners('close');
      redis.disconnect();
    },
  };
}

/** Rejects when the deadline comes first; whatever the command does later is nobody's concern. */
async function withDeadline<T>(command: Promise<T>, deadlineMs: number): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`no answer within ${deadlineMs} ms`)), deadlineMs);
  command.catch(() => undefined);
  try {
    return await Promise.race([command, late]);
  } finally {
    clearTimeout(timer);
  }
}
