import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { Agent, createServer, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { endWithProcess } from '../support/end-with-process.ts';
import { type FleetGateway, startFleet, startGatewayProcess } from '../support/fleet.ts';
import { freePort } from '../support/free-port.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';

/** The services of docker-compose.yml as plain processes: Redis with a password, two gateways over one DATA_DIR, a worker, nginx. */
const perSecond = 500;
const token = 'the-token-of-the-fleet';
const agent = new Agent({ keepAlive: true, maxSockets: 64 });
const ports: number[] = [];
const gateways: FleetGateway[] = [];
let redis: RedisServer;
let fleet: Awaited<ReturnType<typeof startFleet>>;
let environment: Record<string, string>;
let worker: ChildProcess;
let front: number;

beforeAll(async () => {
  await promisify(execFile)('nginx', ['-v']).catch(() => {
    throw new Error(
      'This suite needs nginx. Type: sudo apt-get update && sudo apt-get install -y nginx-light',
    );
  });
  redis = await startRedisServer({ lock: { password: 'of5letters' } });
  fleet = await startFleet(0, {});
  environment = { DATA_DIR: fleet.directory, REDIS_URL: redis.url, LOG_LEVEL: 'warn' };
  for (let at = 0; at < 2; at++) {
    ports[at] = await freePort();
    gateways[at] = await startGateway(at);
  }
  worker = startWorker();
  const nginx = await startNginx(ports);
  front = nginx.port;
  return () => stop(nginx.child);
});

afterAll(async () => {
  agent.destroy();
  if (worker) await stop(worker);
  for (const gateway of gateways) await gateway.kill();
  await fleet?.stop();
  await redis?.stop();
});

function startGateway(at: number): Promise<FleetGateway> {
  return startGatewayProcess({ ...environment, PORT: String(ports[at]) }, agent);
}

function startWorker(): ChildProcess {
  const child = spawn('node', ['src/worker.ts'], {
    env: { ...process.env, ...environment },
    stdio: 'ignore',
  });
  endWithProcess(child);
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

/**
 * Starts nginx with the configuration of the repository, with ports of this machine, in one process, so that one signal ends it.
 * @param upstreams ports of the two gateways
 */
async function startNginx(upstreams: readonly number[]) {
  const port = await freePort();
  const directory = join(fleet.directory, `nginx-${port}`);
  await mkdir(directory);
  const text = await readFile(new URL('../../deploy/nginx.conf', import.meta.url), 'utf8');
  const config = text
    .replaceAll('/tmp/', `${directory}/`)
    .replace('listen 8080', `listen 127.0.0.1:${port}`)
    .replace(/gateway-(\d):4000 resolve/g, (_all, n: string) => `127.0.0.1:${upstreams[Number(n) - 1]}`)
    .replace(/^ *resolver .*\n/m, '');
  const file = join(directory, 'nginx.conf');
  await writeFile(file, `daemon off;\nmaster_process off;\n${config}`);
  const child = spawn('nginx', ['-p', directory, '-c', file], { stdio: 'ignore' });
  endWithProcess(child);
  await vi.waitFor(() => ask('/livez', undefined, port), { timeout: 20_000, interval: 50 });
  return { child, port };
}

type Asked = { readonly status: number; readonly text: string; readonly ms: number };

function ask(path: string, body?: object, port = front): Promise<Asked> {
  const startedMs = performance.now();
  const { promise, resolve, reject } = Promise.withResolvers<Asked>();
  const headers = { 'x-api-key': token, ...(body && { 'content-type': 'application/json' }) };
  const method = body ? 'POST' : 'GET';
  const asked = request({ host: '127.0.0.1', port, path, method, headers, agent }, response => {
    let text = '';
    response.setEncoding('utf8').on('data', part => {
      text += part;
    });
    response.on('end', () =>
      resolve({ status: response.statusCode ?? 0, text, ms: performance.now() - startedMs }),
    );
    response.on('error', reject);
  });
  asked.on('error', reject);
  asked.end(body && JSON.stringify(body));
  return promise;
}

/** What callers do: hits by REST and GraphQL, and now and then SQL that runs a query. */
function askSomething(n: number): Promise<Asked> {
  const project = `p${n % 50}`;
  if (n % 500 === 0) {
    const sql = encodeURIComponent(`select count(*) as n from edge_logs where id <> '${n}'`);
    return ask(`/api/endpoints/query/logs.all?project=ours&sql=${sql}`);
  }
  if (n % 5 === 0) {
    return ask('/graphql', {
      query: `{ usageApiCounts(project: "${project}", interval: HOURLY) { timestamp } }`,
    });
  }
  return ask(`/api/endpoints/query/usage.api-counts?interval=hourly&project=${project}`);
}

/** Asks at an even pace until it is told to stop. */
function startLoad() {
  const failures: string[] = [];
  const open = new Set<Promise<void>>();
  let sent = 0;
  let slowestMs = 0;
  const startedMs = performance.now();
  const timer = setInterval(() => {
    const due = ((performance.now() - startedMs) * perSecond) / 1000;
    for (; sent < due; sent++) {
      const n = sent;
      const done = askSomething(n)
        .then(
          ({ status, text, ms }) => {
            slowestMs = Math.max(slowestMs, ms);
            if (status !== 200 || text.includes('"errors"'))
              failures.push(`${n}: ${status} ${text.slice(0, 300)}`);
          },
          error => void failures.push(`${n}: ${error}`),
        )
        .finally(() => open.delete(done));
      open.add(done);
    }
  }, 10);
  return {
    async stop() {
      clearInterval(timer);
      const seconds = (performance.now() - startedMs) / 1000;
      await Promise.all(open);
      return { sent, perSecond: sent / seconds, failures, slowestMs };
    },
  };
}

/** Warms what is asked, so that the load is mostly hits. */
async function warmUp(): Promise<void> {
  for (let n = 0; n < 50; n++)
    await ask(`/api/endpoints/query/usage.api-counts?interval=hourly&project=p${n}`);
}

test('a rolling restart of gateways and worker under 500 requests a second fails no request', async () => {
  await warmUp();
  const load = startLoad();
  await sleep(2000);
  for (const at of [0, 1]) {
    process.kill(gateways[at]!.pid, 'SIGTERM');
    expect(await gateways[at]!.ended).toMatch(/^0:/);
    gateways[at] = await startGateway(at);
    await sleep(2000);
  }
  const ended = once(worker, 'exit');
  worker.kill('SIGTERM');
  expect((await ended)[0]).toBe(0);
  worker = startWorker();
  await sleep(1000);
  const { sent, failures, slowestMs, perSecond: rate } = await load.stop();
  process.stdout.write(`${sent} requests, ${rate.toFixed(0)} a second, slowest ${slowestMs.toFixed(0)} ms\n`);
  expect(failures).toEqual([]);
  expect(sent).toBeGreaterThan(perSecond * 5);
}, 180_000);

test('a gateway that is killed costs no caller an answer', async () => {
  await warmUp();
  const load = startLoad();
  await sleep(1000);
  await gateways[0]!.kill();
  await sleep(3000);
  gateways[0] = await startGateway(0);
  await sleep(2000);
  const { failures } = await load.stop();
  expect(failures).toEqual([]);
}, 120_000);

test('nginx keeps metrics and administration inside', async () => {
  for (const path of ['/metrics', '/metrics/', '//metrics', '/admin/warm', '/admin/warm/']) {
    expect([path, (await ask(path)).status]).toEqual([path, 404]);
  }
});

test('nginx passes on as many events as a gateway takes, and the gateway refuses more', async () => {
  const events = (megabytes: number) => [
    { event_message: 'x', padding: 'x'.repeat(megabytes * 1024 * 1024) },
  ];
  const path = '/api/logs?source_name=postgres.logs';
  for (const own of [path, path.replace('/api', '')]) {
    // A single event has a megabyte at most; the body as a whole was read.
    expect(JSON.parse((await ask(own, events(3))).text).error.code).toBe('invalid_body');
    expect(JSON.parse((await ask(own, events(16))).text).error.code).toBe('body_too_large');
  }
});

test('nginx has nobody wait for the same request of somebody else, whose answer it may not keep', async () => {
  const arrived: string[] = [];
  const first = Promise.withResolvers<ServerResponse>();
  const gateway = createServer((received, response) => {
    arrived.push(received.url ?? '');
    response.setHeader('cache-control', 'private, max-age=60');
    if (received.url === '/same' && arrived.indexOf('/same') === arrived.length - 1) first.resolve(response);
    else response.end('{}');
  });
  await once(gateway.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => {
    gateway.closeAllConnections();
    gateway.close();
  });
  const { port } = gateway.address() as AddressInfo; // it listens on TCP
  const nginx = await startNginx([port, port]);
  onTestFinished(() => stop(nginx.child));
  const asked = ask('/same', undefined, nginx.port);
  const held = await first.promise;
  const again = ask('/same', undefined, nginx.port);
  // A request that nginx holds back arrives half a second later at the earliest.
  for (let n = 0; n < 20; n++) await ask(`/other${n}`, undefined, nginx.port);
  expect(arrived.filter(path => path === '/same')).toHaveLength(2);
  held.end('{}');
  await Promise.all([asked, again]);
});

test('nginx leaves readers who stop to the gateway, which ends their answers', async () => {
  const gateway = await startGatewayProcess(
    { ...environment, SEND_TIMEOUT_MS: '1000', MAX_RESULT_MB: '64' },
    agent,
  );
  onTestFinished(() => gateway.kill());
  const own = Number(new URL(gateway.origin).port);
  const nginx = await startNginx([own, own]);
  onTestFinished(() => stop(nginx.child));
  // More than the system's buffers of three sockets.
  const sql = "select repeat('x', 55000) as x from unnest(generate_array(1, 1000))";
  const path = `/api/endpoints/query/logs.all?project=ours&sql=${encodeURIComponent(sql)}`;
  const asked = request({ host: '127.0.0.1', port: nginx.port, path, headers: { 'x-api-key': token } });
  onTestFinished(() => void asked.destroy());
  asked.on('error', () => undefined).end();
  const [response] = await once(asked, 'response');
  expect(response.statusCode).toBe(200);
  response.pause();
  await expect
    .poll(() => gateway.metric('http_connections_ended_total', 'slow_reader'), { timeout: 60_000 })
    .toBe(1);
}, 120_000);
