import { afterEach, expect, test, vi } from 'vitest';
import {
  complete,
  incomplete,
  openScripted,
  type Script,
  type ScriptedEngine,
} from './scripted-warehouse.ts';
import { type Deed, refusal } from './warehouse-wire.ts';

let opened: ScriptedEngine | undefined;

async function open(script: Script, options?: Parameters<typeof openScripted>[1]): Promise<ScriptedEngine> {
  opened = await openScripted(script, options);
  return opened;
}

afterEach(() => opened?.close());

test('a quick query is one round trip, with its receipt', async () => {
  const { run, asked, counts } = await open({ query: [complete(['9007199254740993'])] });
  const parameters = [
    { name: 'project', value: 'p1' },
    { name: 'start', value: null },
    { name: 'projects', value: ['a', ''] },
  ];
  const result = await run({ parameters }, { labels: { endpoint: 'logs.all' }, maxBytesBilled: 5000 });
  expect(result.rowsJson.toString()).toBe('[{"n":9007199254740993}]');
  expect(result).toMatchObject({
    columns: [{ name: 'n', type: 'INT64', mode: 'NULLABLE' }],
    rowCount: 1,
    receipt: { bytesProcessed: 10, bytesBilled: 20, slotMs: 30, jobId: 'job_1' },
  });
  expect(counts()).toEqual({ query: 1 });
  expect(asked.at(-1)?.body).toMatchObject({
    query: expect.stringContaining('from `acme-prod.logs.edge`'),
    useLegacySql: false,
    location: 'EU',
    maxResults: 1000,
    maximumBytesBilled: '5000',
    formatOptions: { useInt64Timestamp: true },
    jobCreationMode: 'JOB_CREATION_REQUIRED',
    labels: { endpoint: 'logs_all' },
    parameterMode: 'NAMED',
    queryParameters: [
      { name: 'project', parameterType: { type: 'STRING' }, parameterValue: { value: 'p1' } },
      { name: 'start', parameterType: { type: 'STRING' }, parameterValue: { value: null } },
      {
        name: 'projects',
        parameterType: { type: 'ARRAY', arrayType: { type: 'STRING' } },
        parameterValue: { arrayValues: [{ value: 'a' }, { value: '' }] },
      },
    ],
  });
});

test('labels are made to fit, and what can not be is left out: no query fails for a label', async () => {
  const { run, asked } = await open({ query: [complete(['1'])] });
  const labelsOf = async (labels: Record<string, string>) => {
    await run({}, { labels });
    return asked.findLast(({ what }) => what === 'query')?.body.labels;
  };
  expect(
    await labelsOf({
      'Token-Id': 'One.1 Ünï',
      long: '9'.repeat(70),
      ['k'.repeat(70)]: '',
      größe: '𝒳é名',
      '1st': 'x',
      _own: 'x',
      '': 'x',
    }),
  ).toEqual({
    'token-id': 'one_1_ünï',
    long: '9'.repeat(63),
    ['k'.repeat(63)]: '',
    größe: '_é名',
  });
  const many = Array.from({ length: 70 }, (_, n) => [`key-${n}`, ''] as const);
  expect(Object.keys(await labelsOf(Object.fromEntries(many)))).toEqual(
    many.slice(0, 64).map(([key]) => key),
  );
});

test('an incomplete answer is never an empty success: the job is asked until it has ended', async () => {
  const { run, counts, asked } = await open({
    query: [incomplete],
    results: [incomplete, incomplete, complete(['1', '2'])],
  });
  expect((await run()).rowsJson.toString()).toBe('[{"n":1},{"n":2}]');
  expect(counts()).toEqual({ query: 1, results: 3, job: 1 });
  const last = asked.findLast(({ what }) => what === 'results');
  expect(last?.params.get('location')).toBe('EU');
  expect(last?.params.get('formatOptions.useInt64Timestamp')).toBe('true');
});

test('follows pages up to max rows, and no further', async () => {
  const { run, asked, counts } = await open({
    query: [complete(['1', '2'], { totalRows: '5', pageToken: 'b' })],
    results: [complete(['3', '4'], { totalRows: '5', pageToken: 'c' })],
  });
  const result = await run({ maxRows: 3 });
  expect(result.rowsJson.toString()).toBe('[{"n":1},{"n":2},{"n":3}]');
  expect(counts()).toEqual({ query: 1, results: 1 });
  expect(Object.fromEntries(asked.at(-1)!.params)).toMatchObject({ pageToken: 'b', maxResults: '1' });
});

test('asks the job what it cost where the answer does not say', async () => {
  const { run } = await open({
    query: [complete(['1'], { totalBytesBilled: undefined, totalSlotMs: undefined })],
    job: [{ json: { statistics: { totalSlotMs: '9', query: { totalBytesBilled: '8' } } } }],
  });
  expect((await run()).receipt).toEqual({ bytesProcessed: 10, bytesBilled: 8, slotMs: 9, jobId: 'job_1' });
});

