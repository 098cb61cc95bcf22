import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import {
  type VectorBatch,
  type VectorEvent,
  vectorBatches,
  vectorSources,
} from '../../examples/supabase/vector-events.ts';
import { testEndpoints } from '../../src/commands/endpoint-tests.ts';
import { readConfig } from '../../src/composition/config.ts';

const startMs = Date.parse('2026-01-15T10:00:00Z');
const quarterHour = { startMs, endMs: startMs + 900_000, perSecond: 5 };

/** Adds all dotted paths of objects, elements of arrays under `[]`. */
function addPaths(paths: Set<string>, value: unknown, path = ''): void {
  if (typeof value !== 'object' || value === null) return void paths.add(path);
  for (const [name, own] of Object.entries(value)) {
    const step = Array.isArray(value) ? '[]' : name;
    addPaths(paths, own, path ? `${path}.${step}` : step);
  }
}

// By the sources' remaps in the Vector configuration that comes with self-hosted Supabase.
const line = ['appname', 'event_message', 'timestamp'];
const expected: Record<string, string[]> = {
  'cloudflare.logs.prod': [
    ...line,
    ...['cf_connecting_ip', 'referer', 'user_agent'].map(name => `metadata.request.headers.${name}`),
    ...['host', 'method', 'path', 'protocol'].map(name => `metadata.request.${name}`),
    'metadata.response.status_code',
    'project',
    'severity',
  ],
  'postgres.logs': [
    ...line,
    'metadata.host',
    'metadata.parsed.error_severity',
    'metadata.parsed.timestamp',
    'project',
  ],
  'postgREST.logs.prod': [...line, 'metadata.host', 'project'],
  'realtime.logs.prod': [...line, 'metadata.external_id', 'metadata.level', 'metadata.project'],
  'storage.logs.prod.2': [
    ...line,
    'metadata.context.[].host',
    'metadata.context.[].pid',
    ...['level', 'project', 'tenantId', 'timestamp'].map(name => `metadata.${name}`),
  ],
  'deno-relay-logs': [...line, 'metadata.project_ref'],
};

const folder = 'examples/supabase/sql';

test('the tests of the saved queries pass, and each query has tests', async () => {
  const outcomes = await testEndpoints(readConfig({ SQL_DIR: folder }), []);
  expect(outcomes.filter(({ problem }) => problem !== undefined)).toEqual([]);
  const tested = new Set(outcomes.map(({ endpoint }) => endpoint));
  const queries = (await readdir(folder)).filter(file => /(?<!\.batch)\.sql$/.test(file));
  const untested = queries.map(file => file.slice(0, -4)).filter(name => !tested.has(name));
  expect(untested).toEqual(['logs.all']);
});

test('logs.all is the one that is shipped, and usage.api-counts differs from it in nothing but what stands for a URL', async () => {
  const read = (path: string) => readFile(path, 'utf8');
  expect(await read(`${folder}/logs.all.sql`)).toBe(await read('sql/logs.all.sql'));
  for (const file of ['usage.api-counts.sql', 'usage.api-counts.batch.sql']) {
    const own = await read(`${folder}/${file}`);
    const shipped = own
      .replaceAll('coalesce(request.url, entry.project)', 'request.url')
      .replace(', or its project where the gateway logs no URL.', '.');
    expect(shipped).toBe(await read(`sql/${file}`));
    expect(own).not.toBe(shipped);
  }
});

test('the generator sends the fields of each source, and the same events for the same seed', () => {
  const batches = [...vectorBatches(quarterHour)];
  for (const [source, paths] of Object.entries(expected)) {
    const found = new Set<string>();
    for (const batch of batches) if (batch.source === source) addPaths(found, batch.events);
    expect([...found].sort(), source).toEqual(paths.map(path => `[].${path}`).sort());
  }
  const auth = batches.filter(({ source }) => source === 'gotrue.logs.prod').flatMap(({ events }) => events);
  const parsed = auth.filter(({ metadata }) => metadata !== undefined);
  expect(auth.length - parsed.length).toBeGreaterThan(0);
  const asVectorParses = ({ event_message }: VectorEvent) => {
    const own = JSON.parse(event_message);
    return { timestamp: own.time, ...own };
  };
  expect(parsed.map(({ metadata }) => metadata)).toEqual(parsed.map(asVectorParses));
  expect(new Set(batches.map(({ source }) => source))).toEqual(new Set(vectorSources));
  expect(JSON.stringify([...vectorBatches(quarterHour)])).toBe(JSON.stringify(batches));
  expect(JSON.stringify([...vectorBatches({ ...quarterHour, seed: 2 })])).not.toBe(JSON.stringify(batches));
});

test('the generator keeps its rate, in order of time, with bursts', () => {
  const seconds = 86_400;
  const perSecond = new Map<number, number>();
  const ids = new Set<unknown>();
  let events = 0;
  let lastMs = startMs;
  for (const batch of vectorBatches({
    startMs,
    endMs: startMs + seconds * 1000,
    perSecond: 0.2,
    withIds: true,
  })) {
    if (batch.atMs < lastMs) throw new Error(`${batch.atMs} comes after ${lastMs}`);
    lastMs = batch.atMs;
    events += batch.events.length;
    perSecond.set(batch.atMs, (perSecond.get(batch.atMs) ?? 0) + batch.events.length);
    for (const { id, timestamp } of batch.events) {
      ids.add(id);
      if (Math.floor(Date.parse(timestamp) / 1000) * 1000 !== batch.atMs) throw new Error(timestamp);
    }
  }
  expect(events / seconds).toBeGreaterThan(0.17);
  expect(events / seconds).toBeLessThan(0.23);
  expect(ids.size).toBe(events);
  expect(Math.max(...perSecond.values())).toBeGreaterThan(2);
});

test('send-events.ts posts them by source with the token, and repeats what is refused for a moment', async () => {
  const requests: { url: string; headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer(async (request, response) => {
    requests.push({ url: request.url ?? '', headers: request.headers, body: await text(request) });
    response.writeHead(requests.length === 1 ? 503 : 200).end('{"message":"Logged!"}');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on a port
  const args = ['--url', `http://127.0.0.1:${port}`, '--minutes', '0.1', '--from', '2026-01-15T10:00:00Z'];
  const command = ['examples/supabase/send-events.ts', ...args];
  const env = { ...process.env, LOGFLARE_PUBLIC_ACCESS_TOKEN: 'public-token' };
  const { stdout } = await promisify(execFile)(process.execPath, command, { env });

  const [refused, repeated, ...others] = requests;
  expect(repeated).toEqual(refused);
  const sent = [repeated!, ...others].map(({ url, body }): Omit<VectorBatch, 'atMs'> => {
    const { pathname, searchParams } = new URL(url, 'http://gateway');
    expect(pathname).toBe('/api/logs');
    return { source: searchParams.get('source_name') as VectorBatch['source'], events: JSON.parse(body) };
  });
  const made = [...vectorBatches({ startMs, endMs: startMs + 6000 })];
  expect(sent).toEqual(made.map(({ source, events }) => ({ source, events })));
  expect(new Set(requests.map(({ headers }) => headers['x-api-key']))).toEqual(new Set(['public-token']));
  expect(stdout).toContain(`${made.flatMap(({ events }) => events).length} events sent`);
});
