import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { startLoopClock } from '../support/loop-clock.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';
import { bigqueryEnvironment } from './bigquery-environment.ts';
import { complete, incomplete, openWarehouse } from './scripted-warehouse.ts';
import { type Deed, type Interference, refusal } from './warehouse-http.ts';

/** Milliseconds that a query may take: less than the shortest pause before a retry, so that a fault ends the query at once. */
const timeoutMs = 900;

const names = ['timestamp', 'total_rest_requests', 'total_storage_requests', 'total_auth_requests', 'total_realtime_requests']; // biome-ignore format: one list
const schema = { fields: names.map((name, at) => ({ name, type: at === 0 ? 'DATETIME' : 'INTEGER' })) };

/** One bucket with this many requests of each area. */
function counted(requests: number): Deed {
  const cells = ['2026-01-15T11:00:00', ...Array(4).fill(String(requests))];
  return complete([], { schema, totalRows: '1', rows: [{ f: cells.map(v => ({ v })) }] });
}

let warehouse: Awaited<ReturnType<typeof openWarehouse>>;
let gateway: OpenGateway;
/** Requests that each bucket of the warehouse has now. */
let requests: number;

beforeEach(async () => {
  // Nothing is left to chance, the pauses before retries neither.
  vi.spyOn(Math, 'random').mockReturnValue(0);
  requests = 1;
  warehouse = await openWarehouse({});
  recover();
  gateway = await openGateway({
    now: '2026-01-15T12:00:00Z',
    environment: {
      ...bigqueryEnvironment(warehouse.url),
      QUERY_TIMEOUT_MS: String(timeoutMs),
    },
  });
  // The first query also pays for code that is not compiled yet, and has the same deadline.
  await vi.waitFor(async () => expect((await gateway.get(path.replace('hourly', 'daily'))).status).toBe(200));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await gateway.close();
  warehouse.close();
});

/** What a failing warehouse does, and what it means to a caller for whom there is no entry. */
const faults: readonly [string, Interference, number, string][] = [
  ['answers 503', () => refusal(503, 'backendError'), 503, 'unavailable'],
  ['answers 503 without a reason', () => ({ status: 503, text: '<html>' }), 503, 'unavailable'],
  ['answers 429', () => refusal(429, 'rateLimitExceeded'), 503, 'overloaded'],
  ['hangs', () => 'hang', 504, 'deadline_exceeded'],
  ['hangs after its headers', () => 'hangAfterHeaders', 504, 'deadline_exceeded'],
  ['never ends a job', ({ what }) => (what === 'results' ? incomplete : undefined), 504, 'deadline_exceeded'],
  ['hangs while it is polled', ({ what }) => (what === 'results' ? 'hang' : undefined), 504, 'deadline_exceeded'],
  ['resets connections', () => 'reset', 503, 'unavailable'],
  ['ends in the middle of an answer', () => 'halfAPage', 503, 'unavailable'],
  ['breaks its JSON', () => ({ text: '{"jobComplete":tr' }), 503, 'unavailable'],
  ['answers JSON of another shape', () => ({ json: { jobComplete: 'yes' } }), 503, 'unavailable'],
  ['has no quota left', () => refusal(403, 'quotaExceeded'), 502, 'engine_failed'],
  ['lets nobody in', () => refusal(401, 'authError'), 502, 'engine_failed'],
]; // biome-ignore format: a table

function recover(): void {
  warehouse.interfere(({ what }) => (what === 'results' ? counted(requests) : undefined));
}

const path = '/api/endpoints/query/usage.api-counts?interval=hourly&project=ours';

async function askRest() {
  const { status, headers, body } = await gateway.get(path);
  const cacheStatus = headers.get('cache-status')?.replace('saved-query-gateway; ', '');
  const found = status === 200 ? body.result[0].total_auth_requests : body.error.code;
  return { status, found, cacheStatus, cache: headers.get('x-cache'), age: headers.get('age') };
}

async function askGraphql() {
  const query = '{ usageApiCounts(project: "ours", interval: HOURLY) { totalAuthRequests } }';
  const { data, errors, extensions } = (await gateway.graphql(query)).body;
  const found = errors ? errors[0].extensions.code : data.usageApiCounts[0].totalAuthRequests;
  return { found, state: extensions.cache?.[0]?.state };
}

const advanceSeconds = (seconds: number) => gateway.clock.advance(seconds * 1000);
const failedLoads = () => gateway.events.filter(({ type }) => type === 'cache.load_failed').length;

describe.each(faults)('contract 5.7: while the warehouse %s', (_, fault, status, code) => {
  test('an entry past its freshness is served by both handlers, and after recovery a fresh one', async () => {
    expect(await askRest()).toMatchObject({ status: 200, found: 1, cache: 'MISS' });
    requests = 2;
    warehouse.interfere(fault);

    // Nobody waits for the refresh, and nobody sees it fail.
    advanceSeconds(910);
    expect(await askRest()).toMatchObject({
      status: 200,
      found: 1,
      cache: 'STALE',
      cacheStatus: 'hit; ttl=-10',
      age: '910',
    });
    expect(await askGraphql()).toEqual({ found: 1, state: 'stale' });
    await vi.waitFor(() => expect(failedLoads()).toBe(1));

    // Further on, the query is tried first.
    advanceSeconds(3000);
    const tookMs = startLoopClock();
    expect(await askRest()).toMatchObject({
      status: 200,
      found: 1,
      cache: 'STALE',
      cacheStatus: 'hit; ttl=-3010; detail=stale-if-error',
    });
    expect(tookMs()).toBeLessThan(2 * timeoutMs);
    expect(failedLoads()).toBe(2);
    const asked = warehouse.counts().insert;
    expect(await askGraphql()).toEqual({ found: 1, state: 'stale-if-error' });
    expect(warehouse.counts().insert).toBe(asked);

    // The longest rest of a key that has failed is a minute.
    recover();
    advanceSeconds(60);
    expect(await askRest()).toMatchObject({ status: 200, found: 2, cache: 'MISS', age: '0' });
    expect(await askGraphql()).toEqual({ found: 2, state: 'hit' });
  });

  test(`without an entry the answer is ${status} by both handlers, and after recovery rows`, async () => {
    warehouse.interfere(fault);
    const tookMs = startLoopClock();
    expect(await askRest()).toMatchObject({ status, found: code, cache: null });
    expect(tookMs()).toBeLessThan(2 * timeoutMs);
    expect((await askGraphql()).found).toBe(code);
    recover();
    expect(await askRest()).toMatchObject({ status: 200, found: 1, cache: 'MISS' });
  });
});

test('an entry that is too old to stand in is not served', async () => {
  await askRest();
  warehouse.interfere(() => refusal(503, 'backendError'));
  advanceSeconds(900 + 3600);
  expect(await askRest()).toMatchObject({ status: 503, found: 'unavailable' });
});
