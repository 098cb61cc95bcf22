import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test, vi } from 'vitest';
import { startLoopClock } from '../support/loop-clock.ts';
import { jobResource } from './bigquery-resources.ts';
import {
  complete,
  dryRun,
  incomplete,
  openScripted,
  type Script,
  type ScriptedEngine,
} from './scripted-warehouse.ts';
import { type Deed, refusal } from './warehouse-http.ts';

/** What BigQuery says when too many jobs wait; this passes by itself. */
const fullQueue =
  'Quota exceeded: Your project exceeded quota for max number of jobs that can be queued per project.';

let opened: ScriptedEngine | undefined;

async function open(script: Script, options?: Parameters<typeof openScripted>[1]): Promise<ScriptedEngine> {
  opened = await openScripted(script, options);
  return opened;
}

afterEach(() => opened?.close());

test('a query is one job with a name of ours, asked for its rows and for its receipt', async () => {
  const { run, asked, counts } = await open({ results: [complete(['9007199254740993'])] });
  const parameters = [
    { name: 'project', value: 'p1' },
    { name: 'start', value: null },
    { name: 'projects', value: ['a', ''] },
  ];
  const callerSql = 'select n from edge where @project > @start or id in unnest(@projects)';
  const statement = { parameters: [...parameters, { name: 'unnamed', value: 'x' }], callerSql };
  const result = await run(statement, { labels: { endpoint: 'logs.all' }, maxBytesBilled: 5000 });
  expect(result.rowsJson.toString()).toBe('[{"n":9007199254740993}]');
  const inserted = asked[1]?.body;
  const { jobId } = inserted.jobReference;
  expect(jobId).toMatch(/^gateway_/);
  expect(result).toMatchObject({
    columns: [{ name: 'n', type: 'INT64', mode: 'NULLABLE' }],
    rowCount: 1,
    receipt: { bytesProcessed: 10, bytesBilled: 20, slotMs: 30, jobId },
  });
  expect(counts()).toEqual({ insert: 1, results: 1, job: 1 });
  expect(inserted).toMatchObject({
    jobReference: { projectId: 'payer', location: 'EU' },
    configuration: {
      labels: { endpoint: 'logs_all' },
      jobTimeoutMs: expect.stringMatching(/^\d+$/),
      query: {
        query: expect.stringContaining('from `acme-prod.logs.edge`'),
        useLegacySql: false,
        maximumBytesBilled: '5000',
        priority: 'INTERACTIVE',
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
      },
    },
  });
  expect(asked[2]?.path).toContain(`/queries/${jobId}`);
  expect(asked[2]?.params.get('maxResults')).toBe('1000');
});

test('labels are made to fit, and what can not be is left out: no query fails for a label', async () => {
  const { run, asked } = await open({ results: [complete(['1'])] });
  const labelsOf = async (labels: Record<string, string>) => {
    await run({}, { labels });
    return asked.findLast(({ what }) => what === 'insert')?.body.configuration.labels;
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
    results: [incomplete, incomplete, complete(['1', '2'])],
  });
  expect((await run({}, { timeoutMs: 60_000 })).rowsJson.toString()).toBe('[{"n":1},{"n":2}]');
  expect(counts()).toEqual({ insert: 1, results: 3, job: 1 });
  const last = asked.findLast(({ what }) => what === 'results');
  expect(last?.params.get('location')).toBe('EU');
  expect(last?.params.get('formatOptions.useInt64Timestamp')).toBe('true');
  // BigQuery is to wait for the job's end itself: who asks again and again is limited in rate.
  expect(last?.params.get('timeoutMs')).toBe('10000');
});

test('follows pages up to max rows, and no further', async () => {
  const { run, asked, counts } = await open({
    results: [
      complete(['1', '2'], { totalRows: '5', pageToken: 'b' }),
      complete(['3', '4'], { totalRows: '5', pageToken: 'c' }),
    ],
  });
  const result = await run({ maxRows: 3 });
  expect(result.rowsJson.toString()).toBe('[{"n":1},{"n":2},{"n":3}]');
  expect(counts()).toEqual({ insert: 1, results: 2, job: 1 });
  const page = asked.findLast(({ what }) => what === 'results');
  expect(Object.fromEntries(page!.params)).toMatchObject({ pageToken: 'b', maxResults: '1' });
});

