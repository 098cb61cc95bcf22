import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { openGateway } from '../support/open-gateway.ts';

const rows = {
  'cloudflare.logs.prod': [edgeRow({ id: 'a', timestamp: '2026-01-15T11:00:00Z', project: 'ours' })],
};
const path = '/api/endpoints/query/logs.all?project=ours';
const otherToken = 'the-token-of-somebody-else';

/** Runs for longer than any test, and can be interrupted. */
function endlessPath(n: number): string {
  const sql = `select count(*) as n from unnest(generate_array(1, 1000000)) a, unnest(generate_array(1, 1000000)) b where a + b = ${n}`;
  return `${path}&${new URLSearchParams({ sql })}`;
}

test('three hundred heavy queries of one token do not keep another token waiting (contract 2.18, 11.1, 11.4)', async () => {
  const gateway = await openGateway({
    rows,
    now: '2026-01-15T12:00:00Z',
    environment: { TOKEN_HASHES: createHash('sha256').update(otherToken).digest('hex') },
  });
  onTestFinished(gateway.close);
  const ask = () => gateway.get(path, { 'x-api-key': otherToken });
  expect((await ask()).status).toBe(200);

  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const refused: { status: number; retryAfter: string | null; code: string }[] = [];
  let others = 0;
  const flood = Array.from({ length: 300 }, (_, n) =>
    gateway.send(endlessPath(n), { signal: leaving.signal }).then(
      ({ status, headers, body }) =>
        refused.push({ status, retryAfter: headers.get('retry-after'), code: body.error.code }),
      () => others++,
    ),
  );
  // Two or three run, up to four are compiled by then, 128 wait, and the rest is over the token's share.
  await expect.poll(() => [4, 5, 6, 7].includes(300 - 128 - refused.length)).toBe(true);
  expect(new Set(refused.map(each => JSON.stringify(each)))).toEqual(
    new Set([JSON.stringify({ status: 429, retryAfter: '1', code: 'too_many_requests' })]),
  );
  // Nothing of the flood ends in time: what is answered now did not wait for it.
  for (let times = 0; times < 3; times++) expect((await ask()).body.result).toHaveLength(1);
  expect((await gateway.get('/livez', { 'x-api-key': '' })).status).toBe(200);
  expect(others).toBe(0);
  leaving.abort();
  await Promise.all(flood);
});

test('contract 11.1: who joins a query that waits behind a flood of another token waits in a line of their own', async () => {
  const gateway = await openGateway({
    rows,
    now: '2026-01-15T12:00:00Z',
    environment: { TOKEN_HASHES: createHash('sha256').update(otherToken).digest('hex') },
  });
  onTestFinished(gateway.close);
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const flood = Array.from({ length: 20 }, (_, n) =>
    gateway.send(endlessPath(n), { signal: leaving.signal }).catch(() => undefined),
  );
  const started = () => gateway.events.filter(({ type }) => type === 'engine.query_started').length;
  await gateway.until(() => started() === 20);
  const counts = '/api/endpoints/query/usage.api-counts?interval=hourly&project=ours';
  const first = gateway.get(counts);
  await gateway.until(() => started() === 21);
  const second = gateway.get(counts, { 'x-api-key': otherToken });
  expect((await second).status).toBe(200);
  expect((await first).body).toEqual((await second).body);
  // They shared one query.
  expect(started()).toBe(21);
  leaving.abort();
  await Promise.all(flood);
});
