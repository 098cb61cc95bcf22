import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

const savedQuery = `/*
id: 7e57ab1e-0000-4000-8000-000000000401
name: things
description: What costs something.
parameters:
  thing: { type: string, required: true, description: A thing. }
columns:
  n: { type: INT64, description: A number. }
cacheSeconds: 60
staleSeconds: 60
staleIfErrorSeconds: 3600
warmSeconds: 1
*/
select 1 as n`;

const n = { name: 'n', type: 'INT64', mode: 'NULLABLE' } as const;
const rowsOf = (thing: unknown) =>
  Buffer.from(JSON.stringify([{ n: thing === 'large' ? 'x'.repeat(16_000_000) : 1 }]));
let isFailing = false;
let held: Promise<void> | undefined;
let usage = { waiting: 0, memoryBytes: 0 };
let freeBytes = 1e12;

let gateway: OpenGateway;
let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedisServer();
  gateway = await openGateway({
    now: '2026-01-15T12:00:00Z',
    environment: { REDIS_URL: redis.url, BATCH_WINDOW_MS: '0' },
    freeBytes: () => freeBytes,
    sqlFiles: { 'things.sql': savedQuery },
    tokens: {
      slow: { limits: { requestsPerMinute: 1 } },
      spent: { limits: { bytesPerDay: 1 } },
      narrow: { endpoints: ['none'] },
    },
    engine: {
      describe: async () => [n],
      usage: () => usage,
      async run({ parameters: [thing] }) {
        await held;
        if (isFailing) throw new GatewayError('unavailable', 'It is down');
        const receipt = { bytesProcessed: 1000, bytesBilled: 4000, slotMs: 1500 };
        return { columns: [n], rowsJson: rowsOf(thing?.value), rowCount: 1, receipt };
      },
    },
  });
});

afterAll(async () => {
  await gateway.close();
  await redis.stop();
});

/** The sum of a metric's series whose labels match. */
async function readingOf(name: string, labels = ''): Promise<number> {
  const text = await (await fetch(`${gateway.origin}/metrics`)).text();
  const series = [...text.matchAll(new RegExp(`^${name}(\\{.*\\})? (\\S+)$`, 'gm'))];
  return series
    .filter(([, own = '']) => own.includes(labels))
    .reduce((sum, [, , value]) => sum + Number(value), 0);
}

const ask = (thing: string, token?: string) =>
  gateway.get(`/api/endpoints/query/things?thing=${thing}`, token ? { 'x-api-key': token } : {});
const by = (name: string) => gateway.token(name);

