import { cp } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import type { Engine, RunOptions } from '../../src/engine/engine.ts';
import { startLoopClock } from '../support/loop-clock.ts';
import { type Answered, openGateway } from '../support/open-gateway.ts';
import { startRedisServer } from '../support/redis-server.ts';

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

const n = { name: 'n', type: 'INT64', mode: 'NULLABLE' } as const;
const thing = { name: 'thing', type: 'STRING', mode: 'NULLABLE' } as const;

async function openOver(
  run: Engine['run'],
  environment: Record<string, string>,
  fill?: (directory: string) => Promise<void>,
) {
  const gateway = await openGateway({
    sqlFiles,
    ...(fill && { fill }),
    environment: { QUERY_TIMEOUT_MS: String(queryTimeoutMs), BATCH_WINDOW_MS: '0', ...environment },
    engine: { run, describe: async ({ sql }) => (sql.includes('unnest') ? [thing, n] : [n]) },
  });
  onTestFinished(gateway.close);
  return gateway;
}

/** Ends with the signal or at the time-out, as engines do, unless the time is over before. */
async function takeTime(ms: number, { signal, timeoutMs }: RunOptions): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  await sleep(ms, undefined, { signal: limit }).catch(() => {
    throw signal.aborted
      ? signal.reason
      : new GatewayError('deadline_exceeded', 'The query did not finish in time');
  });
}

/** Opens a gateway over an engine of which each run takes its time, and fails for what is in it. */
async function openSlow(runMs: number) {
  const runs: RunOptions[] = [];
  const run: Engine['run'] = async (_statement, options) => {
    runs.push(options);
    await takeTime(runMs, options);
    throw new GatewayError('invalid_query', 'pattern too large');
  };
  const gateway = await openOver(run, {});
  const ask = async (count: number) => {
    const fields = Array.from({ length: count }, (_, at) => `f${at}: things(thing: "thing ${at}") { n }`);
    return (await gateway.graphql(`{ ${fields.join(' ')} }`)).body;
  };
  return { ask, runs };
}

test('an operation whose batch is halved again and again ends at its deadline (contract 11.6)', async () => {
  const { ask, runs } = await openSlow(900);
  const body = await ask(64);
  // Halving down to the single fields would take 127 runs, two minutes.
  expect(runs.length).toBeLessThan(20);
  const codes = body.errors.map(({ extensions }: { extensions: { code: string } }) => extensions.code);
  expect([codes.length, new Set(codes)]).toEqual([64, new Set(['deadline_exceeded'])]);
});

test('runs of one batch share its time', async () => {
  const { ask, runs } = await openSlow(900);
  await ask(64);
  const left = runs.map(({ timeoutMs }) => timeoutMs);
  expect(left.length).toBeGreaterThan(1);
  // One that ended with its time may leave a few milliseconds, in which one more begins.
  for (let at = 1; at < left.length; at++)
    expect(left[at]).toBeLessThanOrEqual(Math.max(10, left[at - 1]! - 600));
});

test.each(['REST', 'GraphQL', 'an agent'])(
  'contract 11.6: %s is answered within 250 ms of its deadline, whatever the engine does',
  async handler => {
    const stuck = Promise.withResolvers<never>();
    // It hears no signal, and knows no time-out.
    const gateway = await openOver(() => stuck.promise, {});
    onTestFinished(() => stuck.reject(new Error('the test is over')));
    const post = (path: string, body: object) =>
      gateway.send(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify(body),
      });
    const asks: Record<string, () => Promise<Answered>> = {
      REST: () => post('/api/endpoints/query/things', { thing: 'a' }),
      GraphQL: () => gateway.graphql('{ a: things(thing: "a") { n } b: things(thing: "b") { n } }'),
      'an agent': () => {
        const params = { name: 'things', arguments: { thing: 'a' } };
        return post('/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      },
    };
    const tookMs = startLoopClock();
    const { text } = await asks[handler]!();
    expect(tookMs()).toBeLessThan(queryTimeoutMs + 250);
    expect(text).toContain(`did not finish within ${queryTimeoutMs} ms`);
  },
);

test.each(['REST', 'GraphQL'])(
  "%s: the wait for another gateway's query and a run of one's own share the time of the request",
  async handler => {
    const redis = await startRedisServer();
    onTestFinished(redis.stop);
    const [first, second] = [Promise.withResolvers<RunOptions>(), Promise.withResolvers<RunOptions>()];
    const open = (
      started: PromiseWithResolvers<RunOptions>,
      timeoutMs: number,
      fill?: (directory: string) => Promise<void>,
    ) =>
      openOver(
        async (_statement, options) => {
          started.resolve(options);
          await takeTime(60_000, options);
          throw new Error('more time than any request has');
        },
        { REDIS_URL: redis.url, QUERY_TIMEOUT_MS: String(timeoutMs) },
        fill,
      );
    // Its time is over long before that of who waits for its query.
    const other = await open(first, 2000);
    // Gateways share what is made of the same rows.
    const gateway = await open(second, 5000, directory =>
      cp(other.directory, directory, { recursive: true }),
    );
    const path = '/api/endpoints/query/things?thing=a';
    const failed = other.get(path);
    await first.promise;

    const answer = handler === 'REST' ? gateway.get(path) : gateway.graphql('{ things(thing: "a") { n } }');
    await gateway.event('cache.waiting');
    expect((await failed).body.error.code).toBe('deadline_exceeded');
    const { signal } = await second.promise;
    const tookMs = startLoopClock();
    const { error, errors } = (await answer).body;
    expect((error ?? errors[0].extensions).code).toBe('deadline_exceeded');
    // What is left of its time; a time of its own would be all of it.
    expect(tookMs()).toBeLessThan(5000 - 1200);
    expect(signal.aborted).toBe(true);
  },
);
