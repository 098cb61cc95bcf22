import { readFileSync } from 'node:fs';
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bigqueryEnvironment } from '../bigquery/bigquery-environment.ts';
import { complete, openWarehouse } from '../bigquery/scripted-warehouse.ts';
import { refusal } from '../bigquery/warehouse-http.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';

/** The official SDK, which an operator loads before the gateway. */
const exporter = new InMemorySpanExporter();
const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
trace.setGlobalTracerProvider(provider);
context.setGlobalContextManager(new AsyncLocalStorageContextManager());
propagation.setGlobalPropagator(new W3CTraceContextPropagator());

const savedQuery = `/*
id: 5b8f1f36-91a9-4a34-8f0e-1d2c3b4a5f60
name: kept
description: One number.
cacheSeconds: 60
staleSeconds: 600
sandbox: true
parameters:
  project:
    type: string
    required: true
    description: Whose.
columns:
  n:
    type: INT64
    description: A number.
*/
with logs as (select project from \`cloudflare.logs.prod\` where project = @project)
select count(*) as n from logs
`;

const traceId = '0af7651916cd43dd8448eb211c80319c';
const callersSpan = 'b7ad6b7169203331';
const traceparent = `00-${traceId}-${callersSpan}-01`;
const path = '/api/endpoints/query/kept?project=';

let redis: RedisServer;
let warehouse: Awaited<ReturnType<typeof openWarehouse>>;
let gateways: [OpenGateway, OpenGateway];
/** Names and attributes of all spans of this file. */
const names = new Set<string>();
const attributes = new Set<string>();
const texts: string[] = [];

beforeAll(async () => {
  redis = await startRedisServer();
  warehouse = await openWarehouse({ results: [complete(['7'])] });
  const open = () =>
    openGateway({
      now: '2026-01-15T12:00:00Z',
      sqlFiles: { 'kept.sql': savedQuery },
      environment: {
        ...bigqueryEnvironment(warehouse.url),
        REDIS_URL: redis.url,
        BIGQUERY_MAX_CONCURRENT_QUERIES: '1',
        BATCH_WINDOW_MS: '0',
      },
    });
  gateways = [await open(), await open()];
});

beforeEach(() => exporter.reset());

afterAll(async () => {
  for (const gateway of gateways ?? []) await gateway.close();
  warehouse?.close();
  await redis?.stop();
  await provider.shutdown();
  for (const api of [trace, context, propagation]) api.disable();
});

/** The spans that ended so far, when the one of this name is among them. */
async function spansWith(name: string | RegExp, count = 1): Promise<ReadableSpan[]> {
  const found = () => exporter.getFinishedSpans().filter(span => span.name.match(name));
  await expect.poll(() => found().length).toBeGreaterThanOrEqual(count);
  const all = exporter.getFinishedSpans();
  for (const span of all) {
    names.add(span.name);
    for (const key of Object.keys(span.attributes)) attributes.add(key);
    texts.push(JSON.stringify([span.name, span.attributes, span.events, span.status]));
  }
  return all;
}

/** Each span as its name below those around it. */
function tree(spans: readonly ReadableSpan[]): string[] {
  const byId = new Map(spans.map(span => [span.spanContext().spanId, span]));
  const pathOf = (span: ReadableSpan): string => {
    const parent = byId.get(span.parentSpanContext?.spanId ?? '');
    const operation = span.attributes['db.stored_procedure.name'] ?? span.attributes['db.system.name'];
    const own = operation === undefined ? span.name : `${span.name} ${operation}`;
    return parent ? `${pathOf(parent)} > ${own}` : own;
  };
  return spans.map(pathOf).toSorted();
}

const request = 'GET /api/endpoints/query/{endpoint}';

