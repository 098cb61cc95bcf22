import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { type RedisLock, type RedisServer, startRedisServer } from './redis-server.ts';

/** Three masters that share all slots. */
export type RedisCluster = {
  readonly url: string;
  /** `host:port` of all nodes, joined by commas; each says that this is its name. */
  readonly hosts: string;
  readonly nodes: readonly RedisServer[];
  /** Kills them all. */
  stop(): Promise<void>;
};

const slotRanges = ['0 5460', '5461 10922', '10923 16383'];

/** Starts a Cluster of three masters without replicas, and waits until each of them calls it well. */
export async function startRedisCluster(lock: RedisLock = {}): Promise<RedisCluster> {
  const directory = await mkdtemp(join(tmpdir(), 'redis-cluster-'));
  const nodes: RedisServer[] = [];
  const stop = async () => {
    await Promise.all(nodes.map(node => node.stop()));
    await rm(directory, { recursive: true });
  };
  try {
    for (const range of slotRanges) await addNode(nodes, { range, directory, lock });
    await Promise.all(nodes.map(isWell));
  } catch (error) {
    await stop();
    throw error;
  }
  // A certificate is for a name; whoever asks for an address has none to compare.
  const host = lock.certificate ? 'localhost' : '127.0.0.1';
  const hosts = nodes.map(({ port }) => `${host}:${port}`).join(',');
  return { url: `redis+cluster://${hosts}`, hosts, nodes, stop };
}

type NodeOptions = { readonly range: string; readonly directory: string; readonly lock: RedisLock };

async function addNode(nodes: RedisServer[], { range, directory, lock }: NodeOptions): Promise<void> {
  const [port, busPort] = [await freePort(), await freePort()];
  const files = ['--dir', directory, '--cluster-config-file', `nodes-${port}.conf`];
  const cluster = [
    '--cluster-enabled',
    'yes',
    '--cluster-port',
    String(busPort),
    '--cluster-node-timeout',
    '2000',
  ];
  const named = ['--cluster-announce-hostname', 'localhost', '--cluster-preferred-endpoint-type', 'hostname'];
  const settings = [...files, ...cluster, ...(lock.certificate ? named : [])];
  const node = await startRedisServer({ port, settings, lock });
  nodes.push(node);
  await node.command(`CLUSTER ADDSLOTSRANGE ${range}`);
  await node.command(`CLUSTER SET-CONFIG-EPOCH ${nodes.length}`);
  if (nodes.length > 1) await nodes[0]!.command(`CLUSTER MEET 127.0.0.1 ${port} ${busPort}`);
}

async function isWell(node: RedisServer): Promise<void> {
  const deadlineMs = Date.now() + 30_000;
  while (Date.now() < deadlineMs) {
    if ((await node.command('CLUSTER INFO')).includes('cluster_state:ok')) return;
    await new Promise(resolve => setTimeout(resolve, 50));
  }
  throw new Error(`The Cluster of port ${node.port} was not well within 30 s`);
}