test('background queries are batch jobs where that is configured', async () => {
  const { run, asked } = await open({ results: [complete(['1'])] }, { backgroundPriority: 'BATCH' });
  const insert = () => asked.findLast(({ what }) => what === 'insert');
  expect((await run({}, { priority: 'background' })).rowCount).toBe(1);
  expect(insert()?.body.configuration.query.priority).toBe('BATCH');
  await run();
  expect(insert()?.body.configuration.query.priority).toBe('INTERACTIVE');
});

test('a start whose answer is lost is repeated to the byte, and finds its own job: it runs once', async () => {
  const { run, asked, counts, events } = await open({
    insert: ['reset', refusal(503, 'backendError'), refusal(409, 'duplicate')],
    results: [complete(['1'])],
  });
  expect((await run()).rowCount).toBe(1);
  // Milliseconds lie between the attempts: what is left of the deadline must not be in them.
  const bodies = asked.filter(({ what }) => what === 'insert').map(({ body }) => JSON.stringify(body));
  expect(bodies).toEqual(Array(3).fill(bodies[0]));
  expect(counts()).toEqual({ insert: 3, results: 1, job: 1 });
  const { jobId } = JSON.parse(bodies[0]!).jobReference;
  expect(asked.find(({ what }) => what === 'results')?.path).toContain(`/queries/${jobId}`);
  expect(events.map(({ type }) => type)).not.toContain('warehouse.job_replaced');
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
  ['userRateLimitExceeded', refusal(403, 'userRateLimitExceeded')],
  ['a full queue of jobs', refusal(403, 'quotaExceeded', fullQueue)],
  ['a 408', { status: 408, text: '' }],
  ['a 504 without JSON', { status: 504, text: '' }],
])('%s: the same request is sent again, and runs once', async (_, fault) => {
  const { run, asked, events } = await open({ insert: [fault, fault, 'asUsual'] });
  expect((await run()).rowCount).toBe(1);
  const ids = asked.filter(({ what }) => what === 'insert').map(({ body }) => body.jobReference.jobId);
  expect(ids).toHaveLength(3);
  expect(new Set(ids).size).toBe(1);
  // A connection that was idle and is closed under a request is nobody's failure: that one is sent again at once.
  const retries = fault === 'reset' ? 1 : 2;
  expect(events.filter(({ type }) => type === 'warehouse.retried')).toHaveLength(retries);
});

test.each(['jobBackendError', 'jobInternalError', 'jobRateLimitExceeded', 'tableUnavailable'])(
  '%s: the job is over, another one is started',
  async reason => {
    const { run, asked, events } = await open({ insert: [refusal(400, reason), 'asUsual'] });
    expect((await run()).rowCount).toBe(1);
    const ids = asked.filter(({ what }) => what === 'insert').map(({ body }) => body.jobReference.jobId);
    expect(new Set(ids).size).toBe(2);
    // BigQuery says itself that the first failed, and bills no failed job.
    expect(events).toContainEqual({
      type: 'warehouse.job_replaced',
      endpoint: 'logs.all',
      reason,
      mayBeBilled: false,
    });
  },
);

test.each(['backendError', 'rateLimitExceeded'])(
  '%s of a job that has ended when its start is answered: another one is started at once',
  async reason => {
    const reference = { projectId: 'payer', jobId: 'job_1', location: 'EU' };
    const ended = { json: jobResource({ reference, failure: { reason, message: 'Try again' } }) };
    const { run, asked, counts } = await open({ insert: [ended, 'asUsual'] });
    expect((await run()).rowCount).toBe(1);
    expect(counts()).toEqual({ insert: 2, results: 1, job: 1 });
    const ids = asked.filter(({ what }) => what === 'insert').map(({ body }) => body.jobReference.jobId);
    expect(new Set(ids).size).toBe(2);
  },
);

const noSuchJob = refusal(404, 'notFound', 'Not found: Job payer:EU.job_1');

