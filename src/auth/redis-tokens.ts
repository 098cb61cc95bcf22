import { connectRedis } from '../store/connect-redis.ts';
import { subscribeToRedis } from '../store/subscribe-to-redis.ts';
import { watchConnection } from '../store/watch-connection.ts';
import { parseRecords, type TokenRecords } from './token-record.ts';
import { changedMessage, tokenScripts } from './token-scripts.ts';
import type { TotalUsage, Usage, UsageLedger } from './usage/usage-ledger.ts';

/** The records and the use of tokens in a Redis that all gateways share. */
export type RedisTokens = {
  readonly records: TokenRecords;
  readonly ledger: UsageLedger;
  /** Notifies all gateways that the records have changed, wherever they are kept. */
  publish(): Promise<void>;
  /** Calls back whenever the records may have changed. */
  subscribe(listener: () => void): void;
  /** Resolves once Redis answers; rejects if it does not within this time. */
  ready(timeoutMs: number): Promise<void>;
  close(): void;
};

// The braces keep all keys of one script in one slot of a Cluster. 1 is the version of the stored format.
const recordsKey = 'sqg:1:{tokens}:records';
const versionKey = 'sqg:1:{tokens}:version';
const channel = 'sqg:1:tokens';
const usageKey = (tokenId: string) => `sqg:1:{t:${tokenId}}:usage`;

/** Attempts of a command whose change collides with others'. */
const maxAttempts = 20;

/**
 * Keeps tokens, and their use, in Redis. Calls reject while it does not answer.
 * @throws Error if the URL can't be used
 */
export function openRedisTokens(url: string): RedisTokens {
  const { client, openSubscriber } = connectRedis(url);
  const reason = watchConnection(client);
  for (const [name, { lua, numberOfKeys }] of Object.entries(tokenScripts)) {
    client.defineCommand(name, { lua, numberOfKeys });
  }
  // The client has a method for each defined command; its types don't know them.
  const scripts = client as unknown as Record<
    keyof typeof tokenScripts,
    (...args: (string | number)[]) => Promise<unknown>
  >;
  const closing = new AbortController();
  const named = <Answer>(answer: Promise<Answer>): Promise<Answer> =>
    answer.catch((error: unknown) => {
      throw new Error(reason(error), { cause: error });
    });

  async function change(change: Parameters<TokenRecords['change']>[0]): Promise<void> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const [version, all] = [await readVersion(), await readRecords()];
      const text = JSON.stringify(change(all));
      if ((await named(scripts.sqgTokensReplace(recordsKey, versionKey, version, text, channel))) === 1)
        return;
    }
    throw new Error('The tokens in Redis are changed by others all the time; try again');
  }

  const readVersion = async () => (await named(client.get(versionKey))) ?? '';
  const readRecords = async () => readStored((await named(client.get(recordsKey))) ?? '[]');

  async function exchangeOne({ tokenId, rates, bytes, day, usedAtMs }: Usage): Promise<TotalUsage> {
    const lists = rates.flatMap(({ name, intervalMs, count }) => [name, intervalMs, count]);
    const args = [usageKey(tokenId), rates.length, ...lists, bytes, day, usedAtMs];
    const [bytesOfDay, bytesOfMonth, ...debts] = (await named(scripts.sqgTokenUsage(...args))) as string[]; // as the script says
    return {
      bytesOfDay: Number(bytesOfDay),
      bytesOfMonth: Number(bytesOfMonth),
      debtsMs: debts.map(Number),
    };
  }

  return {
    records: {
      place: 'the Redis of REDIS_URL',
      isRemote: true,
      read: readRecords,
      version: readVersion,
      change,
    },
    ledger: {
      intervalMs: 100,
      isShared: true,
      exchange: used => Promise.all(used.map(exchangeOne)),
      async lastUses(tokenIds) {
        const uses = await Promise.all(tokenIds.map(id => client.hget(usageKey(id), 'used')));
        return new Map(tokenIds.flatMap((id, at) => (uses[at] ? [[id, Number(uses[at])]] : [])));
      },
      close: async () => undefined,
    },
    async publish() {
      await client.publish(channel, changedMessage);
    },
    subscribe(listener) {
      // A message may have been missed before each connection.
      void subscribeToRedis({ channel, openSubscriber, deliver: () => listener(), signal: closing.signal });
    },
    async ready(timeoutMs) {
      const until = Date.now() + timeoutMs;
      for (;;) {
        const failure = await client.ping().then(() => undefined, reason);
        if (failure === undefined) return;
        if (Date.now() > until) throw new Error(failure);
        await new Promise(resolve => setTimeout(resolve, 20));
      }
    },
    close() {
      closing.abort();
      client.disconnect();
    },
  };
}

function readStored(text: string): ReturnType<typeof parseRecords> {
  try {
    return parseRecords(text);
  } catch (error) {
    throw new Error(`The tokens in Redis can't be read: ${String(error)}`);
  }
}
