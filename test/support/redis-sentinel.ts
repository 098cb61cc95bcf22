import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { launchRedis, type RedisLock, type RedisServer, startRedisServer } from './redis-server.ts';

/** A master, its replica, and the one Sentinel that watches them. */
export type RedisSentinel = {
  readonly url: string;
  readonly master: RedisServer;
  readonly replica: RedisServer;
  readonly sentinel: RedisServer;
  /** Freezes the master, whose connections stay open; the Sentinel calls it down half a second later. */
  freezeMaster(): Promise<void>;
  /** Kills them all. */
  stop(): Promise<void>;
};

const masterName = 'results';

type SentinelLocks = {
  /** Of master and replica. */
  readonly lock?: RedisLock;
  /** The Sentinel's own password. */
  readonly sentinelPassword?: string;
};

/** Starts a master, a replica that follows it and a Sentinel, in whose eyes no busy machine makes the master one that is down. */
export async function startRedisSentinel(locks: SentinelLocks = {}): Promise<RedisSentinel> {
  const { lock = {}, sentinelPassword } = locks;
  const master = await startRedisServer({ lock });
  const replica = await startRedisServer({
    lock,
    settings: ['--replicaof', '127.0.0.1', String(master.port), '--repl-diskless-sync-delay', '0'],
  });
  const port = await freePort();
  const directory = await mkdtemp(join(tmpdir(), 'redis-sentinel-'));
  const config = join(directory, 'sentinel.conf');
  const settings = [
    ...portSettings(port, lock),
    'bind 127.0.0.1',
    `sentinel monitor ${masterName} 127.0.0.1 ${master.port} 1`,
    `sentinel down-after-milliseconds ${masterName} 600000`,
    `sentinel failover-timeout ${masterName} 3000`,
    ...(lock.password ? [`sentinel auth-pass ${masterName} ${lock.password}`] : []),
    ...(sentinelPassword ? [`requirepass ${sentinelPassword}`] : []),
  ];
  await writeFile(config, `${settings.join('\n')}\n`);
  const ownLock = { ...lock, password: sentinelPassword };
  const sentinel = await launchRedis('redis-server', [config, '--sentinel'], port, ownLock);
  return {
    url: `redis+sentinel://127.0.0.1:${port}/${masterName}`,
    master,
    replica,
    sentinel,
    async freezeMaster() {
      await sentinel.command(`SENTINEL SET ${masterName} down-after-milliseconds 500`);
      process.kill(master.pid, 'SIGSTOP');
    },
    async stop() {
      await Promise.all([master, replica, sentinel].map(server => server.stop()));
      await rm(directory, { recursive: true });
    },
  };
}

function portSettings(port: number, { certificate }: RedisLock): string[] {
  if (!certificate) return [`port ${port}`];
  const { certificateFile, keyFile } = certificate;
  return [
    'port 0',
    `tls-port ${port}`,
    `tls-cert-file ${certificateFile}`,
    `tls-key-file ${keyFile}`,
    `tls-ca-cert-file ${certificateFile}`,
    'tls-auth-clients no',
    // To the master and its replicas, too.
    'tls-replication yes',
  ];
}