/** What happens, in this order, and the metrics that it moves: their name, and labels where these matter. */
const happenings: [what: string, happen: () => Promise<unknown>, moved: [name: string, labels?: string][]][] = [
  ['warming that nobody does', async () => {
    await ask('warm');
    await expect.poll(() => readingOf('warm_keys')).toBeGreaterThan(0);
    // The schedule is by the clock of Redis.
    await expect.poll(() => readingOf('warm_lag_seconds')).toBeGreaterThan(0);
  }, [['warm_groups_due'], ['warm_lag_seconds']]],
  ['a query', () => ask('a'), [
    ['http_requests_total'], ['cache_requests_total', 'miss'], ['engine_queries_total', 'ok'], ['engine_query_seconds_bucket'],
    ['engine_bytes_billed_total'], ['engine_bytes_processed_total'], ['engine_slot_seconds_total'], ['token_bytes_total'], ['endpoint_request_seconds_bucket'],
  ]],
  ['a hit', () => ask('a'), [['cache_requests_total', 'hit'], ['cache_saved_bytes_total']]],
  ['a query that runs', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    onTestFinished(() => resolve());
    held = promise;
    void ask('held').catch(() => undefined);
    await expect.poll(() => readingOf('engine_queries_running')).toBe(1);
    held = undefined;
  }, [['engine_queries_running']]],
  ['a connection', async () => {
    // So many that it can't matter which others end meanwhile.
    const sockets = Array.from({ length: 20 }, () => connect(gateway.port, '127.0.0.1'));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    await Promise.all(sockets.map(socket => once(socket, 'connect')));
  }, [['http_connections']]],
  ['an answer that nobody reads', async () => {
    const socket = connect(gateway.port, '127.0.0.1').pause();
    onTestFinished(() => void socket.destroy());
    socket.write(`GET /api/endpoints/query/things?thing=large HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${testToken}\r\n\r\n`);
  }, [['http_unread_bytes']]],
  ['queries that wait, and memory', async () => {
    usage = { waiting: 7, memoryBytes: 1e9 };
  }, [['engine_queries_waiting'], ['engine_memory_bytes']]],
  ['a token that nobody knows', () => ask('a', 'nobody'), [['token_refusals_total', 'unauthorized']]],
  ['a token for something else', () => ask('a', by('narrow')), [['token_refusals_total', 'forbidden']]],
  ['a token over its requests', async () => [await ask('a', by('slow')), await ask('a', by('slow'))], [['token_refusals_total', 'too_many_requests']]],
  ['a token over its bytes', async () => [await ask('b', by('spent')), await ask('c', by('spent'))], [['token_refusals_total', 'quota_exceeded']]],
  ['a disk that fills', async () => {
    freeBytes = 5;
  }, [['data_free_bytes']]],
  ['a saved query that breaks', async () => {
    await writeFile(join(gateway.directory, 'sql', 'things.sql'), 'select');
    await expect.poll(() => readingOf('endpoints_broken')).toBe(1);
  }, [['endpoints_broken']]],
  ['a source that breaks', async () => {
    await writeFile(join(gateway.directory, 'sources', 'things.yaml'), 'name: things');
    await expect.poll(() => readingOf('sources_broken')).toBe(1);
  }, [['sources_broken']]],
  ['tokens that can not be read', async () => {
    await writeFile(join(gateway.directory, 'tokens.json'), 'nonsense');
    await expect.poll(() => readingOf('tokens_stale')).toBe(1);
  }, [['tokens_stale']]],
  ['an engine that is down', async () => {
    isFailing = true;
    for (let at = 0; at < 6; at++) await ask(`down${at}`);
    expect((await gateway.get('/readyz')).body.reasons).toContain('engine_down');
    gateway.clock.advance(200_000);
    await ask('a');
  }, [['engine_queries_total', 'unavailable'], ['endpoint_errors_total', 'unavailable'], ['engine_up'], ['cache_requests_total', 'stale-if-error']]],
  ['a Redis that is gone', async () => {
    await redis.stop();
    await expect.poll(() => readingOf('cache_store_up')).toBe(0);
    const { status, body } = await gateway.get('/readyz');
    // Ready all the same: otherwise all gateways would be out of service at once.
    expect([status, body.status, body.reasons]).toEqual([200, 'ready', expect.arrayContaining(['store_down'])]);
    // Alive, too: a restart would not bring it back.
    expect(await gateway.get('/livez')).toMatchObject({ status: 200, body: { status: 'alive', cache: 'down' } });
    expect((await gateway.get('/health')).body).toEqual({ status: 'ok', cache: 'down' });
  }, [['cache_store_up'], ['cache_store_errors_total']]],
]; // biome-ignore format: a table

/** Metrics that these tests move. */
const elsewhere: Record<string, string> = {
  event_loop_stalls_total: 'test/telemetry/metrics.test.ts',
  nodejs_eventloop_lag_p99_seconds: 'prom-client',
  process_resident_memory_bytes: 'prom-client',
  http_connections_ended_total: 'test/telemetry/metrics.test.ts',
  log_lines_dropped: 'test/telemetry/log-output.test.ts',
  warm_keys_total: 'test/contract/warming.test.ts',
};

test.each(happenings)('%s moves what the dashboard and the alerts look at', async (_what, happen, moved) => {
  const all = () => Promise.all(moved.map(([name, labels]) => readingOf(name, labels)));
  const before = await all();
  await happen();
  const same = async () => (await all()).flatMap((value, at) => (value === before[at] ? [moved[at]] : []));
  await expect.poll(same).toEqual([]);
});

test('each metric of the dashboard and the alerts is moved here, or by a test that is named', () => {
  const text = read('deploy/prometheus-alerts.yaml') + read('deploy/grafana-dashboard.json');
  const known = [...read('docs/metrics.md').matchAll(/^\| `(\w+)` \|/gm)].map(([, name = '']) => name);
  const used = known.filter(name => new RegExp(`\\b${name}(?:_bucket)?\\b`).test(text));
  const moves = new Set(
    happenings.flatMap(([, , moved]) => moved.map(([name]) => name.replace('_bucket', ''))),
  );
  expect(used.filter(name => !moves.has(name) && !(name in elsewhere))).toEqual([]);
});