test('a job that is not found three times in a row is started again, and cancelled: it may still run', async () => {
  const { run, counts, events } = await open({
    results: [noSuchJob, noSuchJob, noSuchJob, complete(['1'])],
  });
  expect((await run()).rowCount).toBe(1);
  await vi.waitFor(() => expect(counts()).toEqual({ insert: 2, results: 4, job: 1, cancel: 1 }));
  expect(events).toContainEqual({
    type: 'warehouse.job_replaced',
    endpoint: 'logs.all',
    reason: 'jobLost',
    mayBeBilled: true,
  });
});

test('a job that is found after all runs once: BigQuery may not know it everywhere yet', async () => {
  const first = complete(['1'], { totalRows: '2', pageToken: 'b' });
  const last = complete(['2'], { totalRows: '2' });
  const results = [noSuchJob, noSuchJob, incomplete, noSuchJob, first, noSuchJob, last];
  const { run, counts, events } = await open({ results });
  expect((await run()).rowsJson.toString()).toBe('[{"n":1},{"n":2}]');
  expect(counts()).toEqual({ insert: 1, results: 7, job: 1 });
  expect(events.map(({ type }) => type)).not.toContain('warehouse.job_replaced');
});

test('a job that found no table is not lost: it has failed', async () => {
  const message = 'Not found: Table acme-prod:logs.edge was not found in location EU';
  const { run, counts } = await open({ results: [refusal(404, 'notFound', message)] });
  await expect(run()).rejects.toMatchObject({ code: 'engine_failed' });
  expect(counts()).toEqual({ insert: 1, results: 1 });
});

test.each([
  [401, 'authError'],
  [403, 'accessDenied'],
  [403, 'somethingNew'],
])('a job whose rows are refused with %i %s is cancelled: it may still run', async (status, reason) => {
  const { run, counts } = await open({ results: [incomplete, refusal(status, reason)] });
  await expect(run()).rejects.toMatchObject({ code: 'engine_failed' });
  await vi.waitFor(() => expect(counts()).toEqual({ insert: 1, results: 2, cancel: 1 }));
});

test.each(['backendError', 'rateLimitExceeded'])(
  'a job that answers twice with %s, and has failed by its own word, is replaced by another one',
  async reason => {
    const fault = refusal(503, reason);
    const reference = { projectId: 'payer', jobId: 'job_1', location: 'EU' };
    const failed = { json: jobResource({ reference, failure: { reason, message: 'Try again' } }) };
    const { run, counts, events } = await open({
      results: [fault, fault, complete(['1'])],
      job: [failed, 'asUsual'],
    });
    expect((await run()).rowCount).toBe(1);
    expect(counts()).toEqual({ insert: 2, results: 3, job: 2 });
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'warehouse.job_replaced', mayBeBilled: false }),
    );
  },
);

test.each<[string, Script]>([
  ['and has not failed by its own word', {}],
  [
    'and can not be asked itself',
    { job: [refusal(503, 'backendError'), refusal(403, 'accessDenied'), 'asUsual'] },
  ],
])('a job that answers three times with a backend error %s is not run again', async (_, script) => {
  const fault = refusal(503, 'backendError');
  const { run, counts, events } = await open({ results: [fault, fault, fault, complete(['1'])], ...script });
  expect((await run()).rowCount).toBe(1);
  expect(counts()).toEqual({ insert: 1, results: 4, job: 3 });
  expect(events.map(({ type }) => type)).not.toContain('warehouse.job_replaced');
});

test('a job that answers between two backend errors has not failed: it runs once', async () => {
  const fault = refusal(503, 'backendError');
  const first = complete(['1'], { totalRows: '2', pageToken: 'b' });
  const last = complete(['2'], { totalRows: '2' });
  const { run, counts } = await open({ results: [fault, incomplete, fault, first, fault, last] });
  expect((await run()).rowsJson.toString()).toBe('[{"n":1},{"n":2}]');
  expect(counts()).toEqual({ insert: 1, results: 6, job: 1 });
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
  ['accessNotConfigured', 403, 'engine_failed', true],
  ['billingNotEnabled', 403, 'engine_failed', true],
])(
  '%s: not tried again, and known to be the same for other values or not',
  async (reason, status, code, isSourceFailure) => {
    const { run, counts } = await open({ insert: [refusal(status, reason)] });
    await expect(run()).rejects.toMatchObject({ name: 'GatewayError', code, isSourceFailure });
    expect(counts()).toEqual({ insert: 1 });
  },
);

