import { randomBytes, randomUUID } from 'node:crypto';
import type { Attributes } from '@opentelemetry/api';
import { ReplyError } from 'ioredis';
import { inSpanOfRequest } from '../base/spans.ts';
import { connectRedis, type RedisConnections, redisPrefix } from './connect-redis.ts';
import { type Claim, type Store, type StoreMessage, tombstoneMs, versionBytes } from './store.ts';
import { StoreError } from './store-error.ts';
import { subscribeToRedis } from './subscribe-to-redis.ts';
import { watchConnection } from './watch-connection.ts';

type RedisStoreOptions = {
  /** A URL that `checkRedisUrl` accepts. */
  readonly url: string;
  /** Names the rows that values are made of; stores of other rows in the same Redis share nothing with this one. Default: rows without a name. */
  readonly warehouse?: string | undefined;
  /** Maximum milliseconds that a call waits for Redis (contract 5.13). Default 50. */
  readonly deadlineMs?: number;
};

/** How long Redis remembers a generation: longer than any value that was made under it is kept. */
const generationMs = 90 * 86_400_000;

/**
 * Makes a store in Redis, shared by all gateways. Redis need not be reachable: calls reject at once while it is not, and
 * within the deadline if it is frozen; it is used again as soon as it answers.
 * @throws Error if the URL can't be used
 */
export function createRedisStore({ url, warehouse, deadlineMs = 50 }: RedisStoreOptions): Store {
  const { valueKey, leaseKey, groupKey, channel } = namesIn(warehouse);
  const { client, readAll, watchProgress, openSubscriber } = connectRedis(url);
  const { answer, ping } = answersOf(client, { deadlineMs, watchProgress });
  const closing = new AbortController();
  const { deliver, subscribe, clear } = createSubscribers();
  void subscribeToRedis({ openSubscriber, deliver, channel, signal: closing.signal });

  return {
    async read(keys, groups) {
      if (keys.length + groups.length === 0) return { values: [], generations: [] };
      const names = [...groups.map(groupKey), ...keys.map(valueKey)];
      const found = await readInTurns(names, some => answer(reading(some), () => readAll(some)));
      return {
        values: found.slice(groups.length).map(value => value || undefined),
        generations: found.slice(0, groups.length).map(generation => String(generation ?? '')),
      };
    },
    async claim(key, { token, leaseMs, knownVersion = Buffer.alloc(0) }) {
      const reply = await answer(script('sqgClaim', valueKey(key)), () =>
        client.sqgClaimBuffer(valueKey(key), leaseKey(key), token, wholeMs(leaseMs), knownVersion),
      );
      return toClaim(reply);
    },
    async extend(key, token, leaseMs) {
      return (
        (await answer(script('sqgExtend', valueKey(key)), () =>
          client.sqgExtend(valueKey(key), leaseKey(key), token, wholeMs(leaseMs)),
        )) === 1
      );
    },
    async publish(key, token, value, ttlMs) {
      const message = toText({ type: 'published', key });
      const reply = await answer(script('sqgPublish', valueKey(key)), () =>
        client.sqgPublish(valueKey(key), leaseKey(key), token, value, wholeMs(ttlMs), channel, message),
      );
      return reply === 1;
    },
    async release(key, token, failurePayload) {
      const message = toText({ type: 'released', key, failurePayload });
      await answer(script('sqgRelease', valueKey(key)), () =>
        client.sqgRelease(valueKey(key), leaseKey(key), token, channel, message),
      );
    },
    async join(key, caller) {
      await answer({ name: 'PUBLISH' }, () =>
        client.publish(channel, toText({ type: 'joined', key, caller })),
      );
    },
    async remove(key) {
      const message = [channel, toText({ type: 'removed', key })] as const;
      await answer(script('sqgRemove', valueKey(key)), () =>
        client.sqgRemove(valueKey(key), leaseKey(key), randomBytes(versionBytes), tombstoneMs, ...message),
      );
    },
    async bumpGeneration(group) {
      const generation = randomUUID();
      const message = toText({ type: 'group', group, generation });
      await answer(script('sqgBumpGeneration', groupKey(group)), () =>
        client.sqgBumpGeneration(groupKey(group), generation, generationMs, channel, message),
      );
    },
    subscribe,
    ping,
    async close() {
      clear();
      closing.abort();
      client.disconnect();
    },
  };
}

/** Reads values; those that did not fit into one answer take further commands. */
async function readInTurns(
  names: readonly string[],
  read: (names: readonly string[]) => Promise<(Buffer | null | 0)[]>,
): Promise<(Buffer | null | 0)[]> {
  const found = await read(names);
  for (;;) {
    const left = [...found.keys()].filter(at => found[at] === 0);
    if (left.length === 0) return found;
    const more = await read(left.map(at => names[at]!));
    for (const [place, at] of left.entries()) found[at] = more[place]!;
  }
}

