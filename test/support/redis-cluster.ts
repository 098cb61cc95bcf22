import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, type RedisServer, startRedisServer } from './redis-server.ts';

/** Three masters that share all slots. */
export type RedisCluster = {
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  /** Kills them all. */
  stop(): Promise<void>;
};

const slotRanges = ['0 5460', '5461 10922', '10923 16383'];

/** Starts a Cluster of three masters without replicas, and waits until each of them calls it well. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const directory = await mkdtemp(join(tmpdir(), 'redis-cluster-'));
  const nodes: RedisServer[] = [];
  const stop = async () => {
    await Promise.all(nodes.map(node => node.stop()));
    await rm(directory, { recursive: true });
  };
  try {
    for (const range of slotRanges) await addNode(nodes, range, directory);
    await Promise.all(nodes.map(isWell));
  } catch (error) {
    await stop();
    throw error;
  }
  return { url: `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`, nodes, stop };
}

async function addNode(nodes: RedisServer[], range: string, directory: string): Promise<void> {
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
  const node = await startRedisServer({ port, settings: [...files, ...cluster] });
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
