import { beforeAll, describe, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';

const rows = {
  'cloudflare.logs.prod': [
    edgeRow({ id: 'a', timestamp: '2026-01-15T11:59:00Z', project: 'ours', path: '/rest/v1/a' }),
  ],
};

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({ rows, now: '2026-01-15T12:00:00Z' });
  return () => gateway.close();
});

const counts = '/api/endpoints/query/usage.api-counts?interval=hourly&project=ours';
const tokenId = 'development';

/** What the log says of the latest request. */
function logged() {
  return gateway.events.findLast(event => event.type === 'http.answered');
}

describe('the line of a request', () => {
  test('says endpoint, state of the cache, token and rows of a miss, of a hit and of hits by the fast path', async () => {
    const seen: unknown[] = [];
    for (let n = 0; n < 4; n++) {
      const { text } = await gateway.get(counts, { 'accept-encoding': 'identity' });
      expect(logged()).toMatchObject({
        method: 'GET',
        path: '/api/endpoints/query/usage.api-counts',
        status: 200,
        bytes: text.length,
        endpoint: 'usage.api-counts',
        tokenId,
        rows: 1,
      });
      seen.push(logged()?.cache);
    }
    expect(seen).toEqual(['miss', 'hit', 'hit', 'hit']);
  });

  test('names the saved queries of an operation once each, and adds up their rows', async () => {
    const query = `{
      hourly: usageApiCounts(project: "ours", interval: HOURLY) { timestamp }
      daily: usageApiCounts(project: "ours", interval: DAILY) { timestamp }
      logsAll(project: "ours") { id }
    }`;
    for (const expected of [/off/, /hit/, /hit/]) {
      await gateway.graphql(query, {}, { 'x-api-key': testToken });
      const line = logged();
      expect(line?.endpoint?.split(',').toSorted()).toEqual(['logs.all', 'usage.api-counts']);
      expect(line?.cache).toMatch(expected);
      expect(line).toMatchObject({ path: '/graphql', tokenId, rows: 3 });
    }
  });

  test('says what is known of a request that fails', async () => {
    await gateway.get('/api/endpoints/query/usage.api-counts?interval=yearly&project=ours');
    expect(logged()).toMatchObject({
      status: 400,
      endpoint: 'usage.api-counts',
      tokenId,
      cache: undefined,
      code: 'invalid_parameter',
    });
    await gateway.get(counts, { 'x-api-key': 'unknown' });
    expect(logged()).toMatchObject({
      status: 401,
      endpoint: undefined,
      tokenId: undefined,
      code: 'unauthorized',
    });
  });

  test('names the token that is over its limits, or revoked, though nothing else is known of the request', async () => {
    const token = await gateway.issue({ limits: { requestsPerMinute: 1 } });
    const id = token.slice(4, 12);
    const ask = [
      () => gateway.get(counts, { 'x-api-key': token }),
      () => gateway.graphql('{ __typename }', {}, { authorization: `Bearer ${token}` }),
    ];
    await ask[0]!();
    for (const send of ask) {
      expect((await send()).status).toBe(429);
      expect(logged()).toMatchObject({ status: 429, tokenId: id });
    }
    await gateway.revoke(token);
    for (const send of ask) {
      await expect.poll(async () => (await send()).status).toBe(401);
      expect(logged()).toMatchObject({ status: 401, tokenId: id });
    }
  });
});
