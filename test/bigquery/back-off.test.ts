import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { BigQueryFailure } from '../../src/bigquery/answers/bigquery-failure.ts';
import { createRetryBudget, pauseBefore } from '../../src/bigquery/client/retries.ts';
import { complete, openScripted, type Script, type ScriptedEngine } from './scripted-warehouse.ts';
import { refusal } from './warehouse-http.ts';

let opened: ScriptedEngine | undefined;

async function open(script: Script, options?: Parameters<typeof openScripted>[1]): Promise<ScriptedEngine> {
  opened = await openScripted(script, options);
  return opened;
}

afterEach(() => opened?.close());

const busy = refusal(403, 'rateLimitExceeded');
const asked = (seconds: string) => ({ ...busy, headers: { 'retry-after': seconds } });
const plain = new BigQueryFailure('rateLimitExceeded', '');

test('pauses double from one second to 32, never shorter, and up to a quarter longer', () => {
  const pauses = (drawn: number) =>
    [0, 1, 2, 3, 4, 5, 6, 20].map(retries =>
      pauseBefore(retries, { baseMs: 1000, random: () => drawn }, plain),
    );
  expect(pauses(0)).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 32_000, 32_000]);
  expect(pauses(1)).toEqual([1250, 2500, 5000, 10_000, 20_000, 40_000, 40_000, 40_000]);
});

test('a budget of retries that is used up has one more for every ten queries, and never more than at first', () => {
  const budget = createRetryBudget(2);
  const takeAll = () => {
    let taken = 0;
    while (budget.take()) taken += 1;
    return taken;
  };
  const earn = (queries: number) => {
    for (let n = 0; n < queries; n++) budget.earn();
  };
  expect(takeAll()).toBe(2);
  earn(9);
  expect(takeAll()).toBe(0);
  earn(1);
  expect(takeAll()).toBe(1);
  earn(1000);
  expect(takeAll()).toBe(2);
});

test('Retry-After is kept where it is longer than the back-off', () => {
  const failure = (retryAfterSeconds: number) => new BigQueryFailure('', '', { retryAfterSeconds });
  const policy = { baseMs: 1000, random: () => 0 };
  expect(pauseBefore(0, policy, failure(7))).toBe(7000);
  expect(pauseBefore(4, policy, failure(7))).toBe(16_000);
});

test('a server that asks for a second is left alone for a second, and by default so is one that does not ask', async () => {
  for (const [script, options] of [
    [{ insert: [asked('1'), 'asUsual'] }, {}],
    [{ insert: [busy, 'asUsual'] }, { retryBaseMs: undefined }],
  ] as const) {
    const { run, asked: requests, close } = await open(script, options);
    expect((await run()).rowCount).toBe(1);
    const [first, second] = requests.filter(({ what }) => what === 'insert');
    expect(second!.atMs - first!.atMs).toBeGreaterThanOrEqual(999);
    await close();
  }
});

test('a request that can not wait as long as the server asks learns at once when to retry', async () => {
  const { run, counts } = await open({ insert: [asked('77')] });
  await expect(run()).rejects.toMatchObject({ code: 'overloaded', status: 503, retryAfterSeconds: 77 });
  expect(counts()).toEqual({ insert: 1 });
});

test('Retry-After is kept though the body of the failure can not be read', async () => {
  const stream = async (response: ServerResponse) => {
    response.writeHead(503, { 'content-encoding': 'gzip', 'retry-after': '77' });
    response.end('no gzip');
  };
  const { run, counts } = await open({ insert: [{ stream }] });
  await expect(run()).rejects.toMatchObject({ code: 'unavailable', retryAfterSeconds: 77 });
  expect(counts()).toEqual({ insert: 1 });
});

test.each(['', 'soon', '-1', 'Wed, 21 Oct 2026 07:28:00 GMT', '99999999'])(
  'a Retry-After that is no number of seconds counts as none: %j',
  async seconds => {
    const { run } = await open({ insert: [asked(seconds)] }, { maxRetries: 0 });
    await expect(run()).rejects.toMatchObject({ code: 'overloaded', retryAfterSeconds: 1 });
  },
);

test('a wait for a page is no reason to ask for its job again', async () => {
  const { run, counts } = await open({
    results: [
      complete(['1'], { totalRows: '2', pageToken: 'b' }),
      asked('0'),
      complete(['2'], { totalRows: '2' }),
    ],
  });
  expect((await run()).rowsJson.toString()).toBe('[{"n":1},{"n":2}]');
  expect(counts()).toEqual({ insert: 1, results: 3, job: 1 });
});
