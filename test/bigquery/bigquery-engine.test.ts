import { afterEach, expect, test, vi } from 'vitest';
import { createBigQueryEngine } from '../../src/bigquery/bigquery-engine.ts';
import { readTableMapping } from '../../src/bigquery/client/table-mapping.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { sourceTables } from './bigquery-environment.ts';
import {
  complete,
  dryRun,
  openScripted,
  type Script,
  type ScriptedEngine,
  savedSql,
} from './scripted-warehouse.ts';
import { refusal } from './warehouse-http.ts';

let opened: ScriptedEngine | undefined;

async function open(script: Script, options?: Parameters<typeof openScripted>[1]): Promise<ScriptedEngine> {
  opened = await openScripted(script, options);
  return opened;
}

afterEach(async () => {
  vi.unstubAllEnvs();
  await opened?.close();
});

const callerSql = 'select n\nfrom edge';
/** Lines of the saved subsets. */
const savedLines = 3;

test('contract 4.10: a text is dry-run once before it runs', async () => {
  const { run, asked } = await open({ results: [complete(['1'])] });
  await run({ callerSql });
  await run({ callerSql });
  await run({ callerSql: 'select n from edge' });
  const sent = asked.filter(({ what }) => what === 'dryRun' || what === 'insert');
  expect(sent.map(({ what }) => what)).toEqual(['dryRun', 'insert', 'insert', 'dryRun', 'insert']);
  const [first, second] = sent.map(({ body }) => body.configuration.query);
  expect(first.query).toBe(second.query);
  // A dry run that is answered from the query cache names no tables.
  expect(first.useQueryCache).toBe(false);
  expect(second.useQueryCache).toBeUndefined();
});

test.each([
  ['no query', dryRun({ statementType: 'INSERT' })],
  ['a script', dryRun({ statementType: 'SCRIPT' })],
  ['a query over another table', dryRun({ tables: ['acme-prod.logs.edge', 'acme-prod.logs.secrets'] })],
  ['a query over another project', dryRun({ tables: ['other.logs.edge'] })],
])('contract 4.10: what BigQuery calls %s does not run', async (_, answer) => {
  const { run, counts } = await open({ dryRun: [answer], results: [complete(['1'])] });
  const error = await run({ callerSql }).catch(thrown => thrown);
  expect(error).toMatchObject({ code: 'sandbox_refused' });
  expect(error.message).not.toMatch(/acme|secrets|other/);
  expect(counts()).toEqual({});
});

test('a dry run that failed inside of a good answer is no pass', async () => {
  const errorResult = { reason: 'invalidQuery', message: 'Bad things at [5:1]' };
  const { json } = dryRun();
  const failed = { json: { ...json, status: { state: 'DONE', errorResult, errors: [errorResult] } } };
  const { run, counts } = await open({ dryRun: [failed] });
  await expect(run({ callerSql })).rejects.toMatchObject({ position: { line: 2, column: 1 } });
  expect(counts()).toEqual({});
});

test('contract 4.5: what our own front-end refuses never goes out', async () => {
  const { run, asked } = await open({});
  for (const sql of [
    'select 1 as n from `acme-prod.logs.edge`',
    'drop table edge',
    'select nope(n) from edge',
  ]) {
    await expect(run({ callerSql: sql })).rejects.toMatchObject({ position: { line: 1 } });
  }
  expect(asked).toEqual([]);
});

test("an error has the line and the column of the caller's own text", async () => {
  const message = `Bad int64 value at [${savedLines + 2}:6]`;
  const { run } = await open({ insert: [refusal(400, 'invalidQuery', message)] });
  await expect(run({ callerSql })).rejects.toMatchObject({
    code: 'invalid_query',
    message: 'Bad int64 value at [2:6]',
    position: { line: 2, column: 6 },
  });
});

test("`invalid` is the caller's fault where the caller wrote SQL, and ours where the saved query is all there is", async () => {
  const { run } = await open({ insert: [refusal(400, 'invalid', `Bad window at [${savedLines + 2}:6]`)] });
  await expect(run({ callerSql })).rejects.toMatchObject({
    code: 'invalid_query',
    message: 'Bad window at [2:6]',
  });
  await expect(run()).rejects.toMatchObject({
    code: 'engine_failed',
    message: 'The warehouse refused the query',
  });
  await opened?.close();
  const unplaced = await open({ insert: [refusal(400, 'invalid', 'Bad window')] });
  await expect(unplaced.run()).rejects.toMatchObject({ code: 'engine_failed' });
  await expect(unplaced.run({ callerSql })).rejects.toMatchObject({ message: 'Bad window' });
});

test('a column is counted as our own front-end counts, past tabs and emoji too', async () => {
  const sql = "select\t'\u{1F600}' as face,\tn from edge";
  // Tabs reach to columns 9 and 25, the emoji is one character.
  const { run } = await open({ insert: [refusal(400, 'invalidQuery', `Bad n at [${savedLines + 1}:25]`)] });
  const error = await run({ callerSql: sql }).catch(thrown => thrown);
  expect(sql[error.position.column - 1]).toBe('n');
});