test('a refusal for the limit of bytes names it where it is of this run, not of all', async () => {
  const { run, asked } = await open(
    { insert: [refusal(400, 'bytesBilledLimitExceeded')] },
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
  const limits = asked
    .filter(({ what }) => what === 'insert')
    .map(({ body }) => body.configuration.query.maximumBytesBilled);
  expect(limits).toEqual(['999', '1000', '1000', '1000']);
});

test.each<[string, Deed, string]>([
  ['backendError', refusal(503, 'backendError'), 'unavailable'],
  ['rateLimitExceeded', refusal(403, 'rateLimitExceeded'), 'overloaded'],
  ['userRateLimitExceeded', refusal(403, 'userRateLimitExceeded'), 'overloaded'],
  ['a full queue of jobs', refusal(403, 'quotaExceeded', fullQueue), 'overloaded'],
  ['jobBackendError', refusal(400, 'jobBackendError'), 'unavailable'],
  ['jobRateLimitExceeded', refusal(400, 'jobRateLimitExceeded'), 'overloaded'],
  ['a 408', { status: 408, text: '' }, 'unavailable'],
  ['a 429 without JSON', { status: 429, text: 'slow down' }, 'overloaded'],
  ['a 504 without JSON', { status: 504, text: '' }, 'unavailable'],
])('%s: gives up after its retries, with a 503 that says when to come back', async (_, fault, code) => {
  const { run, counts } = await open({ insert: [fault] }, { maxRetries: 3 });
  await expect(run()).rejects.toMatchObject({ code, status: 503, retryAfterSeconds: expect.any(Number) });
  expect(counts()).toEqual({ insert: 4 });
});

test('a job that BigQuery ends at the time limit it was given ran out of time', async () => {
  const fault = refusal(499, 'stopped', 'Job execution was cancelled: Job timed out after 4s');
  const { run, counts } = await open({ results: [fault] });
  await expect(run()).rejects.toMatchObject({ code: 'deadline_exceeded' });
  expect(counts()).toEqual({ insert: 1, results: 1 });
});

test('retries are bounded over all queries, too', async () => {
  const { run, counts } = await open({ insert: [refusal(503, 'backendError')] });
  const storm = Array.from({ length: 30 }, () => run().catch(error => error.code));
  expect(new Set(await Promise.all(storm))).toEqual(new Set(['unavailable']));
  expect(counts().insert).toBeLessThanOrEqual(30 + 20 + 3);
});

test.each<[string, Script]>([
  ['a start that hangs', { insert: ['hang'] }],
  ['an answer that hangs after its headers', { insert: ['hangAfterHeaders'] }],
  ['a poll that hangs', { results: ['hang'] }],
  ['a job that never ends', { results: [incomplete] }],
  ['a page that hangs', { results: [complete(['1'], { totalRows: '2', pageToken: 'b' }), 'hang'] }],
  ['a dry run that hangs', { dryRun: ['hang'] }],
  ['faults without end', { insert: [refusal(503, 'backendError')] }],
])('%s does not outlive its deadline', async (_, script) => {
  const { run } = await open(script, { maxRetries: 1000 });
  const tookMs = startLoopClock();
  const error = await run({}, { timeoutMs: 150 }).catch(thrown => thrown);
  expect(['deadline_exceeded', 'unavailable']).toContain(error.code);
  // Without the deadline each of them goes on for good; the wait for a page alone is ten seconds.
  expect(tookMs()).toBeLessThan(2000);
});

test('nobody waiting any more cancels the job', async () => {
  const { run, asked } = await open({ results: ['hang'] });
  const leaving = new AbortController();
  const answer = run({}, { signal: leaving.signal });
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('results'));
  leaving.abort();
  await expect(answer).rejects.toMatchObject({ code: 'cancelled' });
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('cancel'));
  expect(asked.at(-1)?.path).toMatch(/\/jobs\/gateway_[^/]+\/cancel$/);
});

