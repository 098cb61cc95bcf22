import { createHash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { startLoopClock } from '../support/loop-clock.ts';
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

/** Texts of 64 times `rows` times 700 bytes: 40 MB, for which DuckDB needs 170 with two threads. Each number makes another statement. */
const large = (n: number, rows = 900) =>
  `with h as (select string_agg(to_hex(sha256(concat(cast(x as string), cast(y as string), '${n}')))) as m from unnest(generate_array(1,${rows})) x cross join unnest(generate_array(1,700)) y group by y) select sum(length(m)) as n from h`;

/** Spends a minute inside one vector of rows, where DuckDB does not look for an interrupt. */
const unresponsive = `select sum(length(regexp_replace(repeat('a', 100000 + x), 'a|b', 'c'))) as n from unnest(generate_array(1, 2000)) as x`;

test('large statements leave nothing behind (contract 11.5)', async () => {
  const gateway = await open({ QUERY_TIMEOUT_MS: '60000' });
  for (let n = 0; n < 6; n++) {
    const { status, body } = await ask(gateway, large(n));
    expect([n, status, body.result]).toEqual([n, 200, [{ n: 700 * (900 * 65 - 1) }]]);
  }
  expect((await gateway.get(path)).body.result).toHaveLength(1);
});

test('queries that fail for memory leave plain ones alone', async () => {
  const gateway = await open({ ENGINE_MEMORY_MB: '512', QUERY_TIMEOUT_MS: '60000' }); // 128 MB for each query
  let left = 5;
  const flood = Array.from({ length: left }, (_, n) => ask(gateway, large(n, 3000)).finally(() => left--));
  const statuses = new Set<number>();
  while (left > 0) statuses.add((await gateway.get(path)).status);
  expect([...statuses]).toEqual([200]);
  for (const { status, body } of await Promise.all(flood)) {
    expect([status, body.error.message]).toEqual([502, 'The query needs more memory than it may use']);
  }
});

test('an operation of queries that will not stop ends in time, and takes no other with it', async () => {
  const otherToken = 'the-token-of-somebody-else';
  const gateway = await open({
    QUERY_TIMEOUT_MS: '10000',
    TOKEN_HASHES: createHash('sha256').update(otherToken).digest('hex'),
  });
  const plain = () => gateway.get(path, { 'x-api-key': otherToken });
  const tookMs = startLoopClock();
  const fields = Array.from({ length: 10 }, (_, n) => {
    const sql = JSON.stringify(`${unresponsive} where ${n} >= 0`);
    return `f${n}: logsAll(project: "ours", sql: ${sql}) { id }`;
  });
  let isOver = false;
  const operation = gateway.graphql(`{ ${fields.join(' ')} }`).finally(() => {
    isOver = true;
  });
  const statuses = new Set<number>();
  while (!isOver) statuses.add((await plain()).status);
  // Ten fields wait in three slots: one after the other they would take four times as long.
  expect(tookMs()).toBeLessThan(3 * 10_000);
  expect([...statuses]).toEqual([200]);
  const { body } = await operation;
  const codes = body.errors.map((error: { extensions: { code: string } }) => error.extensions.code);
  expect([codes.length, [...new Set(codes)]]).toEqual([10, ['deadline_exceeded']]);
});
