import { once } from 'node:events';
import { ReplyError } from 'ioredis';
import type { SetupProblem } from '../../base/setup-error.ts';
import { connectRedis, type RedisConnections, redisPrefix } from '../../store/connect-redis.ts';
import { watchConnection } from '../../store/watch-connection.ts';
import type { Check } from './check.ts';

/** Maximum milliseconds for opening a connection. */
const connectMs = 3000;

/**
 * Checks that Redis answers, takes all that gateways write, and evicts entries when it is full.
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
        const info = await client.info();
        const problems = [
          ...judgeRole(info, client.isCluster),
          ...(await judgeRights(client)),
          ...judgeMemory(info, holdsTokens),
        ];
        return problems.length > 0 ? { isFine: false, problems } : { isFine: true, found: memoryOf(info) };
      } finally {
        client.disconnect();
      }
    },
  };
}

const valueIn = (info: string, name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? '';

/** A server that answers, but refuses the keys of other nodes, or all writes. */
function judgeRole(info: string, isCluster: boolean): SetupProblem[] {
  if (isCluster) return [];
  if (valueIn(info, 'redis_mode') === 'cluster') {
    const found = 'REDIS_URL names one node of a Cluster, which refuses the keys of the others';
    return [{ found, fix: 'write redis+cluster instead of redis in REDIS_URL' }];
  }
  if (valueIn(info, 'role') !== 'slave') return [];
  const fix = 'name the master in REDIS_URL, or the Sentinels: redis+sentinel://host:26379/master-name';
  return [{ found: 'REDIS_URL names a replica, which takes no writes', fix }];
}

/** A user whom Redis lets read and write, but not send messages, or not ask the time. */
async function judgeRights(client: RedisConnections['client']): Promise<SetupProblem[]> {
  try {
    await client.publish(`${redisPrefix(undefined)}doctor`, '');
    await client.time();
    return [];
  } catch (error) {
    if (!(error instanceof Error && error instanceof ReplyError)) throw error;
    return [{ found: error.message, fix: `let the user of REDIS_URL do this: ${rights}` }];
  }
}

/** The rights of a user in Redis's ACL. */
const rights = '~sqg:* &sqg:* +@read +@write +@scripting +@pubsub +@connection +info +time';

const isBounded = (info: string) => !['', '0'].includes(valueIn(info, 'maxmemory'));

function memoryOf(info: string): string {
  const bytes = isBounded(info) ? valueIn(info, 'maxmemory_human') : 'not set';
  return `answers; maxmemory ${bytes}, policy ${valueIn(info, 'maxmemory_policy')}`;
}

/**
 * Judges the eviction policy: a Redis that refuses writes when it is full keeps old entries and takes no new ones. One that drops keys
 * by chance, or those with the shortest time to live, drops leases, so that one query runs several times.
 */
function judgeMemory(info: string, holdsTokens: boolean): SetupProblem[] {
  const right = holdsTokens ? /^volatile-l[rf]u$/ : /^allkeys-l[rf]u$/;
  if (isBounded(info) && right.test(valueIn(info, 'maxmemory_policy'))) return [];
  const fix = holdsTokens
    ? 'set maxmemory, and maxmemory-policy volatile-lru: entries have a time to live, tokens have none and must stay'
    : 'set maxmemory, and maxmemory-policy allkeys-lru: an entry that was not read is the one to go';
  return [{ found: memoryOf(info), fix }];
}
