import { beforeAll, describe, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';

const rows = {
  'cloudflare.logs.prod': [
    {
      ...edgeRow({ id: 'a', timestamp: '2026-01-15T11:59:00Z', project: 'ours' }),
      event_message: 'by 203.0.113.7',
    },
  ],
};

const sharedRuns = `/*
id: 7e57ab1e-0000-4000-8000-000000000004
name: shared.runs
description: What takes a moment to count; callers who come together share a run.
parameters:
  project: { type: string, required: true, description: Reference of the project. }
columns:
  id: { type: STRING, description: Id. }
coalesce: true
*/
select cast(count(*) as string) as id
from unnest(generate_array(1, 10000)) as a
cross join unnest(generate_array(1, 500)) as b
where mod(a * b, 7) = 3 and @project is not null`;

let redis: RedisServer;
let gateway: OpenGateway;
beforeAll(async () => {
  redis = await startRedisServer();
  gateway = await openGateway({
    rows,
    now: '2026-01-15T12:00:00Z',
    sqlFiles: { 'shared.runs.sql': sharedRuns },
    environment: { REDIS_URL: redis.url, CACHE_MEMORY_MB: '0' },
  });
  return async () => {
    await gateway.close();
    await redis.stop();
  };
});

/** Calls of a command since Redis started. */
async function callsOf(command: string): Promise<number> {
  const stats = await redis.command('INFO commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
}

const runs = () => gateway.events.filter(({ type }) => type === 'engine.query').length;

describe('contract 3.6, 7.4: the fields of one operation', () => {
  test('fifty aliases read the cache in one round trip: all that miss are one run, and then all hit', async () => {
    const aliases = Array.from(
      { length: 50 },
      (_, n) =>
        `a${n}: usageApiCounts(project: "ours|${n}", interval: HOURLY) { timestamp totalRestRequests }`,
    );
    // Spelled differently each time, so that the whole result is not remembered.
    const ask = (spelling: number) => gateway.graphql(`{ ${aliases.join(' '.repeat(spelling))} }`);
    await ask(1);
    const before = await callsOf('evalsha');
    const { body } = await ask(2);
    expect((await callsOf('evalsha')) - before).toBe(1);
    expect(body.extensions.cache.map(({ state }: { state: string }) => state)).toEqual(Array(50).fill('hit'));
    expect(runs()).toBe(1);
  });
});

describe('a remembered GraphQL result', () => {
  let own: OpenGateway;
  beforeAll(async () => {
    own = await openGateway({ rows, now: '2026-01-15T12:00:00Z' });
    return () => own.close();
  });

  const query = '{ usageApiCounts(project: "ours", interval: MINUTELY) { timestamp totalRestRequests } }';

  test('is the executed one but for its age and request id', async () => {
    const executed = await own.graphql(query);
    await own.graphql(query);
    own.clock.advance(42_000);
    const remembered = await own.graphql(query);
    expect(remembered.body.data).toEqual(executed.body.data);
    expect(remembered.body.extensions.cache).toEqual([
      { path: 'usageApiCounts', state: 'hit', ageSeconds: 42 },
    ]);
    expect(remembered.body.extensions.request_id).not.toBe(executed.body.extensions.request_id);
    expect(remembered.headers.get('x-request-id')).toBe(remembered.body.extensions.request_id);
    expect(remembered.headers.get('content-type')).toBe(executed.headers.get('content-type'));
  });

  test('is not given to another token, nor for other variables', async () => {
    await own.graphql(query);
    await own.graphql(query);
    expect((await own.graphql(query, {}, { 'x-api-key': 'stranger' })).status).toBe(401);
    expect((await own.graphql(query, {}, { authorization: `Bearer ${testToken}` })).status).toBe(200);
    const withVariable =
      'query($p: String!) { usageApiCounts(project: $p, interval: MINUTELY) { timestamp } }';
    const count = async (p: string) =>
      (await own.graphql(withVariable, { p })).body.data.usageApiCounts.length;
    expect([await count('ours'), await count('none'), await count('ours'), await count('none')]).toEqual([
      1, 0, 1, 0,
    ]);
  });

  test('is not given on another path', async () => {
    await own.graphql(query);
    await own.graphql(query);
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query, variables: {} }),
    };
    expect((await own.send('/graphql', init)).status).toBe(200);
    expect((await own.send('/graphqls', init)).status).toBe(404);
  });

  test('ends with the entry that it was made of', async () => {
    const stateOf = async () => (await own.graphql(query)).body.extensions.cache[0].state;
    await stateOf();
    expect(await stateOf()).toBe('hit');
    own.clock.advance(5_000_000);
    expect(await stateOf()).toBe('miss');
  });
});

describe('endpoints that are not cached', () => {
  const askTogether = async (path: string, headers = {}) => {
    const before = runs();
    const answers = await Promise.all(Array.from({ length: 10 }, () => gateway.get(path, headers)));
    expect(new Set(answers.map(({ status, headers }) => `${status} ${headers.get('x-cache')}`))).toEqual(
      new Set(['200 BYPASS']),
    );
    return runs() - before;
  };

  test('run for every request', async () => {
    expect(await askTogether('/api/endpoints/query/logs.all?project=ours')).toBe(10);
  });

  test('share a run among concurrent requests if the saved query says so', async () => {
    expect(await askTogether('/api/endpoints/query/shared.runs?project=ours')).toBe(1);
    expect(await askTogether('/api/endpoints/query/shared.runs?project=ours')).toBe(1);
  });

  test('share none that may have begun before a request with Cache-Control: no-cache', async () => {
    const headers = { 'cache-control': 'no-cache' };
    expect(await askTogether('/api/endpoints/query/shared.runs?project=ours', headers)).toBe(10);
  });
});