test('background queries are batch jobs with a name of ours where that is configured', async () => {
  const { run, asked } = await open(
    { insert: [refusal(503, 'backendError'), refusal(409, 'duplicate')], results: [complete(['1'])] },
    { backgroundPriority: 'BATCH' },
  );
  expect((await run({}, { priority: 'background' })).rowCount).toBe(1);
  const inserts = asked.filter(({ what }) => what === 'insert');
  const names = inserts.map(({ body }) => body.jobReference.jobId);
  expect(names).toEqual([expect.stringMatching(/^gateway_/), names[0]]);
  expect(inserts[0]?.body.configuration.query.priority).toBe('BATCH');
  expect(asked.findLast(({ what }) => what === 'results')?.path).toContain(`/queries/${names[0]}`);
});

test.each<[string, Deed]>([
  ['backendError', refusal(503, 'backendError')],
  ['internalError', refusal(500, 'internalError')],
  ['rateLimitExceeded', refusal(403, 'rateLimitExceeded')],
  ['a 502 without JSON', { status: 502, text: '<html>Bad gateway</html>' }],
  ['a reset connection', 'reset'],
  ['a 429 without JSON', { status: 429, text: 'slow down' }],
  ['wrong JSON', { text: '{"jobComplete":tr' }],
  ['JSON that is no answer', { json: { rows: 5 } }],
  ['half a page', 'halfAPage'],
])('%s: the same request is sent again, and runs once', async (_, fault) => {
  const { run, asked, events } = await open({ query: [fault, fault, complete(['1'])] });
  expect((await run()).rowCount).toBe(1);
  const ids = asked.filter(({ what }) => what === 'query').map(({ body }) => body.requestId);
  expect(ids).toHaveLength(3);
  expect(new Set(ids).size).toBe(1);
  expect(events.filter(({ type }) => type === 'warehouse.retried')).toHaveLength(2);
});

test.each(['jobBackendError', 'jobInternalError', 'jobRateLimitExceeded', 'tableUnavailable'])(
  '%s: the job is over, another one is started',
  async reason => {
    const { run, asked } = await open({ query: [refusal(400, reason), complete(['1'])] });
    expect((await run()).rowCount).toBe(1);
    const ids = asked.filter(({ what }) => what === 'query').map(({ body }) => body.requestId);
    expect(new Set(ids).size).toBe(2);
  },
);

test('a lost job is started anew', async () => {
  const { run, counts } = await open({
    query: [incomplete],
    results: [refusal(404, 'notFound', 'Not found: Job payer:EU.job_1'), complete(['1'])],
  });
  expect((await run()).rowCount).toBe(1);
  expect(counts()).toEqual({ query: 2, results: 2, job: 1 });
});

test('a job that found no table is not lost: it has failed', async () => {
  const message = 'Not found: Table acme-prod:logs.edge was not found in location EU';
  const { run, counts } = await open({ query: [incomplete], results: [refusal(404, 'notFound', message)] });
  await expect(run()).rejects.toMatchObject({ code: 'engine_failed' });
  expect(counts()).toEqual({ query: 1, results: 1 });
});

test('a job that twice answers with a backend error has failed, and another one is started', async () => {
  const fault = refusal(503, 'backendError');
  const { run, counts } = await open({ query: [incomplete], results: [fault, fault, complete(['1'])] });
  expect((await run()).rowCount).toBe(1);
  expect(counts()).toEqual({ query: 2, results: 3, job: 1 });
});

test.each([
  ['quotaExceeded', 403, 'engine_failed', true],
  ['invalidQuery', 400, 'invalid_query', false],
  ['accessDenied', 403, 'engine_failed', true],
  ['bytesBilledLimitExceeded', 400, 'engine_failed', true],
  ['resourcesExceeded', 400, 'engine_failed', false],
  ['responseTooLarge', 403, 'result_too_large', false],
  ['notFound', 404, 'engine_failed', true],
  ['notImplemented', 501, 'engine_failed', false],
  ['somethingNew', 400, 'engine_failed', false],
])(
  '%s: not tried again, and known to be the same for other values or not',
  async (reason, status, code, isOfSource) => {
    const { run, counts } = await open({ query: [refusal(status, reason)] });
    await expect(run()).rejects.toMatchObject({ name: 'GatewayError', code, isOfSource });
    expect(counts()).toEqual({ query: 1 });
  },
);

test('a refusal for the limit of bytes names it where it is of this run, not of all', async () => {
  const { run, asked } = await open(
    { query: [refusal(400, 'bytesBilledLimitExceeded')] },
    { maxBytesBilled: 1000 },
  );
  for (const [maxBytesBilled, bytesLimit] of [
    [999, 999],
    [1000, undefined],
    [5000, undefined],
    [undefined, undefined],
  ]) {
    const refused = run({}, { maxBytesBilled });
    await expect(refused).rejects.toMatchObject({ code: 'engine_failed', bytesLimit });
  }
  const limits = asked.filter(({ what }) => what === 'query').map(({ body }) => body.maximumBytesBilled);
  expect(limits).toEqual(['999', '1000', '1000', '1000']);
});

