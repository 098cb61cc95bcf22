import { once } from 'node:events';
import { connectRedis } from '../../store/connect-redis.ts';
import { watchConnection } from '../../store/watch-connection.ts';
import type { Check } from './check.ts';

/** Maximum milliseconds for opening a connection. */
const connectMs = 3000;

/**
 * Checks that Redis answers, and that it evicts entries when it is full.
 * @param options.holdsTokens whether it keeps the issued tokens, which must never be evicted
 */
export function redisCheck(url: string, { holdsTokens }: { readonly holdsTokens: boolean }): Check {
  return {
    subject: 'Redis',
    fixForFailure:
      'start the Redis of REDIS_URL, or see that address, password and TLS in REDIS_URL are right',
    async run() {
      const { client } = connectRedis(url);
      const reason = watchConnection(client);
      try {
        await once(client, 'ready', { signal: AbortSignal.timeout(connectMs) }).catch(() => {
          throw new Error(`no connection within ${connectMs} ms. ${reason(undefined)}`);
        });
        return judgeMemory(await client.info('memory'), holdsTokens);
      } finally {
        client.disconnect();
      }
    },
  };
}

/** Judges the eviction policy: a Redis that refuses writes when it is full keeps old entries and takes no new ones. */
function judgeMemory(info: string, holdsTokens: boolean) {
  const valueAt = (name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? '';
  const policy = valueAt('maxmemory_policy');
  const isBounded = !['', '0'].includes(valueAt('maxmemory'));
  const found = `answers; maxmemory ${isBounded ? valueAt('maxmemory_human') : 'not set'}, policy ${policy}`;
  if (isBounded && policy.startsWith(holdsTokens ? 'volatile-' : 'allkeys-')) {
    return { isFine: true, found } as const;
  }
  const fix = holdsTokens
    ? 'set maxmemory, and maxmemory-policy volatile-lru: entries have a time to live, tokens have none and must stay'
    : 'set maxmemory, and maxmemory-policy allkeys-lru: an entry that was not read is the one to go';
  return { isFine: false, problems: [{ found, fix }] } as const;
}