test.each([
  ['Not found: Table acme-prod:logs.edge was not found in location EU', 'notFound', 404],
  ['Access Denied: Table acme-prod:logs.edge: User does not have permission', 'accessDenied', 403],
  ['Cannot read acme-prod.logs.hidden at [4:1]', 'invalidQuery', 400],
  ['payer has no slots', 'invalidQuery', 400],
  ['Unrecognized name: secret_column at [2:3]', 'invalidQuery', 400],
])('no name of the warehouse and no saved SQL reaches a caller: %s', async (message, reason, status) => {
  const { run, events } = await open({ insert: [refusal(status, reason, message)] });
  const error = await run({ callerSql }).catch(thrown => thrown);
  expect(error.code).toBe('engine_failed');
  expect(error.message).not.toMatch(/acme|logs|hidden|payer|secret/);
  expect(error.position).toBeUndefined();
  expect(events).toEqual([{ type: 'warehouse.failed', endpoint: 'logs.all', reason, message }]);
});

test("a fault in the saved query's own text is for who writes it, not for who calls it", async () => {
  const fault = refusal(400, 'invalidQuery', 'Unrecognized name: hidden at [2:3]');
  const { run, engine } = await open({ dryRun: [fault], query: [fault] });
  await expect(run()).rejects.toMatchObject({
    code: 'engine_failed',
    message: expect.not.stringMatching('hidden'),
  });
  await expect(engine.describe({ sql: savedSql, parameters: [] })).rejects.toMatchObject({
    code: 'invalid_query',
    message: 'Unrecognized name: hidden at [2:3]',
    position: { line: 2, column: 3 },
  });
});

test('sources take the place of tables in a message', async () => {
  const message = 'Cannot query over table `acme-prod.logs.edge` without a filter over column(s)\nmore';
  const { run } = await open({ insert: [refusal(400, 'invalidQuery', message)] });
  await expect(run()).rejects.toThrow(
    'Cannot query over table cloudflare.logs.prod without a filter over column(s)',
  );
});

test('explains a statement without running it', async () => {
  const { engine, counts } = await open({});
  const signal = new AbortController().signal;
  const statement = { endpoint: 'logs.all', sql: savedSql, parameters: [], maxRows: 10 };
  expect(await engine.explain(statement, { signal, timeoutMs: 20_000 })).toEqual({
    columns: [{ name: 'n', type: 'INT64', mode: 'NULLABLE' }],
    sources: ['cloudflare.logs.prod'],
    estimatedBytes: 77,
  });
  expect(counts()).toEqual({});
});

test('describes a saved query with the position of its faults', async () => {
  const { engine } = await open({});
  const columns = await engine.describe({ sql: savedSql, parameters: [] });
  expect(columns).toEqual([{ name: 'n', type: 'INT64', mode: 'NULLABLE' }]);
  await expect(engine.describe({ sql: 'select nope', parameters: [] })).rejects.toMatchObject({
    code: 'invalid_query',
    position: { line: 1, column: 8 },
  });
});

test('a mapping of an unknown source stops the start', async () => {
  const mapping = readTableMapping(['postgres.log=acme-prod.logs.postgres']);
  const sources = [{ name: 'postgres.logs', columns: {} }];
  const options = { project: 'payer', mapping, sources, emit: () => undefined, random: () => 0 };
  await expect(createBigQueryEngine(options)).rejects.toThrow(
    'BIGQUERY_TABLES names postgres.log; the sources are postgres.logs',
  );
});

test('a start checks the project and every table of the mapping by a dry run', async () => {
  const { engine, asked, counts } = await open({});
  await engine.checkWarehouse();
  expect(counts()).toEqual({});
  expect(asked.map(({ body }) => body.configuration.query.query)).toEqual([
    'select 1',
    expect.stringMatching(/^select \* from `acme-prod\.logs\.edge` where/),
  ]);
});

test('a start goes on where each of its dry runs fails once: one table does not use up the retries of another', async () => {
  const { engine, interfere, asked } = await open(
    {},
    { mapping: readTableMapping(sourceTables.map(pair => pair.join('='))), sources: readSources() },
  );
  const failed = new Set<string>();
  interfere(({ body }) => {
    const text: string = body.configuration.query.query;
    if (failed.has(text)) return undefined;
    failed.add(text);
    return refusal(503, 'backendError');
  });
  await engine.checkWarehouse();
  expect(asked).toHaveLength(2 * (1 + sourceTables.length));
});

test("the server is the one of the settings, whatever Google's client reads from the environment", async () => {
  vi.stubEnv('BIGQUERY_EMULATOR_HOST', 'http://127.0.0.1:1');
  const { run } = await open({ results: [complete(['1'])] });
  expect((await run()).rowCount).toBe(1);
});
