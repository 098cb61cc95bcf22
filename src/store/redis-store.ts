import { randomBytes, randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { connectRedis } from './connect-redis.ts';
import { redisScripts } from './redis-scripts.ts';
import { markMs, type Store, type StoreNews, versionBytes } from './store.ts';
import { StoreError } from './store-error.ts';

type RedisStoreOptions = {
  /** `redis://` or `rediss://`. */
  readonly url: string;
  /** Milliseconds a call takes at most (contract section 5). Default 50. */
  readonly deadlineMs?: number;
};

/** Hash tags: a key's value and its lease are on one node of a cluster. The 2 is the layout of all of this. */
const valueKey = (key: string) => `sqg:2:{${key}}:v`;
const leaseKey = (key: string) => `sqg:2:{${key}}:l`;
const groupKey = (group: string) => `sqg:2:g:{${group}}`;
const channel = 'sqg:2:news';

/** Longer than any value lives. */
const generationMs = 90 * 86_400_000;

/**
 * Makes a store in Redis, shared by all gateways. Redis need not be there: calls reject at once while it is not, and
 * within the deadline where it is frozen; it is used again as soon as it answers.
 */
export function createRedisStore({ url, deadlineMs = 50 }: RedisStoreOptions): Store {
  const commands = connectRedis(url, { scripts: redisScripts }) as ScriptedRedis; // it has just defined them
  const news = listenForNews(url);
  const ask = <T>(run: (redis: ScriptedRedis) => Promise<T>) => answerInTime(run(commands), deadlineMs);
  return {
    ...values(ask),
    ...leases(ask),
    renewGroup: group => {
      const generation = randomUUID();
      const text = textOf({ type: 'group', group, generation });
      return ask(async redis => {
        await redis.storeRenewGroup(groupKey(group), channel, text, generation, generationMs);
      });
    },
    subscribe: news.subscribe,
    ping: () => ask(async redis => void (await redis.ping())),
    async close() {
      news.close();
      commands.disconnect();
    },
  };
}

type Ask = <T>(run: (redis: ScriptedRedis) => Promise<T>) => Promise<T>;

function values(ask: Ask): Pick<Store, 'read' | 'publish' | 'remove'> {
  return {
    read: (keys, groups) =>
      ask(async redis => {
        const found = await redis.mgetBuffer(...keys.map(valueKey), ...groups.map(groupKey));
        return {
          values: found.slice(0, keys.length).map(value => value ?? undefined),
          generations: found.slice(keys.length).map(value => String(value ?? '')),
        };
      }),
    publish: (key, token, value, ttlMs) =>
      ask(async redis => {
        const text = textOf({ type: 'published', key });
        const keptMs = Math.max(1, Math.ceil(ttlMs));
        return (await redis.storePublish(...keysOf(key), channel, text, token, value, keptMs)) === 1;
      }),
    remove: key =>
      ask(async redis => {
        const text = textOf({ type: 'removed', key });
        await redis.storeRemove(...keysOf(key), channel, text, randomBytes(versionBytes), markMs);
      }),
  };
}

function leases(ask: Ask): Pick<Store, 'claim' | 'renew' | 'release'> {
  return {
    claim: (key, { token, leaseMs, knownVersion }) =>
      ask(async redis => {
        const reply = await redis.storeClaimBuffer(...keysOf(key), token, leaseMs, knownVersion ?? '');
        if (typeof reply !== 'number') return { state: 'changed', value: reply };
        return reply === 0 ? { state: 'granted' } : { state: 'held', forMs: reply };
      }),
    renew: (key, token, leaseMs) =>
      ask(async redis => (await redis.storeRenew(...keysOf(key), token, leaseMs)) === 1),
    release: (key, token, note) =>
      ask(async redis => {
        await redis.storeRelease(...keysOf(key), channel, textOf({ type: 'released', key, note }), token);
      }),
  };
}

const keysOf = (key: string) => [valueKey(key), leaseKey(key)] as const;

const textOf = (news: StoreNews) => JSON.stringify(news);

/** A connection of its own, which says when it hears nothing. */
function listenForNews(url: string): Pick<Store, 'subscribe'> & { close(): void } {
  const connection = connectRedis(url, {});
  const listeners: ((news: StoreNews) => void)[] = [];
  let isListening = false;
  const tell = (news: StoreNews) => {
    for (const listener of listeners) listener(news);
  };
  const setListening = (next: boolean) => {
    if (next === isListening) return;
    isListening = next;
    tell({ type: next ? 'listening' : 'deaf' });
  };
  connection.on('ready', () => {
    connection.subscribe(channel).then(
      () => setListening(true),
      () => connection.disconnect(true),
    );
  });
  connection.on('close', () => setListening(false));
  connection.on('message', (_channel: string, text: string) => tell(JSON.parse(text)));
  return {
    subscribe(listener) {
      listeners.push(listener);
      listener({ type: isListening ? 'listening' : 'deaf' });
    },
    close() {
      connection.removeAllListeners('close');
      connection.disconnect();
    },
  };
}

async function answerInTime<T>(reply: Promise<T>, deadlineMs: number): Promise<T> {
  try {
    return await withDeadline(reply, deadlineMs);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const isRefusal = error instanceof Error && error.name === 'ReplyError';
    throw new StoreError(`Redis did not answer: ${message}`, { cause: error, isRefusal });
  }
}

type Script<Reply> = (...args: (string | number | Buffer)[]) => Promise<Reply>;

/** A client with the scripts as commands. */
type ScriptedRedis = Redis & {
  readonly storeClaimBuffer: Script<number | Buffer>;
  readonly storeRenew: Script<number>;
  readonly storePublish: Script<number>;
  readonly storeRelease: Script<number>;
  readonly storeRemove: Script<number>;
  readonly storeRenewGroup: Script<number>;
};

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