test('a miss: each part of the work is a span within the one that it belongs to, all within that of the caller', async () => {
  const sql = encodeURIComponent('select count(*) as n from logs');
  await gateways[0].get(`${path}miss&sql=${sql}`, { traceparent });
  const spans = await spansWith(request);
  expect(tree(spans)).toEqual(
    [
      request,
      `${request} > cache read`,
      `${request} > cache read > EVALSHA sqgClaim`,
      `${request} > cache read > EVALSHA sqgPublish`,
      `${request} > cache read > MGET redis`,
      `${request} > cache read > engine run`,
      `${request} > cache read > engine run > SELECT gcp.bigquery`,
      `${request} > cache read > engine run > dry run gcp.bigquery`,
    ].toSorted(),
  );
  const server = spans.find(({ name }) => name === request)!;
  expect(server.kind).toBe(SpanKind.SERVER);
  expect(server.parentSpanContext).toMatchObject({ traceId, spanId: callersSpan, isRemote: true });
  expect(new Set(spans.map(span => span.spanContext().traceId))).toEqual(new Set([traceId]));
  expect(server.attributes).toMatchObject({
    'http.request.method': 'GET',
    'http.route': '/api/endpoints/query/{endpoint}',
    'http.response.status_code': 200,
    'url.path': '/api/endpoints/query/kept',
    'saved_query.endpoint': 'kept',
    'saved_query.cache.state': 'miss',
    'saved_query.rows': 1,
  });

  const job = spans.find(({ name }) => name === 'SELECT')!;
  const inserted = warehouse.asked.findLast(({ what }) => what === 'insert')!;
  expect(job.kind).toBe(SpanKind.CLIENT);
  expect(job.attributes).toMatchObject({
    'saved_query.job.id': inserted.body.jobReference.jobId,
    'saved_query.job.bytes_processed': 10,
    'saved_query.job.bytes_billed': 20,
  });
  // Out again: to the warehouse as a header, and as a label of the job.
  expect(inserted.traceparent).toBe(`00-${traceId}-${job.spanContext().spanId}-01`);
  expect(inserted.body.configuration.labels).toMatchObject({ trace_id: traceId });
});

test('hits, those of the fast path too, are one trace each; the log has its id', async () => {
  await gateways[0].get(`${path}hit`);
  await spansWith(request);
  for (let n = 0; n < 3; n++) {
    exporter.reset();
    await gateways[0].get(`${path}hit`, { traceparent, 'accept-encoding': 'identity' });
    const spans = await spansWith(request);
    const server = spans.find(({ name }) => name === request)!;
    expect(server.attributes).toMatchObject({
      'saved_query.cache.state': 'hit',
      'saved_query.endpoint': 'kept',
    });
    expect(server.parentSpanContext?.spanId).toBe(callersSpan);
    const line = gateways[0].events.findLast(({ type }) => type === 'http.answered');
    expect(line).toMatchObject({ traceId });
  }
});

test('without traceparent a request begins a trace, whose id is in the log', async () => {
  await gateways[0].get(`${path}hit`);
  const server = (await spansWith(request)).find(({ name }) => name === request);
  expect(server?.parentSpanContext).toBeUndefined();
  const line = gateways[0].events.findLast(({ type }) => type === 'http.answered');
  expect(line).toMatchObject({ traceId: server?.spanContext().traceId });
});

test('GraphQL: the fields of an operation are within its span', async () => {
  const query = '{ a: kept(project: "ga") { n } b: kept(project: "gb") { n } }';
  const { body } = await gateways[0].graphql(query, {}, { traceparent });
  expect(body.data).toEqual({ a: [{ n: 7 }], b: [{ n: 7 }] });
  const all = tree(await spansWith('POST /graphql'));
  const reads = all.filter(each => each === 'POST /graphql > cache read');
  expect(reads).toHaveLength(2);
  // Both keys go to Redis as one command.
  expect(all.filter(each => each.endsWith('MGET redis'))).toHaveLength(1);
  const read = exporter.getFinishedSpans().find(({ name }) => name === 'MGET');
  expect(read?.attributes['db.operation.batch.size']).toBe(3);
});

