import { afterEach, expect, test } from 'vitest';
import { emulatorDryRun, emulatorIncomplete, emulatorRefusal, emulatorRows } from './emulator-answers.ts';
import { openScripted, type Script, type ScriptedEngine } from './scripted-warehouse.ts';
import { refusal } from './warehouse-http.ts';

let opened: ScriptedEngine | undefined;

async function open(script: Script, options?: Parameters<typeof openScripted>[1]): Promise<ScriptedEngine> {
  opened = await openScripted({ dryRun: [emulatorDryRun()], ...script }, options);
  return opened;
}

afterEach(() => opened?.close());

const n = { name: 'n', type: 'INTEGER' };
const callerSql = 'select n\nfrom edge';
const noSuchJob = emulatorRefusal(404, 'notFound', 'job MdKKn2vX is not found');

test('an emulator that says nothing of tables, bytes and locations answers a query', async () => {
  const { run, counts } = await open({ results: [emulatorRows([n], [['1'], [null]])], job: [noSuchJob] });
  expect(await run({ callerSql })).toMatchObject({
    columns: [{ name: 'n', type: 'INT64', mode: 'NULLABLE' }],
    rowsJson: Buffer.from('[{"n":1},{"n":null}]'),
    receipt: { bytesProcessed: 0, jobId: expect.stringMatching(/^gateway_/) },
  });
  expect(counts()).toEqual({ insert: 1, results: 1, job: 1 });
});

test('an emulator that knows no pages is cut off at max rows', async () => {
  const { run } = await open({ results: [emulatorRows([n], [['1'], ['2'], ['3']])], job: [noSuchJob] });
  expect(await run({ maxRows: 2 })).toMatchObject({
    rowCount: 2,
    rowsJson: Buffer.from('[{"n":1},{"n":2}]'),
  });
});

test('a column that an emulator has no name for has the name that BigQuery gives it', async () => {
  const pair = { name: '$col2', type: 'RECORD', fields: [{ name: '', type: 'INTEGER' }, n] };
  const row = ['3', { f: [{ v: '1' }, { v: '2' }] }];
  const { run } = await open({
    results: [emulatorRows([{ name: '$col1', type: 'INTEGER' }, pair], [row])],
    job: [noSuchJob],
  });
  const result = await run({ callerSql: 'select count(*), struct(1, 2 as n) from edge' });
  expect(result.rowsJson.toString()).toBe('[{"f0_":3,"f1_":{"_field_1":1,"n":2}}]');
});

test('timestamps as integers are asked for in the address: forks of the emulator look there alone', async () => {
  const { run, asked } = await open({ results: [emulatorRows([n], [])], job: [noSuchJob] });
  await run();
  const page = asked.find(({ what }) => what === 'results');
  expect(page?.params.get('formatOptions.useInt64Timestamp')).toBe('true');
});

test('null is as good as nothing: a job that runs in the background is waited for', async () => {
  const { run, counts, events } = await open({
    results: [emulatorIncomplete, emulatorRows([n], [['1']])],
    job: [noSuchJob],
  });
  expect((await run()).rowCount).toBe(1);
  expect(counts()).toMatchObject({ results: 2 });
  expect(events).toEqual([]);
});

test('explains by our own front-end what an emulator does not say', async () => {
  const { engine } = await open({});
  const sql = 'select id from `cloudflare.logs.prod`';
  const statement = { endpoint: 'logs.all', sql, parameters: [], maxRows: 10 };
  const run = { signal: new AbortController().signal, timeoutMs: 20_000 };
  expect(await engine.explain(statement, run)).toEqual({
    columns: [{ name: 'id', type: 'STRING', mode: 'NULLABLE' }],
    sources: ['cloudflare.logs.prod'],
  });
});

test("an emulator's dry run runs, so it is sent the parameters without their values", async () => {
  const { run, asked } = await open({ results: [emulatorRows([n], [])], job: [noSuchJob] });
  const parameters = [
    { name: 'project', value: 'p1' },
    { name: 'projects', value: ['a'] },
  ];
  await run({ parameters, callerSql: 'select n from edge where @project in unnest(@projects)' });
  const [dryRun, job] = asked.map(({ body }) => body);
  expect(dryRun.configuration.query.queryParameters).toEqual([
    { name: 'project', parameterType: { type: 'STRING' }, parameterValue: { value: null } },
    {
      name: 'projects',
      parameterType: { type: 'ARRAY', arrayType: { type: 'STRING' } },
      parameterValue: { arrayValues: [] },
    },
  ]);
  expect(job.configuration.query.queryParameters[0].parameterValue).toEqual({ value: 'p1' });
});

const analysis = 'failed to analyze: INVALID_ARGUMENT: Unrecognized name: m; Did you mean n? [at 5:6]';

