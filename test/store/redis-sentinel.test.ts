import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { startRedisSentinel } from '../support/redis-sentinel.ts';
import { openSubscribed } from './open-subscribed.ts';

test('finds the master by the Sentinel that answers, and follows a failover', async () => {
  const servers = await startRedisSentinel();
  onTestFinished(() => servers.stop());
  const mute = await startMuteServer();
  const { store, received } = await openSubscribed(servers.url.replace('//', `//127.0.0.1:${mute},`));
  onTestFinished(() => store.close());
  await store.bumpGeneration('g');
  const before = await store.read([], ['g']);
  expect(before.generations[0]).not.toBe('');
  // A failover needs a replica that Sentinel knows, and that has what the master has.
  await vi.waitFor(async () => {
    expect(await servers.replica.command('INFO replication')).toMatch(/master_link_status:up/);
    expect(await servers.sentinel.command('SENTINEL REPLICAS results')).toContain(
      String(servers.replica.port),
    );
  });

  await servers.freezeMaster();
  await vi.waitFor(() => store.bumpGeneration('g'));
  expect(await servers.replica.command('ROLE')).toContain('master');
  expect(await store.read([], ['g'])).not.toEqual(before);
  await vi.waitFor(() => expect(received.slice(1)).toContain('disconnected'));
  await vi.waitFor(async () => {
    await store.remove('k');
    expect(received.at(-1)).toBe('removed');
  });
});

/** Listens like a Sentinel that is frozen. @returns its port */
async function startMuteServer(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port; // it listens on TCP
}