test('a job is cancelled at once, even before it is known to run', async () => {
  const { run, asked } = await open({ insert: ['hang'] });
  const leaving = new AbortController();
  const answer = run({}, { signal: leaving.signal });
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('insert'));
  leaving.abort();
  await expect(answer).rejects.toMatchObject({ code: 'cancelled' });
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('cancel'));
  expect(asked.at(-1)?.path).toContain(asked.at(-2)?.body.jobReference.jobId);
});

test('without a region in the settings, a job that is not known to run yet is cancelled where its dry run was', async () => {
  const { run, asked } = await open(
    { dryRun: [dryRun({ location: 'asia-south1' })], insert: ['hang'] },
    { location: undefined },
  );
  const leaving = new AbortController();
  const answer = run({}, { signal: leaving.signal });
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('insert'));
  leaving.abort();
  await expect(answer).rejects.toMatchObject({ code: 'cancelled' });
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('cancel'));
  expect(asked.at(-1)?.params.get('location')).toBe('asia-south1');
});

test('rows are asked for in the two headers by which Google compresses them', async () => {
  let headers: IncomingHttpHeaders = {};
  const stream = async (response: ServerResponse) => {
    headers = response.req.headers;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(complete(['1']).json));
  };
  const { run } = await open({ results: [{ stream }] });
  await run();
  expect(headers).toMatchObject({
    'accept-encoding': 'gzip',
    'user-agent': expect.stringContaining('gzip'),
  });
});

test('the deadline cancels the job, too', async () => {
  const { run, asked } = await open({ results: ['hang'] });
  // Time enough for the job to begin, on a busy machine too.
  await expect(run({}, { timeoutMs: 2000 })).rejects.toMatchObject({ code: 'deadline_exceeded' });
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('cancel'));
});

test.each<[string, Script]>([
  ['to the start', { insert: ['hang', refusal(409, 'duplicate')] }],
  ['to the request for results', { results: ['hang', complete(['1'])] }],
  ['in the middle of results', { results: ['hangAfterHeaders', complete(['1'])] }],
])(
  'a connection without an answer %s is given up, and the request sent again: the query runs once',
  async (_, script) => {
    const { run, asked } = await open(script, { silentMs: 100 });
    const startedMs = performance.now();
    expect((await run({}, { timeoutMs: 4000 })).rowCount).toBe(1);
    expect(performance.now() - startedMs).toBeLessThan(4000);
    const names = asked.flatMap(({ what, body }) => (what === 'insert' ? [body.jobReference.jobId] : []));
    expect(new Set(names).size).toBe(1);
    expect(asked.map(({ what }) => what)).not.toContain('cancel');
  },
);

test('an answer that comes in small pieces is waited for, however long that takes', async () => {
  const reference = { projectId: 'payer', jobId: 'job_1', location: 'EU' };
  const text = JSON.stringify(jobResource({ reference, state: 'RUNNING' }));
  const silentMs = 500;
  const stream = async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const endMs = performance.now() + 2 * silentMs;
    for (let at = 0; at < text.length; at++) {
      response.write(text[at]);
      if (performance.now() < endMs) await sleep(25);
    }
    response.end();
  };
  const { run, counts } = await open({ insert: [{ stream }] }, { silentMs });
  expect((await run({}, { timeoutMs: 20_000 })).rowCount).toBe(1);
  expect(counts().insert).toBe(1);
});

test('nobody waits for the answer to a cancel', async () => {
  const { run, counts } = await open({ results: [{ text: 'no JSON' }], cancel: ['hang'] }, { maxRetries: 0 });
  await expect(run()).rejects.toMatchObject({ code: 'unavailable' });
  // A cancel that is not answered is sent once more; who waited would come after that.
  expect(counts().cancel ?? 0).toBeLessThan(2);
  await vi.waitFor(() => expect(counts().cancel).toBe(2));
});

test('a job whose results can not be had is cancelled, and a lost cancel is sent again', async () => {
  const { run, asked, counts } = await open(
    { results: [{ text: 'no JSON' }], cancel: ['reset', { json: {} }] },
    { maxRetries: 1 },
  );
  await expect(run()).rejects.toMatchObject({ code: 'unavailable' });
  await vi.waitFor(() => expect(counts()).toEqual({ insert: 1, results: 2, cancel: 2 }));
  expect(asked.at(-1)?.path).toMatch(/\/jobs\/gateway_[^/]+\/cancel$/);
});