test('waiting for a place at the engine, and for the query of another gateway, are spans', async () => {
  let isHeld = true;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  warehouse.interfere(({ what }) =>
    what === 'results' && isHeld
      ? { stream: async response => released.then(() => void response.destroy()) }
      : undefined,
  );
  const held = () => warehouse.held().some(({ what }) => what === 'results');
  const first = gateways[0].get(`${path}held`);
  await expect.poll(held).toBe(true);
  const waiting = gateways[0].get(`${path}queued`);
  const other = gateways[1].get(`${path}held`);
  await gateways[1].event('cache.waiting');
  isHeld = false;
  release();
  await Promise.all([first, waiting, other]);
  const all = tree(await spansWith(request, 3));
  expect(all).toContain(`${request} > cache read > lease wait`);
  expect(all).toContain(`${request} > cache read > engine run > queue wait`);
});

test('a refresh behind a stale answer is a trace of its own, linked to the request', async () => {
  await gateways[0].get(`${path}stale`);
  gateways[0].clock.advance(61_000);
  exporter.reset();
  await gateways[0].get(`${path}stale`, { traceparent });
  const spans = await spansWith('cache refresh');
  const refresh = spans.find(({ name }) => name === 'cache refresh')!;
  expect(refresh.spanContext().traceId).not.toBe(traceId);
  expect(refresh.links[0]?.context.traceId).toBe(traceId);
  expect(tree(spans)).toContain('cache refresh > engine run > SELECT gcp.bigquery');
});

test('a failure of ours marks the spans, one of the caller does not', async () => {
  warehouse.interfere(({ what }) =>
    what === 'insert' ? refusal(403, 'accessDenied', 'acme-prod.logs.edge') : undefined,
  );
  const { status } = await gateways[0].get(`${path}failing`);
  warehouse.interfere(() => undefined);
  expect(status).toBe(502);
  const failed = await spansWith(request);
  const statusOf = (name: string) => failed.find(span => span.name === name);
  expect(statusOf(request)?.status.code).toBe(SpanStatusCode.ERROR);
  expect(statusOf(request)?.attributes['error.type']).toBe('502');
  expect(statusOf('engine run')?.attributes['error.type']).toBe('engine_failed');
  exporter.reset();
  await gateways[0].get('/api/endpoints/query/kept');
  const [refused] = await spansWith(request);
  expect(refused?.attributes['http.response.status_code']).toBe(400);
  expect(refused?.status.code).toBe(SpanStatusCode.UNSET);
});

test('probes and scrapes are left out; what is no route has no name', async () => {
  for (const probe of ['/livez', '/readyz', '/health', '/metrics']) await fetch(gateways[0].origin + probe);
  await gateways[0].get('/no/such/route');
  const spans = await spansWith(/^GET$/);
  expect(spans.map(({ name }) => name)).toEqual(['GET']);
});

describe('all spans of this file', () => {
  test('are the ones that docs/traces.md lists', () => {
    const page = readFileSync(new URL('../../docs/traces.md', import.meta.url), 'utf8');
    const listed = [...page.matchAll(/^\| `([^`]+)` \|/gm)].map(([, name]) => name);
    const shown = [...names].map(name => name.replace(/^GET( .*)?$|^POST .*$/, '<method> <route>'));
    expect(new Set(shown)).toEqual(new Set(listed.filter(name => name !== 'SELECT duckdb')));
  });

  test('have attributes of the semantic conventions, or of our own namespace', () => {
    const known = new Set<unknown>(Object.values(conventions).filter(value => typeof value === 'string'));
    expect(attributes.size).toBeGreaterThan(15);
    expect([...attributes].filter(key => !key.startsWith('saved_query.') && !known.has(key))).toEqual([]);
  });

  test('hold no parameter, no token, no SQL and no name of a table', () => {
    expect(texts.length).toBeGreaterThan(30);
    expect(texts.filter(text => /project=|"held"|acme|cloudflare|select count/i.test(text))).toEqual([]);
    expect(texts.filter(text => text.includes(testToken))).toEqual([]);
  });
});
