import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createRedisStore } from '../../src/store/redis-store.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { startRedisSentinel } from '../support/redis-sentinel.ts';
import { startRedisServer } from '../support/redis-server.ts';
import { makeTestCertificate, type TestCertificate } from '../support/test-certificate.ts';
import { openSubscribed } from './open-subscribed.ts';

/** For addresses of loopback, as Sentinels and single servers are asked for; and for a name alone, as nodes of a Cluster say. */
let forAddress: TestCertificate;
let forName: TestCertificate;
beforeAll(async () => {
  [forAddress, forName] = await Promise.all([
    makeTestCertificate('IP:127.0.0.1', 'DNS:localhost'),
    makeTestCertificate('DNS:localhost'),
  ]);
});
afterAll(() => Promise.all([forAddress.remove(), forName.remove()]));

const caOf = ({ certificateFile }: TestCertificate) => `ca=${encodeURIComponent(certificateFile)}`;

/** Opens a store, and sees it write, read and receive a message. */
async function expectInUse(url: string) {
  const { store, received } = await openSubscribed(url);
  onTestFinished(() => store.close());
  await store.remove('k');
  expect((await store.read(['k'], [])).values[0]).toBeDefined();
  await vi.waitFor(() => expect(received).toEqual(['connected', 'removed']));
  return { store, received };
}

async function expectRefusal(url: string, message: RegExp): Promise<void> {
  const store = createRedisStore({ url });
  onTestFinished(() => store.close());
  await vi.waitFor(() => expect(store.ping()).rejects.toThrow(message));
}

describe('one server', () => {
  let address: string;
  beforeAll(async () => {
    const user = ['--user', 'gateway', 'on', '>p@ss:word', '~*', '&*', '+@all'];
    const server = await startRedisServer({ lock: { certificate: forAddress }, settings: user });
    address = `gateway:p%40ss%3Aword@127.0.0.1:${server.port}/3`;
    return async () => {
      expect(await server.command('INFO keyspace')).toContain('db3:keys=1');
      await server.stop();
    };
  });

  test('trusts the authority that the URL names, and signs in with its user and database', async () => {
    await expectInUse(`rediss://${address}?${caOf(forAddress)}`);
  });

  test('trusts no certificate that nobody vouches for, and says so', () =>
    expectRefusal(`rediss://${address}`, /self-signed certificate/));

  test('refuses at once a file of certificates that is not there', () => {
    expect(() => createRedisStore({ url: `rediss://${address}?ca=/nowhere/ca.pem` })).toThrow(
      /\/nowhere\/ca\.pem/,
    );
  });
});

describe('Sentinel', () => {
  test('is asked and followed with TLS, with a password of its own, also after a failover', async () => {
    const servers = await startRedisSentinel({
      lock: { certificate: forAddress, password: 'of-redis' },
      sentinelPassword: 'of-sentinel',
    });
    onTestFinished(() => servers.stop());
    const hosts = `127.0.0.1:${servers.sentinel.port}/results?${caOf(forAddress)}`;
    await expectRefusal(`rediss+sentinel://:of-redis@${hosts}`, /sentinels are unreachable.*NOAUTH/);
    const url = `rediss+sentinel://:of-redis@${hosts}&sentinel-password=of-sentinel`;
    const { store } = await expectInUse(url);
    await vi.waitFor(async () => {
      expect(await servers.replica.command('INFO replication')).toMatch(/master_link_status:up/);
      expect(await servers.sentinel.command('SENTINEL REPLICAS results')).toContain(
        String(servers.replica.port),
      );
    });

    await servers.freezeMaster();
    await vi.waitFor(() => store.bumpGeneration('g'));
    expect(await servers.replica.command('ROLE')).toContain('master');
  });
});

describe('Cluster', () => {
  test('is used with TLS and a password; certificates are compared with the names of the nodes', async () => {
    const cluster = await startRedisCluster({ certificate: forName, password: 'of-redis' });
    onTestFinished(() => cluster.stop());
    await expectInUse(`rediss+cluster://:of-redis@${cluster.hosts}?${caOf(forName)}`);
    await expectRefusal(`rediss+cluster://:wrong@${cluster.hosts}?${caOf(forName)}`, /WRONGPASS/);
    await expectRefusal(`rediss+cluster://:of-redis@${cluster.hosts}`, /self-signed certificate/);
  });
});