test.each<[string, Script]>([
  ['a dry run', { dryRun: [emulatorDryRun({ reason: 'jobInternalError', message: analysis })] }],
  ['jobs.insert', { insert: [emulatorRefusal(400, 'jobInternalError', analysis)] }],
  ['a fork', { insert: [emulatorRefusal(400, 'invalidQuery', analysis.replace(/^.*?: /, ''))] }],
])("%s: bad SQL has the place in the caller's text, and is not tried again", async (_, script) => {
  const { run, events, asked } = await open(script);
  await expect(run({ callerSql })).rejects.toMatchObject({
    code: 'invalid_query',
    message: 'Unrecognized name: m; Did you mean n? at [2:6]',
    position: { line: 2, column: 6 },
  });
  expect(events).toEqual([]);
  expect(asked.length).toBeLessThanOrEqual(2);
});

test('a refusal without a list of errors has its reason in the status', async () => {
  const error = { code: 400, message: 'Syntax error at [4:8]', status: 'invalidQuery' };
  const { run } = await open({ dryRun: [{ status: 400, json: { error } }] });
  await expect(run({ callerSql })).rejects.toMatchObject({ code: 'invalid_query', position: { line: 1 } });
});

test.each<[string, Script]>([
  [
    'a dry run',
    { dryRun: [emulatorDryRun({ reason: 'jobInternalError', message: 'failed to query SELECT secret' })] },
  ],
  ['jobs.insert', { insert: [emulatorRefusal(400, 'jobInternalError', 'failed to query SELECT secret')] }],
])('%s: a query that fails is not tried again, and its SQL stays in the log', async (_, script) => {
  const { run, events, asked } = await open(script);
  await expect(run({ callerSql })).rejects.toMatchObject({
    code: 'invalid_query',
    message: 'The query failed at the warehouse',
  });
  expect(events).toEqual([
    {
      type: 'warehouse.failed',
      endpoint: 'logs.all',
      reason: 'queryFailed',
      message: 'failed to query SELECT secret',
    },
  ]);
  expect(asked.length).toBeLessThanOrEqual(2);
});

test('what BigQuery itself calls an internal error of a job may pass, in a dry run too', async () => {
  const { run, asked } = await open({
    dryRun: [refusal(400, 'jobInternalError'), emulatorDryRun()],
    results: [emulatorRows([n], [['1']])],
    job: [noSuchJob],
  });
  expect((await run()).rowCount).toBe(1);
  expect(asked.slice(0, 3).map(({ what }) => what)).toEqual(['dryRun', 'dryRun', 'insert']);
});

test('batch jobs of an emulator are done before they are asked for', async () => {
  const { run, counts } = await open(
    { insert: [emulatorDryRun()], results: [emulatorRows([n], [['1'], ['2']])], job: [emulatorDryRun()] },
    { backgroundPriority: 'BATCH' },
  );
  expect((await run({ maxRows: 1 }, { priority: 'background' })).rowCount).toBe(1);
  expect(counts()).toEqual({ insert: 1, results: 1, job: 1 });
});

test('a text that names no parameter is sent none: an emulator refuses them there', async () => {
  const { run, asked } = await open({ results: [emulatorRows([n], [['1']])], job: [noSuchJob] });
  await run({ parameters: [{ name: 'project', value: 'p1' }] });
  const [dryRun] = asked.map(({ body }) => body);
  expect(dryRun.configuration.query).not.toHaveProperty('queryParameters');
  expect(dryRun.configuration.query).not.toHaveProperty('parameterMode');
});

test.each([
  ['jobInternalError', 'failed to add query result to dynamic destination table: failed to create table CREATE TABLE `test.j.j` (`limit` INT64): failed to parse statements: failed to parse statement: Syntax error: Unexpected keyword LIMIT [at 1:40]'],
  ['internalError', 'runtime error: invalid memory address or nil pointer dereference'],
])('a query that breaks the emulator itself, %s, is not tried again and has no place: %s', async (reason, message) => {
  const { run, events, asked } = await open({ dryRun: [emulatorRefusal(500, reason, message)] });
  await expect(run({ callerSql })).rejects.toMatchObject({
    code: 'invalid_query',
    message: 'The query failed at the warehouse',
    position: undefined,
  });
  expect(events).toMatchObject([{ type: 'warehouse.failed', reason: 'queryFailed', message }]);
  expect(asked.length).toBe(1);
}); // biome-ignore format: a table

test('a job that an emulator calls failed at once is not started again: that is how a bad value ends there', async () => {
  const errorResult = {
    reason: 'jobInternalError',
    message: 'failed to scan rows: strconv.ParseInt: parsing "a"',
  };
  const { run, events, counts } = await open({ insert: [emulatorDryRun(errorResult)] });
  await expect(run({ callerSql })).rejects.toMatchObject({
    code: 'invalid_query',
    message: 'The query failed at the warehouse',
  });
  expect(events).toMatchObject([{ type: 'warehouse.failed', reason: 'queryFailed' }]);
  expect(counts()).toEqual({ insert: 1 });
});
