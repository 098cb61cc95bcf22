import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { readScript } from '../../src/commands/run-script.ts';
import { variables } from '../../src/composition/config.ts';
import { endWithProcess } from '../support/end-with-process.ts';
import { freePort } from '../support/free-port.ts';
import { openGateway } from '../support/open-gateway.ts';

const fileOf = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');

type Service = {
  readonly restart?: string;
  readonly mem_limit?: string;
  readonly image?: string;
  readonly ports?: readonly string[];
  readonly command?: readonly string[];
  readonly read_only?: boolean;
  readonly tmpfs?: readonly string[];
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly healthcheck?: { readonly disable?: boolean; readonly test?: readonly string[] };
};

const { services } = parse(fileOf('docker-compose.yml'), { merge: true }) as {
  services: Record<'gateway-1' | 'gateway-2' | 'worker' | 'nginx' | 'redis', Service>;
};
const dockerfile = fileOf('Dockerfile');
const run = promisify(execFile);

test('every service starts again, and has a limit of memory', () => {
  expect(Object.keys(services)).toEqual(['gateway-1', 'gateway-2', 'worker', 'nginx', 'redis']);
  for (const { restart, mem_limit } of Object.values(services)) {
    expect([restart, mem_limit]).toEqual(['unless-stopped', expect.stringMatching(/^\d+[mg]$/)]);
  }
});

test('what a container may write to memory fits into its limit', () => {
  const megabytes = (size = '0m') => Number.parseInt(size, 10) * (size.endsWith('g') ? 1024 : 1);
  for (const { tmpfs = [], mem_limit } of Object.values(services)) {
    const most = tmpfs.map(mount => megabytes(/:size=(\w+)/.exec(mount)?.[1]));
    expect(most.reduce((sum, size) => sum + size, 128)).toBeLessThan(megabytes(mem_limit));
  }
});

test('the only open port is that of nginx, on loopback unless set otherwise', () => {
  const { nginx, ...others } = services;
  expect(nginx.ports).toEqual([expect.stringMatching(/^\$\{BIND:-127\.0\.0\.1\}:/)]);
  expect(Object.values(others).flatMap(({ ports = [] }) => ports)).toEqual([]);
});

test('nothing starts without a password for Redis, and all use it', () => {
  const required = /\$\{REDIS_PASSWORD:\?[^}]+\}/;
  for (const name of ['gateway-1', 'gateway-2', 'worker'] as const) {
    expect(services[name].environment?.REDIS_URL).toMatch(
      new RegExp(`^redis://:${required.source}@redis:6379$`),
    );
  }
  expect(services.redis.environment?.REDIS_PASSWORD).toMatch(required);
});

test('the command line of Redis locks it, and its health check has the key', async () => {
  const port = String(await freePort());
  const env = { ...process.env, REDIS_PASSWORD: 'of5letters', REDISCLI_AUTH: 'of5letters' };
  const [shell = '', ...args] = (services.redis.command ?? []).map(part => part.replaceAll('$$', '$'));
  const script = args.at(-1)?.replace('redis-server', `redis-server --bind 127.0.0.1 --port ${port}`) ?? '';
  const redis = spawn(shell, [...args.slice(0, -1), script], { env, stdio: 'ignore' });
  endWithProcess(redis);
  onTestFinished(async () => {
    const ended = once(redis, 'exit');
    redis.kill('SIGKILL');
    await ended;
  });
  const [kind, check = ''] = services.redis.healthcheck?.test ?? [];
  expect(kind).toBe('CMD-SHELL');
  const look = (environment: NodeJS.ProcessEnv) =>
    run('sh', ['-c', check.replace('redis-cli', `redis-cli -p ${port}`)], { env: environment });
  await vi.waitFor(() => look(env));
  await expect(look({ ...env, REDISCLI_AUTH: '' })).rejects.toMatchObject({ code: 1 });
});

test("the image's health check succeeds while a gateway answers, and fails when it does not", async () => {
  const [, list = ''] = /HEALTHCHECK [^[]*(\[.*\])/.exec(dockerfile.replaceAll('\\\n', '')) ?? [];
  expect(list).not.toBe('');
  const [command, ...args] = JSON.parse(list) as string[];
  const gateway = await openGateway({ now: '2026-01-15T12:00:00Z' });
  const look = () => run(command!, args, { env: { ...process.env, PORT: String(gateway.port) } });
  await look();
  await gateway.close();
  await expect(look()).rejects.toMatchObject({ code: 1 });
  expect(services.worker.healthcheck).toEqual({ disable: true });
});

test('what reads the database starts when the first gateway has written it', () => {
  for (const name of ['gateway-2', 'worker', 'nginx'] as const) {
    expect(services[name].depends_on?.['gateway-1']).toEqual({ condition: 'service_healthy' });
  }
});

test('the root of every container of ours can not be written to', () => {
  const { redis: _, ...others } = services;
  expect(Object.values(others).map(({ read_only }) => read_only)).toEqual([true, true, true, true]);
});

test('the image starts a gateway, and Compose a worker, as npm does', () => {
  const commandOf = (script: 'start' | 'worker') => {
    const { args, environment } = readScript(script);
    const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    expect(variables).toHaveLength(2);
    expect(dockerfile).toContain(` ${variables.join(' ')}\n`);
    return ['node', ...args];
  };
  const [, list = ''] = /^CMD (\[.*\])$/m.exec(dockerfile) ?? [];
  expect(JSON.parse(list)).toEqual(commandOf('start'));
  expect(services.worker.command).toEqual(commandOf('worker'));
});

test('the override for BigQuery sets variables that are there, for every gateway and worker', () => {
  const override = parse(fileOf('docker-compose.bigquery.yml'), { merge: true });
  expect(Object.keys(override.services)).toEqual(['gateway-1', 'gateway-2', 'worker']);
  for (const { environment } of Object.values<Service>(override.services)) {
    const { GOOGLE_APPLICATION_CREDENTIALS: file, ...ours } = environment ?? {};
    expect(file).toBe('/run/secrets/credentials');
    expect(Object.keys(ours).filter(name => !(name in variables))).toEqual([]);
    expect(ours.ENGINE).toBe('bigquery');
  }
});

test('each stage of the image is built from the Node that package.json pins, by its digest', () => {
  const { dependencies } = JSON.parse(fileOf('package.json'));
  const [, tag] = /^ARG BASE=node:(\S+)@sha256:[0-9a-f]{64}$/m.exec(dockerfile) ?? [];
  expect(tag).toBe(`${dependencies.node}-slim`);
  const stages = [...dockerfile.matchAll(/^FROM (?:\$\{(\w+)\})?/gm)].map(([, argument]) => argument);
  expect(stages).toEqual(Array(3).fill('BASE'));
});

test('the image runs as a user without rights, in production', () => {
  expect(dockerfile).toMatch(/^USER node$/m);
  expect(dockerfile).toMatch(/^ENV NODE_ENV=production /m);
});