/** The Redis keys of a store, and the one channel on which its gateways publish messages. */
function namesIn(warehouse: string | undefined) {
  const prefix = redisPrefix(warehouse);
  return {
    // The braces keep value and lease of a key in one slot of a Cluster, so that scripts may use both.
    valueKey: (key: string) => `${prefix}{${key}}:v`,
    leaseKey: (key: string) => `${prefix}{${key}}:l`,
    groupKey: (group: string) => `${prefix}g:{${group}}`,
    channel: `${prefix}messages`,
  };
}

const wholeMs = (ms: number) => Math.max(1, Math.ceil(ms));
const toText = (message: StoreMessage) => JSON.stringify(message);

function toClaim([state, detail]: [state: Buffer, detail?: Buffer | number]): Claim {
  if (Buffer.isBuffer(detail)) return { state: 'changed', value: detail };
  return state.toString() === 'held' ? { state: 'held', forMs: Number(detail) } : { state: 'granted' };
}

/** The subscribers of the store; a new one receives the state of the connection at once. */
function createSubscribers() {
  const listeners = new Set<(message: StoreMessage) => void>();
  let connection: StoreMessage = { type: 'disconnected' };
  return {
    deliver(message: StoreMessage) {
      if (message.type === 'connected' || message.type === 'disconnected') connection = message;
      for (const listener of listeners) listener(message);
    },
    subscribe(listener: (message: StoreMessage) => void) {
      listeners.add(listener);
      listener(connection);
    },
    clear: () => listeners.clear(),
  };
}

/** A command of Redis, as a span shows it: without keys, which name a caller's parameters. */
type Command = {
  readonly name: string;
  readonly attributes?: Attributes;
  /** The keys that it uses; never shown. */
  readonly keys?: readonly string[];
};

/** The read of all keys that were requested in one turn of the event loop. */
const reading = (keys: readonly string[]): Command => ({
  name: 'MGET',
  keys,
  attributes: keys.length > 1 ? { 'db.operation.batch.size': keys.length } : {},
});

const script = (name: string, key: string): Command => ({
  name: 'EVALSHA',
  keys: [key],
  attributes: { 'db.stored_procedure.name': name },
});

type Deadline = {
  readonly deadlineMs: number;
  readonly watchProgress: RedisConnections['watchProgress'];
};

/** Makes the function that sends all commands: each answers in time, or rejects with a StoreError that names the known cause. */
function answersOf(client: RedisConnections['client'], deadline: Deadline) {
  const reason = watchConnection(client);
  /** Keys of the last command without an answer: in a Cluster, only the node that has them may be gone. */
  let unanswered: readonly string[] = [];

  async function answer<T>({ name, attributes, keys }: Command, send: () => Promise<T>): Promise<T> {
    try {
      const all = { 'db.system.name': 'redis', 'db.operation.name': name, ...attributes };
      return await inSpanOfRequest(name, { kind: 'client', attributes: all }, () =>
        withDeadline(send(), deadline),
      );
    } catch (error) {
      const isRefusal = error instanceof ReplyError;
      if (keys && !isRefusal) unanswered = keys;
      const message = error instanceof LateError ? `Redis does not answer: ${error.message}` : reason(error);
      throw new StoreError(message, { cause: error, isRefusal });
    }
  }

  /** Resolves if Redis answers: after a failure, for the keys for which it did not answer then. */
  async function ping(): Promise<void> {
    const asked = unanswered;
    if (asked.length === 0) await answer({ name: 'PING' }, () => client.ping());
    else
      await answer({ name: 'GETRANGE' }, () => Promise.all(asked.map(name => client.getrange(name, 0, 0))));
    // Another command may have failed meanwhile.
    if (unanswered === asked) unanswered = [];
  }

  return { answer, ping };
}

class LateError extends Error {}

/** Deadlines that a command may miss while bytes move: a large value takes time, and so does every command behind it. */
const maxDeadlines = 10;

/**
 * Rejects if the deadline passes before the result and no bytes have moved meanwhile; a later result is ignored. No bytes move to or
 * from a Redis, or a node of a Cluster, that is frozen or gone, whatever the other nodes do.
 */
function withDeadline<T>(command: Promise<T>, { deadlineMs, watchProgress }: Deadline): Promise<T> {
  return new Promise((resolve, reject) => {
    let missed = 0;
    let isMoving = watchProgress();
    const expire = () => {
      missed++;
      if (isMoving() && missed < maxDeadlines) {
        isMoving = watchProgress();
        timer = startTimer();
      } else {
        reject(new LateError(`no answer within ${missed * deadlineMs} ms`));
      }
    };
    // If this process was busy for that long, the answer may have arrived unread: it is read before the immediate runs.
    const startTimer = () => setTimeout(() => setImmediate(expire), deadlineMs);
    let timer = startTimer();
    command.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
