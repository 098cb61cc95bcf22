import { readFileSync } from 'node:fs';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { type RedisScripts, redisScripts } from './redis-scripts.ts';
import { parseRedisUrl, type RedisAddress } from './redis-url.ts';

/** Connections to one Redis: a single server, Sentinels or a Cluster. */
export type RedisConnections = {
  /** For commands; reconnects by itself, and rejects at once while it is not connected. */
  readonly client: (Redis | Cluster) & RedisScripts;
  /** Reads values in one round trip: null if there is none, 0 if it must be read separately because the others are large. */
  readAll(keys: readonly string[]): Promise<(Buffer | null | 0)[]>;
  /**
   * Starts to watch the servers that owe answers now.
   * @returns a function: whether each of them has sent or received bytes since, or owes no answer any more
   */
  watchProgress(): () => boolean;
  /** Makes a connection to subscribe with. It is not open yet, and does not reconnect when it is lost. */
  openSubscriber(): Redis;
};

// Without these a client waits for a frozen or absent server for seconds.
const timeouts = {
  maxRetriesPerRequest: 0,
  connectTimeout: 1000,
  commandTimeout: 1000,
  /** A connection that is silent for this long while an answer is due is dropped: its server may have been replaced. */
  socketTimeout: 1000,
  sentinelCommandTimeout: 1000,
} satisfies RedisOptions;

const retryDelayMs = (attempt: number) => Math.min(50 * attempt, 1000);

/**
 * Makes the connections for a URL. Redis need not be reachable.
 * @param url that `checkRedisUrl` accepts
 * @throws Error if the URL or the file of its certificate authority can't be read
 */
export function connectRedis(url: string): RedisConnections {
  const address = parseRedisUrl(url);
  if (typeof address === 'string') throw new Error(`REDIS_URL can't be used. ${address}.`);
  const options = connectionOptions(address);
  return address.topology.type === 'cluster' ? connectCluster(address, options) : connectOne(options);
}

function connectOne(options: RedisOptions): RedisConnections {
  const redis = new Redis({
    ...options,
    enableOfflineQueue: false,
    scripts: redisScripts,
    retryStrategy: retryDelayMs,
    sentinelRetryStrategy: retryDelayMs,
    // A demoted master answers READONLY: reconnecting finds the new one.
    reconnectOnError: error => error.message.startsWith('READONLY'),
  });
  return {
    client: withScripts(redis),
    // Two keys are a value and its generation. More keys are limited in bytes, because all other clients of Redis wait for the command.
    readAll: keys =>
      keys.length <= 2
        ? redis.mgetBuffer(...keys)
        : withScripts(redis).sqgReadBuffer(keys.length, ...keys, maxReadBytes),
    watchProgress: () => watchProgressOf([redis]),
    openSubscriber: () => new Redis({ ...options, ...subscriberOptions }),
  };
}

function connectCluster(address: RedisAddress, options: RedisOptions): RedisConnections {
  const cluster = new Cluster([...address.hosts], {
    enableOfflineQueue: false,
    scripts: redisScripts,
    redisOptions: options,
    // Names are not resolved here: certificates are checked against host names, and few are issued for addresses.
    dnsLookup: (name, done) => done(null, name),
    clusterRetryStrategy: retryDelayMs,
    // A node that replaced another one is found by polling.
    slotsRefreshInterval: 1000,
  });
  // Otherwise the first command would connect the node, and would exceed its time-out.
  cluster.on('+node', (node: Redis) => void node.connect().catch(() => undefined));
  let attempts = 0;
  return {
    client: withScripts(cluster),
    // Keys live on different nodes, so there is no MGET.
    readAll: keys => Promise.all(keys.map(key => cluster.getBuffer(key))),
    watchProgress: () => watchProgressOf(cluster.nodes('all')),
    // Every node gets every message; if one does not answer, the next attempt takes the next node.
    openSubscriber: () =>
      new Redis({ ...options, ...address.hosts[attempts++ % address.hosts.length], ...subscriberOptions }),
  };
}

/** Maximum bytes of values that one command reads, unless the first value alone is longer. */
const maxReadBytes = 8 * 1024 * 1024;

function watchProgressOf(nodes: readonly Redis[]): () => boolean {
  const owing = nodes.filter(owesAnswers).map(node => ({ node, before: movedBy(node) }));
  return () =>
    owing.length > 0 && owing.every(({ node, before }) => movedBy(node) > before || !owesAnswers(node));
}

const owesAnswers = ({ commandQueue }: Redis) => commandQueue.length > 0;

/** Grows while bytes go out to Redis or come in from there. */
function movedBy({ stream }: Redis): number {
  // Before the first connection there is no stream, whatever its type says.
  return stream ? stream.bytesRead - stream.writableLength : 0;
}

const subscriberOptions = {
  lazyConnect: true,
  retryStrategy: () => null,
  sentinelRetryStrategy: () => null,
} satisfies RedisOptions;

function connectionOptions(address: RedisAddress): RedisOptions {
  const { topology, hosts, username, password, sentinelUsername, sentinelPassword, tls } = address;
  const tlsOptions = tls && { ca: tls.caFile && readFileSync(tls.caFile) };
  const options: RedisOptions = { ...timeouts, username, password, tls: tlsOptions };
  if (topology.type === 'cluster') return options;
  if (topology.type === 'single') return { ...options, ...hosts[0], db: topology.db };
  return {
    ...options,
    db: topology.db,
    sentinels: [...hosts],
    name: topology.masterName,
    sentinelUsername,
    sentinelPassword,
    sentinelTLS: tlsOptions,
    enableTLSForSentinelMode: tls !== undefined,
  };
}

function withScripts<Client extends Redis | Cluster>(client: Client): Client & RedisScripts {
  // The client makes these methods from `scripts`; its types don't know them.
  return client as Client & RedisScripts;
}

/**
 * The prefix of all names that gateways share in Redis. 2 is the version of the formats stored there: gateways with other formats use
 * another version.
 * @param warehouse names the rows that the stored data comes from. Default: rows without a name
 */
export function redisPrefix(warehouse: string | undefined): string {
  return warehouse === undefined ? 'sqg:2:' : `sqg:2:${warehouse}:`;
}
