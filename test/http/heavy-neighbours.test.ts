import { expect, onTestFinished, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const rows = {
  'cloudflare.logs.prod': [edgeRow({ id: 'a', timestamp: '2026-01-15T11:00:00Z', project: 'ours' })],
};
const path = '/api/endpoints/query/logs.all?project=ours';

async function open(environment: Record<string, string> = {}): Promise<OpenGateway> {
  const gateway = await openGateway({ rows, now: '2026-01-15T12:00:00Z', environment });
  onTestFinished(gateway.close);
  return gateway;
}

function ask(gateway: OpenGateway, sql: string, signal?: AbortSignal) {
  return gateway.send(`${path}&${new URLSearchParams({ sql })}`, { signal });
}

/** Needs 170 MB; each number makes another statement. */
const large = (n: number) =>
  `with h as (select string_agg(to_hex(sha256(concat(cast(x as string), cast(y as string), '${n}')))) as m from unnest(generate_array(1,900)) x cross join unnest(generate_array(1,700)) y group by y) select sum(length(m)) as n from h`;

/** Spends a minute inside one vector of rows, where DuckDB does not look for an interrupt. */
const unresponsive = `select sum(length(regexp_replace(repeat('a', 100000 + x), 'a|b', 'c'))) as n from unnest(generate_array(1, 2000)) as x`;

test('large statements leave nothing behind (contract section 11)', async () => {
  const gateway = await open();
  for (let n = 0; n < 6; n++) {
    const { status, body } = await ask(gateway, large(n));
    expect([n, status, body.result]).toEqual([n, 200, [{ n: 700 * (900 * 65 - 1) }]]);
  }
  expect((await gateway.get(path)).body.result).toHaveLength(1);
});

test('queries that fail for memory leave plain ones alone', async () => {
  const gateway = await open({ ENGINE_MEMORY_MB: '512' }); // 128 for each query
  let failed = 0;
  const flood = Promise.all(
    Array.from({ length: 9 }, async (_, n) => {
      const { status, body } = await ask(gateway, large(n));
      failed++;
      expect([status, body.error.message]).toEqual([502, 'The query needs more memory than it may use']);
    }),
  );
  const statuses = new Set<number>();
  while (failed < 9) statuses.add((await gateway.get(path)).status);
  await flood;
  expect([...statuses]).toEqual([200]);
});

test('a query that will not stop takes no other with it, and ends in time', async () => {
  const gateway = await open({ QUERY_TIMEOUT_MS: '6000' });
  const startedMs = performance.now();
  const tookMs = () => performance.now() - startedMs;
  const guilty = [1, 2].map(n => ask(gateway, `${unresponsive} where ${n} > 0`));
  const statuses: number[] = [];
  while (tookMs() < 9000) statuses.push((await gateway.get(path)).status);
  expect(new Set(statuses)).toEqual(new Set([200]));
  for (const answer of guilty) expect((await answer).body.error.code).toBe('deadline_exceeded');
});
