import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import type { RunOptions } from '../../src/engine/engine.ts';
import { openDoors } from '../support/open-doors.ts';

const sqlFiles = {
  'things.sql': `/*
id: 00000000-0000-0000-0000-000000000001
name: things
description: Test.
cacheSeconds: 60
parameters:
  thing: { type: string, required: true, description: A thing. }
columns:
  n: { type: INT64, description: A number. }
maxRows: 3
batch: { parameter: thing, key: thing }
*/
select 1 as n`,
  'things.batch.sql': 'select thing, 1 as n from unnest(@things) as thing',
};

const queryTimeoutMs = 3000;

/** Opens doors over an engine of which each run takes its time, and fails for what is in it. */
async function openSlowDoors(runMs: number) {
  const runs: RunOptions[] = [];
  const doors = await openDoors({
    sqlFiles,
    queryTimeoutMs,
    engine: {
      async run(_statement, options) {
        runs.push(options);
        const limit = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]);
        await sleep(runMs, undefined, { signal: limit }).catch(() => {
          throw options.signal.aborted
            ? options.signal.reason
            : new GatewayError('deadline_exceeded', 'The query did not finish in time');
        });
        throw new GatewayError('invalid_query', 'pattern too large');
      },
      explain: () => Promise.reject(new Error('not asked')),
    },
  });
  onTestFinished(doors.close);
  const token = await doors.token();
  const ask = async (count: number) => {
    const fields = Array.from({ length: count }, (_, n) => `f${n}: things(thing: "thing ${n}") { n }`);
    const startedMs = performance.now();
    const response = await doors.fetch('/graphql', {
      method: 'POST',
      headers: { 'x-api-key': token, 'content-type': 'application/json' },
      body: JSON.stringify({ query: `{ ${fields.join(' ')} }` }),
    });
    const body = await response.json();
    return { body, tookMs: performance.now() - startedMs };
  };
  return { ask, runs };
}

test('an operation whose batch is halved again and again ends at its deadline (contract 11.6)', async () => {
  const { ask, runs } = await openSlowDoors(900);
  const { body, tookMs } = await ask(64);
  // Halving down to the single fields would take 127 runs, two minutes.
  expect(tookMs).toBeLessThan(queryTimeoutMs * 4);
  expect(runs.length).toBeLessThan(20);
  const codes = body.errors.map(({ extensions }: { extensions: { code: string } }) => extensions.code);
  expect([codes.length, new Set(codes)]).toEqual([64, new Set(['deadline_exceeded'])]);
});

test('runs of one batch share its time', async () => {
  const { ask, runs } = await openSlowDoors(900);
  await ask(64);
  const left = runs.map(({ timeoutMs }) => timeoutMs);
  expect(left[0]).toBeGreaterThan(queryTimeoutMs - 1000);
  for (let at = 1; at < left.length; at++) expect(left[at]).toBeLessThan(left[at - 1]! - 600);
});

test.each(['REST', 'GraphQL'])(
  "%s: the wait for another gateway's query and a run of one's own share the time of the request",
  async handler => {
    const ended = Promise.withResolvers<void>();
    const doors = await openDoors({
      sqlFiles,
      queryTimeoutMs: 3000,
      engine: {
        async run(_statement, { signal }) {
          await sleep(60_000, undefined, { signal }).catch(() => undefined);
          ended.resolve();
          throw signal.reason;
        },
        explain: async () => ({ columns: [], sources: [] }),
      },
    });
    onTestFinished(doors.close);
    const headers = {
      'x-api-key': await doors.token({ scopes: ['explain'] }),
      'content-type': 'application/json',
    };
    const path = '/api/endpoints/query/things?thing=a';
    const explained = await (await doors.fetch(`${path}&explain=true`, { headers })).json();
    const digest = explained.explain.cache_key;
    await doors.store.claim(digest, { token: 'another gateway', leaseMs: 60_000, knownVersion: undefined });

    const startedMs = performance.now();
    const body = JSON.stringify({ query: '{ things(thing: "a") { n } }' });
    const answer =
      handler === 'REST'
        ? doors.fetch(path, { headers })
        : doors.fetch('/graphql', { method: 'POST', headers, body });
    await sleep(2000);
    await doors.store.release(digest, 'another gateway', '');
    const { error, errors } = await (await answer).json();
    expect((error ?? errors[0].extensions).code).toBe('deadline_exceeded');
    // By itself the run would have until 5000.
    expect(performance.now() - startedMs).toBeLessThan(4500);
    await ended.promise;
  },
);
