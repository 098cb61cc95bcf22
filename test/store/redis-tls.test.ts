import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { createRedisStore } from '../../src/store/redis-store.ts';
import { freePort, type RedisServer, startRedisServer } from '../support/redis-server.ts';
import { openListening } from './open-listening.ts';

const run = promisify(execFile);

let directory: string;
let server: RedisServer;
let caFile: string;
let address: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'redis-tls-'));
  caFile = join(directory, 'cert.pem');
  const keyFile = join(directory, 'key.pem');
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost'];
  const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
  await run('openssl', ['req', '-x509', ...made, '-keyout', keyFile, '-out', caFile, ...names]);
  const port = await freePort();
  const files = ['--tls-cert-file', caFile, '--tls-key-file', keyFile, '--tls-auth-clients', 'no'];
  server = await startRedisServer({
    settings: [
      '--tls-port',
      String(port),
      ...files,
      '--user',
      'gateway',
      'on',
      '>p@ss:word',
      '~*',
      '&*',
      '+@all',
    ],
  });
  address = `rediss://gateway:p%40ss%3Aword@127.0.0.1:${port}/3`;
});
afterAll(async () => {
  await server.stop();
  await rm(directory, { recursive: true });
});

test('trusts the authority that the URL names, and signs in with its user and database', async () => {
  const { store, hearing } = await openListening(`${address}?ca=${encodeURIComponent(caFile)}`);
  onTestFinished(() => store.close());
  await store.remove('k');
  await vi.waitFor(() => expect(hearing).toEqual(['listening', 'removed']));
  expect(await server.command('INFO keyspace')).toContain('db3:keys=1');
});

test('trusts no certificate that nobody vouches for, and says so', async () => {
  const store = createRedisStore({ url: address });
  onTestFinished(() => store.close());
  await vi.waitFor(() => expect(store.ping()).rejects.toThrow(/self-signed certificate/), { timeout: 5000 });
});

test('refuses at once a file of certificates that is not there', () => {
  expect(() => createRedisStore({ url: `${address}?ca=/nowhere/ca.pem` })).toThrow(/\/nowhere\/ca\.pem/);
});
