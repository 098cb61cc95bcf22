import { expect, test } from 'vitest';
import { startLimit } from '../../src/base/time-limit.ts';
import { jobAnswer } from '../../src/bigquery/answers/bigquery-answers.ts';
import { createRetryBudget, startRetries } from '../../src/bigquery/client/retries.ts';
import { readTableMapping } from '../../src/bigquery/client/table-mapping.ts';
import { createDryRunGuard } from '../../src/bigquery/dry-run-guard.ts';

const edge = { projectId: 'acme', datasetId: 'logs', tableId: 'edge' };

/** The retries of a dry run, which are none. */
function startWaiting() {
  const limit = startLimit({ signal: new AbortController().signal, timeoutMs: 20_000 });
  const policy = {
    budget: createRetryBudget(),
    random: () => 0,
    maxRetries: 0,
    baseMs: 0,
    onRetry: () => undefined,
  };
  return { limit, retries: startRetries(policy, limit) };
}

/** Holds a text against what a dry run says of it. */
async function check(
  statistics: object,
  { isEmulator = false, sources = ['cloudflare.logs.prod'] } = {},
): Promise<void> {
  const guard = createDryRunGuard({
    api: { insert: async () => jobAnswer.parse({ jobReference: {}, status: { state: 'DONE' }, statistics }) },
    mapping: readTableMapping(['cloudflare.logs.prod=acme.logs.edge', 'postgres.logs=acme.logs.postgres']),
    isEmulator,
  });
  const waiting = startWaiting();
  const request = { text: 'select 1', sources, parameters: [] };
  await guard.check(request, waiting).finally(waiting.limit.clear);
}

test("contract 4.10: BigQuery's verdict of a query over the tables of its sources lets it through", async () => {
  const query = { statementType: 'SELECT', referencedTables: [edge] };
  await expect(check({ query })).resolves.toBeUndefined();
});

test("contract 4.10: BigQuery's verdict of a query that reads nothing lets it through", async () => {
  const nothing = { totalBytesProcessed: '0', query: { statementType: 'SELECT' } };
  await expect(check(nothing, { sources: [] })).resolves.toBeUndefined();
});

test('contract 4.10: a text that reads the table of another source than it says is refused', async () => {
  const postgres = { ...edge, tableId: 'postgres' };
  for (const referencedTables of [[postgres], [edge, postgres]]) {
    const verdict = check({ query: { statementType: 'SELECT', referencedTables } });
    await expect(verdict).rejects.toMatchObject({ code: 'sandbox_refused' });
  }
});

test.each([
  ['bytes without tables', { totalBytesProcessed: '10', query: { statementType: 'SELECT' } }],
  ['neither bytes nor tables', { query: { statementType: 'SELECT' } }],
  ['no statement', { totalBytesProcessed: '0', query: {} }],
  ['nothing', {}],
])('contract 4.10: a verdict of BigQuery with %s is a refusal', async (_, statistics) => {
  await expect(check(statistics)).rejects.toMatchObject({ code: 'sandbox_refused' });
});

test('contract 4.10: a text that reads sources passes only when BigQuery names tables, cost it bytes or not', async () => {
  const silent = { totalBytesProcessed: '0', query: { statementType: 'SELECT', cacheHit: true } };
  const sources = ['cloudflare.logs.prod'];
  await expect(check(silent, { sources })).rejects.toMatchObject({ code: 'sandbox_refused' });
  const named = { ...silent, query: { ...silent.query, referencedTables: [edge] } };
  await expect(check(named, { sources })).resolves.toBeUndefined();
});

test('what an emulator does not say is no refusal; what it says counts', async () => {
  const absent = { totalBytesProcessed: null, query: { statementType: 'SELECT', referencedTables: null } };
  for (const statistics of [{}, { query: {} }, { query: { statementType: 'SELECT' } }, absent]) {
    await expect(check(statistics, { isEmulator: true })).resolves.toBeUndefined();
  }
  const other = { ...edge, tableId: 'secrets' };
  for (const query of [{ statementType: 'SELECT', referencedTables: [other] }, { statementType: 'INSERT' }]) {
    await expect(check({ query }, { isEmulator: true })).rejects.toMatchObject({ code: 'sandbox_refused' });
  }
});

test('a verdict is remembered for the types of its parameters: with others the same text is another query', async () => {
  let asked = 0;
  const select = { totalBytesProcessed: '0', query: { statementType: 'SELECT' } };
  const guard = createDryRunGuard({
    api: {
      insert: async () => {
        asked += 1;
        return jobAnswer.parse({ jobReference: {}, status: { state: 'DONE' }, statistics: select });
      },
    },
    mapping: new Map(),
    isEmulator: false,
  });
  const waiting = startWaiting();
  const ask = (value: string | readonly string[], type: 'STRING' | 'INT64') =>
    guard.check({ text: 'select @p', sources: [], parameters: [{ name: 'p', value, type }] }, waiting);
  await ask('1', 'INT64');
  await ask('2', 'INT64');
  expect(asked).toBe(1);
  await ask('1', 'STRING');
  await ask(['1'], 'INT64');
  expect(asked).toBe(3);
  waiting.limit.clear();
});

test('contract 11.3: verdicts of long texts take no more memory than those of short ones', async () => {
  let asked = 0;
  const statistics = { totalBytesProcessed: '0', query: { statementType: 'SELECT' } };
  const guard = createDryRunGuard({
    api: {
      async insert() {
        asked++;
        return jobAnswer.parse({ jobReference: {}, status: { state: 'DONE' }, statistics });
      },
    },
    mapping: readTableMapping(['cloudflare.logs.prod=acme.logs.edge']),
    isEmulator: false,
  });
  const check = async (text: string) => {
    const waiting = startWaiting();
    await guard.check({ text, sources: [], parameters: [] }, waiting).finally(waiting.limit.clear);
  };
  const long = (n: number) => `select ${n}${' '.repeat(100_000)}`;
  await check('select 1');
  for (let n = 0; n < 2; n++) await check(long(0));
  expect(asked).toBe(2);
  for (let n = 0; n < 200; n++) await check(long(n));
  await check(long(0));
  expect(asked).toBe(2 + 199 + 1);
});