test.each([
  ['backendError', 503, 'unavailable'],
  ['rateLimitExceeded', 403, 'overloaded'],
  ['jobBackendError', 400, 'unavailable'],
  ['jobRateLimitExceeded', 400, 'overloaded'],
])('%s: gives up after its retries', async (reason, status, code) => {
  const { run, counts } = await open({ query: [refusal(status, reason)] }, { maxRetries: 3 });
  await expect(run()).rejects.toMatchObject({ code });
  expect(counts()).toEqual({ query: 4 });
});

test('a job that BigQuery ends at the time limit it was given ran out of time', async () => {
  const fault = refusal(499, 'stopped', 'Job execution was cancelled: Job timed out after 4s');
  const { run, counts } = await open({ query: [incomplete], results: [fault] });
  await expect(run()).rejects.toMatchObject({ code: 'deadline_exceeded' });
  expect(counts()).toEqual({ query: 1, results: 1 });
});

test('retries are bounded over all queries, too', async () => {
  const { run, counts } = await open({ query: [refusal(503, 'backendError')] });
  const storm = Array.from({ length: 30 }, () => run().catch(error => error.code));
  expect(new Set(await Promise.all(storm))).toEqual(new Set(['unavailable']));
  expect(counts().query).toBeLessThanOrEqual(30 + 20 + 3);
});

test.each<[string, Script]>([
  ['a start that hangs', { query: ['hang'] }],
  ['an answer that hangs after its headers', { query: ['hangAfterHeaders'] }],
  ['a poll that hangs', { query: [incomplete], results: ['hang'] }],
  ['a job that never ends', { query: [incomplete], results: [incomplete] }],
  ['a page that hangs', { query: [complete(['1'], { totalRows: '2', pageToken: 'b' })], results: ['hang'] }],
  ['a lock that hangs', { dryRun: ['hang'] }],
  ['faults without end', { query: [refusal(503, 'backendError')] }],
])('%s does not outlive its deadline', async (_, script) => {
  const { run } = await open(script, { maxRetries: 1000 });
  const start = performance.now();
  const error = await run({}, { timeoutMs: 150 }).catch(thrown => thrown);
  expect(['deadline_exceeded', 'unavailable']).toContain(error.code);
  expect(performance.now() - start).toBeLessThan(400);
});

test('nobody waiting any more cancels the job', async () => {
  const { run, asked } = await open({ query: [incomplete], results: ['hang'] });
  const leaving = new AbortController();
  const answer = run({}, { signal: leaving.signal });
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('results'));
  leaving.abort();
  await expect(answer).rejects.toMatchObject({ code: 'cancelled' });
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('cancel'), 1000);
  expect(asked.at(-1)?.path).toContain('/jobs/job_1/cancel');
});

test('a job that has no name yet is cancelled when it has one', async () => {
  const { run, asked } = await open({ query: [{ ...incomplete, afterMs: 100 }] });
  const leaving = new AbortController();
  const answer = run({}, { signal: leaving.signal });
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('query'), { interval: 1 });
  leaving.abort();
  await expect(answer).rejects.toMatchObject({ code: 'cancelled' });
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('cancel'), 1000);
});

test('a job with a name of ours is cancelled at once, even before it is known to run', async () => {
  const { run, asked } = await open({ insert: ['hang'] }, { backgroundPriority: 'BATCH' });
  const leaving = new AbortController();
  const answer = run({}, { signal: leaving.signal, priority: 'background' });
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('insert'), { interval: 1 });
  leaving.abort();
  await expect(answer).rejects.toMatchObject({ code: 'cancelled' });
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('cancel'), 1000);
  expect(asked.at(-1)?.path).toContain(asked.at(-2)?.body.jobReference.jobId);
});

test('the deadline cancels the job, too', async () => {
  const { run, asked } = await open({ query: [incomplete], results: ['hang'] });
  await expect(run({}, { timeoutMs: 100 })).rejects.toMatchObject({ code: 'deadline_exceeded' });
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('cancel'), 1000);
});

test('a job whose results can not be had is cancelled, and a lost cancel is sent again', async () => {
  const { run, asked, counts } = await open(
    { query: [incomplete], results: [{ text: 'no JSON' }], cancel: ['reset', { json: {} }] },
    { maxRetries: 1 },
  );
  await expect(run()).rejects.toMatchObject({ code: 'unavailable' });
  await vi.waitFor(() => expect(counts()).toEqual({ query: 1, results: 2, cancel: 2 }), 1000);
  expect(asked.at(-1)?.path).toContain('/jobs/job_1/cancel');
});

test('no connection is left when the engine is closed', async () => {
  const scripted = await open({ query: [complete(['1']), 'hang'] });
  await scripted.run();
  await scripted.run({}, { timeoutMs: 50 }).catch(() => undefined);
  await scripted.engine.close();
  await vi.waitFor(async () => expect(await scripted.openSockets()).toBe(0), 1500);
});
