import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import type { Store } from '../../src/store/store.ts';
import { longestTurn } from '../support/longest-turn.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { ask, countingRequest, never, openCache, settle } from './open-cache.ts';

const clock = createStandingClock();

test('an answer over the limit is sent, but not stored', async () => {
  const store = createMemoryStore({ maxBytes: 1e6, clock });
  const gateway = openCache({ clock, store, maxEntryBytes: 18 });
  const { request, query } = countingRequest('a');
  for (const n of [1, 2]) expect(await ask(gateway, request)).toBe(`miss {"result":[{"n":${n}}]}`);
  expect((await store.read([request.key.digest], [])).values).toEqual([undefined]);
  expect(gateway.events.filter(({ type }) => type === 'cache.too_large')).toEqual(
    Array(2).fill({ type: 'cache.too_large', endpoint: 'counting', bytes: 20 }),
  );
  expect(query.runs).toBe(2);
});

test('gateways that waited for it then do not wait for one another', async () => {
  const store = createMemoryStore({ maxBytes: 1e6, clock });
  const gateways = Array.from({ length: 4 }, () => openCache({ clock, store, maxEntryBytes: 18 }));
  const { request, query } = countingRequest('a');
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  query.gate = first.promise;
  const asked = gateways.map(gateway => ask(gateway, request));
  await settle();
  expect(query.runs).toBe(1);
  query.gate = second.promise;
  first.resolve();
  await settle();
  expect(query.runs).toBe(4);
  second.resolve();
  expect(await Promise.all(asked)).toEqual(Array(4).fill(expect.stringMatching(/^miss/)));
});

test('a caller waits for the writing of a large value no longer than for the store, and the writing goes on', async () => {
  const store = createMemoryStore({ maxBytes: 1e7, clock });
  const gate = Promise.withResolvers<void>();
  const slow: Store = {
    ...store,
    publish: (...args) => gate.promise.then(() => store.publish(...args)),
    // It comes behind, on the same connection.
    release: (...args) => gate.promise.then(() => store.release(...args)),
  };
  const gateway = openCache({ clock, store: slow });
  const { request } = countingRequest('a');
  // They do not compress.
  const rowsJson = Buffer.from(`["${randomBytes(400_000).toString('base64')}"]`);
  const run = async () => ({ columns: [], rowsJson, rowCount: 1 });
  let state = 'asked';
  const answered = gateway.cache.read({ ...request, load: { run } }, { signal: never }).then(answer => {
    state = answer.state;
  });
  await expect.poll(() => state, { timeout: 10_000 }).toBe('miss');
  const stored = async () => (await store.read([request.key.digest], [])).values[0]?.length ?? 0;
  expect(await stored()).toBe(0);
  gate.resolve();
  await answered;
  await expect.poll(stored).toBeGreaterThan(400_000);
  expect(gateway.trace()).not.toContain('store.down');
});

const rows = { columns: [], rowsJson: Buffer.from(`["${'x'.repeat(7e6)}"]`), rowCount: 1 };

/** A gateway without memory over a store that has thirty large entries, and the requests for them. */
async function openLarge() {
  const store = createMemoryStore({ maxBytes: 1e7, clock });
  const gateway = openCache({ clock, store, memoryBytes: 0 });
  const requests = Array.from({ length: 30 }, (_, n) => {
    const { request } = countingRequest(`${n}`);
    return { ...request, load: { run: async () => rows } };
  });
  for (const request of requests) await gateway.cache.read(request, { signal: never });
  return { gateway, requests };
}

test('contract 11.2: large answers that are read at once hold nobody up', async () => {
  const { gateway, requests } = await openLarge();
  const { result, turnMs } = await longestTurn(() =>
    Promise.all(requests.map(request => gateway.cache.read(request, { signal: never }))),
  );
  expect(result.map(({ state, entry }) => [state, entry.body.length])).toEqual(
    Array(30).fill(['hit', rows.rowsJson.length + 11]),
  );
  expect(turnMs).toBeLessThan(100);
});

test('contract 11.1: whoever reads many large answers at once is one of those who take turns', async () => {
  const { gateway, requests } = await openLarge();
  const answered: string[] = [];
  const callers = requests.map((_, at) => (at === 29 ? 'modest' : 'greedy'));
  const read = async (caller: string, at: number) => {
    await gateway.cache.read({ ...requests[at]!, caller }, { signal: never });
    answered.push(caller);
  };
  await Promise.all(callers.map(read));
  expect(answered.indexOf('modest')).toBeLessThan(10);
});

test('requests that come together share what is decoded', async () => {
  const store = createMemoryStore({ maxBytes: 1e7, clock });
  const { request } = countingRequest('a');
  await ask(openCache({ clock, store }), request);
  const gateway = openCache({ clock, store });
  const refusal = async () => new GatewayError('quota_exceeded', 'No more');
  const answers = await Promise.all(
    [1, 2, 3].map(() => gateway.cache.read(request, { signal: never, refusal })),
  );
  expect(new Set(answers.map(({ entry }) => entry)).size).toBe(1);
});