test.each<[string, Deed]>([
  ['HTML of a proxy', { status: 403, text: '<html>Sign in</html>' }],
  ['a redirect', { status: 302, text: '', headers: { location: '/elsewhere' } }],
])('%s in the place of results says nothing of the job, which is cancelled', async (_, deed) => {
  const { run, counts } = await open({ results: [deed] });
  await expect(run()).rejects.toMatchObject({ code: 'engine_failed' });
  await vi.waitFor(() => expect(counts()).toEqual({ insert: 1, results: 1, cancel: 1 }));
});

test('no connection is left when the engine is closed', async () => {
  const scripted = await open({ results: [complete(['1']), 'hang'] });
  await scripted.run();
  await scripted.run({}, { timeoutMs: 50 }).catch(() => undefined);
  await scripted.engine.close();
  await vi.waitFor(async () => expect(await scripted.openSockets()).toBe(0));
});

test('contract 11.3: an answer that is read no further is let go of, though its end never comes', async () => {
  const rows = Array.from({ length: 30_000 }, (_, n) => ({ f: [{ v: (n * n * 7919).toString(36) }] }));
  const fields = [{ name: 'n', type: 'STRING', mode: 'NULLABLE' }];
  const packed = gzipSync(JSON.stringify({ ...complete([]).json, schema: { fields }, rows }));
  const stream = async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    response.write(packed.subarray(0, 40_000));
  };
  const { run, held } = await open({ results: [{ stream }] }, { maxResultBytes: 10_000 });
  await expect(run()).rejects.toMatchObject({ code: 'result_too_large' });
  await vi.waitFor(() => expect(held()).toEqual([]));
});

test('without a region in the settings, start, results, receipt and cancel go to the one that the dry run named', async () => {
  const { run, asked, counts } = await open(
    {
      dryRun: [dryRun({ location: 'asia-south1' })],
      // The answer to the start is lost, and a later one leaves the region out.
      insert: [
        'reset',
        'reset',
        { json: { jobReference: { projectId: 'payer', jobId: 'job_1' }, status: { state: 'RUNNING' } } },
      ],
      results: [complete(['1']), 'hang'],
    },
    { location: undefined },
  );
  await run();
  const leaving = new AbortController();
  const left = run({}, { signal: leaving.signal });
  await vi.waitFor(() => expect(counts().results).toBe(2));
  leaving.abort();
  await expect(left).rejects.toMatchObject({ code: 'cancelled' });
  await vi.waitFor(() => expect(asked.at(-1)?.what).toBe('cancel'));
  const regions = asked.map(({ what, params, body }) => [
    what,
    params.get('location') ?? body?.jobReference.location,
  ]);
  expect(regions.shift()).toEqual(['dryRun', undefined]);
  expect(new Set(regions.map(([, region]) => region))).toEqual(new Set(['asia-south1']));
  expect(new Set(regions.map(([what]) => what))).toEqual(new Set(['insert', 'results', 'job', 'cancel']));
});

test('a region that only the answer to the start names is the one of all that follows', async () => {
  const { json } = dryRun();
  const { run, asked } = await open(
    {
      dryRun: [{ json: { ...json, jobReference: { projectId: 'payer' } } }],
      insert: [
        {
          json: {
            jobReference: { projectId: 'payer', jobId: 'job_1', location: 'asia-south1' },
            status: { state: 'RUNNING' },
          },
        },
      ],
    },
    { location: undefined },
  );
  await run();
  const regions = asked.map(({ what, params }) => [what, params.get('location')]);
  expect(regions.slice(2)).toEqual([
    ['results', 'asia-south1'],
    ['job', 'asia-south1'],
  ]);
});

test('contract 11.3: an answer without rows is read up to 16 MiB, and no further', async () => {
  let written = 0;
  function* endless() {
    for (; written < 200; written++) yield Buffer.alloc(1024 * 1024, ' ');
  }
  const stream = async (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    await pipeline(endless, response).catch(() => undefined);
  };
  const { run } = await open({ insert: [{ stream }] }, { maxRetries: 0 });
  await expect(run()).rejects.toMatchObject({ code: 'unavailable' });
  expect(written).toBeLessThan(100);
});
