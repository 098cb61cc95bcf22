import { beforeAll, describe, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { longestTurn, mostTurnMs } from '../support/longest-turn.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const rows = {
  'cloudflare.logs.prod': [edgeRow({ id: 'a', timestamp: '2026-01-15T11:59:00Z', project: 'ours' })],
};

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    rows,
    now: '2026-01-15T12:00:00Z',
    tokens: { reader: { scopes: ['no-cache'] }, admin: { scopes: ['admin'] } },
  });
  return () => gateway.close();
});

const path = (project: string, sql = '') =>
  `/api/endpoints/query/usage.api-counts?interval=minutely&project=${project}&sql=${encodeURIComponent(sql)}`;
const stateOf = async (asked: string) => (await gateway.get(asked)).headers.get('x-cache');

const order = (body: unknown, headers: Record<string, string> = {}) => post(JSON.stringify(body), headers);

function post(body: string, headers: Record<string, string> = {}) {
  return gateway.send('/admin/invalidate', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  });
}

describe('POST /admin/invalidate', () => {
  test('with parameters: their one entry, however they are spelled', async () => {
    const sql = 'select count(*) as n from requests';
    for (const asked of [path('ours'), path('live'), path('ours', sql)]) await stateOf(asked);
    const parameters = { project: 'ours', interval: 'minutely', unknown: 'x' };
    const { status, headers, body } = await order({ endpoint: 'usage.api-counts', parameters });
    expect([status, body, headers.get('cache-control')]).toEqual([200, { invalidated: 'entry' }, 'no-store']);
    expect(await stateOf(path('ours', sql))).toBe('HIT');
    expect(await stateOf(path('live'))).toBe('HIT');
    expect(await stateOf(path('ours'))).toBe('MISS');

    await order({ endpoint: 'usage.api-counts', parameters, sql });
    expect(await stateOf(path('ours', sql))).toBe('MISS');
    expect(await stateOf(path('ours'))).toBe('HIT');

    await order({ endpoint: 'usage.api-counts', parameters: { ...parameters, sql } });
    expect(await stateOf(path('ours', sql))).toBe('MISS');
    expect(await stateOf(path('ours'))).toBe('HIT');
  });

  test('without: all entries of the endpoint, by name or by UUID', async () => {
    const { id } = gateway.endpoint('usage.api-counts');
    for (const endpoint of ['usage.api-counts', id.toUpperCase()]) {
      await stateOf(path('ours'));
      expect((await order({ endpoint })).body).toEqual({ invalidated: 'endpoint' });
      expect(await stateOf(path('ours'))).toBe('MISS');
    }
  });

  test('also invalidates what GraphQL remembers of an operation', async () => {
    const ask = async () => {
      const { body } = await gateway.graphql(
        '{ usageApiCounts(project: "ours", interval: MINUTELY) { timestamp } }',
      );
      return body.extensions.cache[0].state;
    };
    await ask();
    await ask();
    expect(await ask()).toBe('hit');
    await order({ endpoint: 'usage.api-counts' });
    expect(await ask()).toBe('miss');
  });

  test.each([
    [{}, 400, 'invalid_body'],
    [{ endpoint: 7 }, 400, 'invalid_body'],
    [{ endpoint: 'usage.api-counts', all: true }, 400, 'invalid_body'],
    [{ endpoint: 'none' }, 404, 'endpoint_not_found'],
    [{ endpoint: 'usage.api-counts', parameters: { project: 'ours' } }, 400, 'invalid_parameter'],
  ])('refuses %j', async (body, status, code) => {
    const answer = await order(body);
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
  });

  test.each(['parameters', 'others'])('contract 11.2: many %s hold nobody up', async where => {
    const many = Object.fromEntries(Array.from({ length: 80_000 }, (_, n) => [`k${n}`, 0]));
    const parameters = { interval: 'hourly', project: 'ours' };
    const inside = where === 'others' ? { ...many, parameters } : { parameters: { ...parameters, ...many } };
    const text = JSON.stringify({ endpoint: 'usage.api-counts', ...inside });
    const turns: number[] = [];
    // The collector may fall into one of them.
    for (let n = 0; n < 3; n++) {
      const { result, turnMs } = await longestTurn(() => post(text));
      expect(result.status).toBe(where === 'others' ? 400 : 200);
      expect(result.text.length).toBeLessThan(2000);
      turns.push(turnMs);
    }
    expect(Math.min(...turns)).toBeLessThan(mostTurnMs(text));
  });

  test('contract 8.5: is for tokens with the scope admin or invalidate alone', async () => {
    const body = { endpoint: 'usage.api-counts' };
    expect((await order(body, { 'x-api-key': gateway.token('admin') })).status).toBe(200);
    const refused = await order(body, { 'x-api-key': gateway.token('reader') });
    expect([refused.status, refused.body.error.code, refused.body.error.message]).toEqual([
      403,
      'forbidden',
      'The access token lacks the scope "invalidate"',
    ]);
    expect((await order(body, { 'x-api-key': 'nobody' })).status).toBe(401);
  });
});

test('GET /metrics counts what happened, without a token, and shows no value', async () => {
  await gateway.get(path('secret-project'));
  await gateway.get(path('secret-project'));
  const { text } = await metrics();
  expect(text).toMatch(/^cache_requests_total\{endpoint="usage.api-counts",state="hit"\} [1-9]/m);
  expect(text).toMatch(/^engine_queries_total\{endpoint="usage.api-counts",outcome="ok"\} [1-9]/m);
  expect(text).toMatch(/^pipeline_stage_seconds_count\{stage="query"\} [1-9]/m);
  expect(text).not.toContain('secret-project');

  async function metrics() {
    const response = await fetch(`${gateway.origin}/metrics`);
    expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    return { text: await response.text() };
  }
});
