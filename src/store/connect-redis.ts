import { Redis, type RedisOptions } from 'ioredis';

type ConnectOptions = Pick<RedisOptions, 'scripts'>;

/** Opens a connection that never makes a caller wait for a server that is frozen or gone. */
export function connectRedis(url: string, { scripts }: ConnectOptions): Redis {
  const redis = new Redis(url, {
    scripts,
    // Without these a client waits for a frozen or absent server for seconds.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 2000,
    commandTimeout: 1000,
    retryStrategy: attempt => Math.min(50 * attempt, 1000),
  });
  // Every call learns of it by itself.
  redis.on('error', () => undefined);
  return redis;
}
