import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { BigQuery, type Job, type Query } from '@google-cloud/bigquery';
import { PassThroughClient } from 'google-auth-library';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { fakeGoogle } from './fake-google.ts';
import { openDrivenWarehouse } from './open-driven-warehouse.ts';
import { openWarehouse } from './scripted-warehouse.ts';

/** Where the tables of the driven warehouse lie. */
const location = 'europe-west3';
const edge = 'select id, timestamp from `acme.logs.edge` order by id';
const numbers = (count: number) => `select n from unnest(generate_array(1, ${count})) as n order by n`;
/** A moment of the embedded engine's time, and no rows to speak of. */
const slow =
  'select count(*) as n from unnest(generate_array(1, 4000)) as a, unnest(generate_array(1, 3000)) as b where mod(a * b, 7) > 2';
const endless =
  'select count(*) as n from unnest(generate_array(1, 100000)) as a, unnest(generate_array(1, 100000)) as b, unnest(generate_array(1, 1000)) as c where a + b + c > 0';

let warehouse: Awaited<ReturnType<typeof openDrivenWarehouse>>;
let client: BigQuery;

beforeAll(async () => {
  warehouse = await openDrivenWarehouse();
  client = clientOf(warehouse.url);
  return warehouse.close;
});

function clientOf(url: string): BigQuery {
  return new BigQuery({
    projectId: 'payer',
    apiEndpoint: url,
    authClient: new PassThroughClient(),
    retryOptions: { autoRetry: false },
  });
}

async function insert(query: Query): Promise<Job> {
  const [job] = await client.createQueryJob({ location, ...query });
  return job;
}

/** One request in the client's own way, and the body of its answer. */
// biome-ignore lint/suspicious/noExplicitAny: answers have many shapes
function request(asked: { method?: string; uri: string; json?: object; qs?: object }): Promise<any> {
  return new Promise((resolve, reject) => {
    client.request(asked, (error, body) => (error ? reject(error) : resolve(body)));
  });
}

const countOf = (kind: string, since: number) =>
  warehouse.asked.slice(since).filter(({ what }) => what === kind).length;

describe('a dry run', () => {
  test('is a job without an id, whatever id was asked for', async () => {
    const { metadata } = await insert({ query: edge, dryRun: true, jobId: 'mine' });
    expect(metadata).toEqual({
      kind: 'bigquery#job',
      etag: expect.any(String),
      id: 'payer:europe-west3.',
      configuration: { dryRun: true, jobType: 'QUERY', query: expect.objectContaining({ query: edge }) },
      jobReference: { projectId: 'payer', location },
      statistics: {
        creationTime: expect.stringMatching(/^\d{13}$/),
        totalBytesProcessed: '1000',
        query: {
          totalBytesProcessed: '1000',
          totalBytesBilled: '0',
          cacheHit: false,
          referencedTables: [{ projectId: 'acme', datasetId: 'logs', tableId: 'edge' }],
          schema: {
            fields: [
              { name: 'id', type: 'STRING', mode: 'NULLABLE' },
              { name: 'timestamp', type: 'TIMESTAMP', mode: 'NULLABLE' },
            ],
          },
          statementType: 'SELECT',
          totalBytesProcessedAccuracy: 'PRECISE',
        },
      },
      status: { state: 'DONE' },
    });
  });

  test('by jobs.query says bytes and schema, and names no job either', async () => {
    const json = { query: edge, dryRun: true, useLegacySql: false, location };
    expect(await request({ method: 'POST', uri: '/queries', json })).toEqual({
      kind: 'bigquery#queryResponse',
      jobReference: { projectId: 'payer', location },
      schema: { fields: [expect.objectContaining({ name: 'id' }), expect.anything()] },
      totalBytesProcessed: '1000',
      jobComplete: true,
      cacheHit: false,
    });
  });

  test('is in the location of its tables where none is asked for, and does not read those of another', async () => {
    const [{ metadata }] = await client.createQueryJob({ query: edge, dryRun: true });
    expect(metadata.jobReference).toEqual({ projectId: 'payer', location });
    const elsewhere = client.createQueryJob({ query: edge, dryRun: true, location: 'US' });
    await expect(elsewhere).rejects.toMatchObject({
      code: 404,
      message: 'Not found: Dataset acme:logs was not found in location US',
    });
  });

  test('of bad SQL is refused', async () => {
    await expect(insert({ query: 'select nope', dryRun: true })).rejects.toMatchObject({
      code: 400,
      message: expect.stringContaining('nope'),
      errors: [{ domain: 'global', reason: 'invalidQuery', location: 'q', locationType: 'parameter' }],
    });
  });

  test('of a query whose result is cached knows neither bytes nor tables, unless the cache is left out', async () => {
    const query = 'select id from `acme.logs.edge` where project = "theirs"';
    await client.query({ query, location });
    const statistics = async (useQueryCache?: boolean) =>
      (await insert({ query, dryRun: true, useQueryCache })).metadata.statistics.query;
    const cached = await statistics();
    expect(cached).toMatchObject({ cacheHit: true, totalBytesProcessed: '0' });
    expect(cached).not.toHaveProperty('referencedTables');
    expect(await statistics(false)).toMatchObject({
      cacheHit: false,
      totalBytesProcessed: '1000',
      referencedTables: [{ tableId: 'edge' }],
    });
  });
});

describe('a query', () => {
  // NUMERIC is left to Google's Python client: under the runner's conditions this one loads a big.js that it can't use.
  test('has values that the client understands, of every type', async () => {
    const query = `select 9007199254740993 as whole, 1.5 as part, cast('nan' as float64) as none, true as yes, 'ä"' as text,
      b'\\x00\\xff' as bytes, date '2026-01-15' as day, time '10:00:00.5' as hour,
      datetime '2026-01-15 10:00:00' as local, timestamp '2026-01-15 10:00:00.000001+00' as instant,
      cast(null as string) as nothing, [1, 2] as list, [struct('x' as a, [1] as b)] as records`;
    const [[row]] = await client.query({ query, location, wrapIntegers: true });
    expect(row.whole.value).toBe('9007199254740993');
    expect(row.list.map(({ value }: { value: string }) => value)).toEqual(['1', '2']);
    expect(row).toMatchObject({
      part: 1.5,
      none: Number.NaN,
      yes: true,
      text: 'ä"',
      bytes: Buffer.from([0, 255]),
      day: { value: '2026-01-15' },
      hour: { value: '10:00:00.500000' },
      local: { value: '2026-01-15T10:00:00' },
      instant: { value: '2026-01-15T10:00:00.000001000Z' },
      nothing: null,
      records: [{ a: 'x', b: [{ value: '1' }] }],
    });
  });

  test('takes parameters by name', async () => {
    const params = { project: 'theirs', ids: ['a', 'd'] };
    const types = { project: 'STRING', ids: ['STRING'] };
    const query = 'select id from `acme.logs.edge` where project = @project and id in unnest(@ids)';
    expect((await client.query({ query, params, types, location }))[0]).toEqual([{ id: 'd' }]);
  });

  test('that is asked for again under the same requestId runs again: nothing was promised', async () => {
    const json = { query: 'select 1 as n', useLegacySql: false, location, requestId: 'the-same' };
    const ask = () => request({ method: 'POST', uri: '/queries', json });
    const [first, second] = [await ask(), await ask()];
    expect(first).toMatchObject({
      kind: 'bigquery#queryResponse',
      jobComplete: true,
      totalRows: '1',
      rows: [{ f: [{ v: '1' }] }],
    });
    expect(second.jobReference.jobId).not.toBe(first.jobReference.jobId);
    expect(warehouse.jobIds().slice(-2)).toEqual([first.jobReference.jobId, second.jobReference.jobId]);
  });

  test('is answered within the time that it allows, without rows and without their number', async () => {
    const json = { query: slow, useLegacySql: false, location, timeoutMs: 1 };
    const answer = await request({ method: 'POST', uri: '/queries', json });
    expect(answer).toMatchObject({ jobComplete: false, jobReference: { projectId: 'payer', location } });
    expect(answer).not.toHaveProperty('totalRows');
    expect(answer).not.toHaveProperty('schema');
    await client.job(answer.jobReference.jobId, { location }).cancel();
  });

  test.each([
    ['bad SQL', 'select nope', 400, 'invalidQuery'],
    ['SQL that fails on a value', "select cast('x' as int64) as n", 400, 'invalidQuery'],
    ['a table that is not there', 'select 1 as n from `acme.logs.none`', 404, 'notFound'],
  ])('of %s is refused', async (_, query, code, reason) => {
    await expect(client.query({ query, location })).rejects.toMatchObject({
      code,
      errors: [{ domain: 'global', reason, message: expect.any(String) }],
    });
  });

  test('that would be billed more than it may is refused', async () => {
    const limited = client.query({ query: edge, location, maximumBytesBilled: '9999', useQueryCache: false });
    await expect(limited).rejects.toMatchObject({
      code: 400,
      errors: [{ reason: 'bytesBilledLimitExceeded' }],
    });
  });
});

describe('a job', () => {
  test('always has its kind, status, reference and statistics; bytes and slots come with its end', async () => {
    const job = await insert({ query: slow, jobId: 'whole' });
    const reference = { projectId: 'payer', jobId: 'whole', location };
    expect(job.metadata).toMatchObject({
      kind: 'bigquery#job',
      id: 'payer:europe-west3.whole',
      jobReference: reference,
      status: { state: 'RUNNING' },
      statistics: { creationTime: expect.any(String), startTime: expect.any(String) },
    });
    expect(job.metadata.statistics).not.toHaveProperty('query');
    await job.getQueryResults();
    const [metadata] = await job.getMetadata();
    expect(metadata).toMatchObject({
      kind: 'bigquery#job',
      jobReference: reference,
      status: { state: 'DONE' },
      statistics: {
        totalSlotMs: '5',
        totalBytesProcessed: '0',
        query: { totalBytesBilled: '0', cacheHit: false, statementType: 'SELECT' },
      },
    });
  });

  test('is inserted once under one id', async () => {
    await insert({ query: numbers(1), jobId: 'once' });
    const before = warehouse.jobIds().length;
    await expect(insert({ query: numbers(1), jobId: 'once' })).rejects.toMatchObject({
      code: 409,
      message: 'Already Exists: Job payer:europe-west3.once',
      errors: [{ reason: 'duplicate' }],
    });
    expect(warehouse.jobIds().length).toBe(before);
  });

  test('is inserted once under one id where BigQuery finds its region, too', async () => {
    const twice = () => client.createQueryJob({ query: numbers(1), jobId: 'somewhere' });
    const [{ metadata }] = await twice();
    expect(metadata.jobReference.location).toBe('US');
    await expect(twice()).rejects.toMatchObject({
      code: 409,
      message: 'Already Exists: Job payer:US.somewhere',
    });
  });

  test('of bad SQL is inserted, and has failed', async () => {
    // The client throws for a job that has failed, with the job's own errors and no status of HTTP.
    const inserted = insert({ query: 'select nope', jobId: 'bad' });
    await expect(inserted).rejects.toMatchObject({ code: undefined, errors: [{ reason: 'invalidQuery' }] });
    const job = client.job('bad', { location });
    const [{ status }] = await job.getMetadata();
    expect(status).toMatchObject({
      state: 'DONE',
      errorResult: { reason: 'invalidQuery', message: expect.stringContaining('nope') },
    });
    await expect(job.getQueryResults()).rejects.toMatchObject({
      code: 400,
      errors: [{ domain: 'global', reason: 'invalidQuery' }],
    });
  });

  test('is waited for: one request is enough', async () => {
    const job = await insert({ query: slow });
    const since = warehouse.asked.length;
    expect((await job.getQueryResults())[0]).toHaveLength(1);
    expect(countOf('results', since)).toBe(1);
  });

  test('is waited for no longer than the request says', async () => {
    const job = await insert({ query: endless });
    await expect(job.getQueryResults({ timeoutMs: 50 })).rejects.toThrow('did not complete before 50ms');
    await job.cancel();
  });

  test('that is cancelled says so at once, and ends as stopped', async () => {
    const job = await insert({ query: endless });
    const [answer] = await job.cancel();
    expect(answer).toMatchObject({
      kind: 'bigquery#jobCancelResponse',
      // It does not wait for the end of the job.
      job: { kind: 'bigquery#job', jobReference: { jobId: job.id, location }, status: { state: 'RUNNING' } },
    });
    await expect(job.getQueryResults()).rejects.toMatchObject({
      code: 499,
      message: 'Job execution was cancelled: User requested cancellation',
      errors: [{ reason: 'stopped' }],
    });
    const [{ status }] = await job.getMetadata();
    expect(status).toMatchObject({ state: 'DONE', errorResult: { reason: 'stopped' } });
  });

  test('ends at the time limit that it was given', async () => {
    const job = await insert({ query: endless, jobTimeoutMs: 100 });
    await expect(job.getQueryResults()).rejects.toMatchObject({
      code: 499,
      message: 'Job execution was cancelled: Job timed out after 0.1s',
    });
  });

  test.each<[string, (job: Job) => Promise<unknown>]>([
    ['results', job => job.getQueryResults()],
    ['get', job => job.getMetadata()],
    ['cancel', job => job.cancel()],
  ])('of one region is not found by %s without its location', async (_, ask) => {
    const job = await insert({ query: numbers(3) });
    await expect(ask(client.job(job.id!))).rejects.toMatchObject({
      code: 404,
      message: `Not found: Job payer:${job.id}`,
      errors: [{ domain: 'global', reason: 'notFound' }],
    });
    await expect(ask(client.job(job.id!, { location: 'US' }))).rejects.toMatchObject({
      code: 404,
      message: `Not found: Job payer:US.${job.id}`,
    });
    await ask(client.job(job.id!, { location }));
  });

  test.each(['US', 'EU'])('of %s is found without its location', async multiRegion => {
    const [job] = await client.createQueryJob({ query: numbers(1), location: multiRegion });
    expect((await client.job(job.id!).getQueryResults())[0]).toEqual([{ n: 1 }]);
  });
});

describe('results', () => {
  test('come in pages, each with the number of all rows', async () => {
    const job = await insert({ query: numbers(25) });
    const seen: object[] = [];
    let pageToken: string | undefined;
    const tokens = new Set<string>();
    do {
      const options = { autoPaginate: false, ...(pageToken ? { pageToken } : {}) };
      const [rows, , answer] = await job.getQueryResults(options);
      expect(answer).toMatchObject({
        jobComplete: true,
        totalRows: '25',
        schema: { fields: [{ name: 'n' }] },
      });
      seen.push(...rows);
      pageToken = answer?.pageToken;
      if (pageToken) tokens.add(pageToken);
    } while (pageToken);
    expect(seen).toEqual(Array.from({ length: 25 }, (_, at) => ({ n: at + 1 })));
    expect([...tokens]).toEqual([expect.stringMatching(/\D/), expect.stringMatching(/\D/)]);
  });

  test('have page tokens of their own: no others are taken', async () => {
    const [job, other] = [await insert({ query: numbers(25) }), await insert({ query: numbers(25) })];
    const pageAfter = (pageToken?: string) => job.getQueryResults({ autoPaginate: false, pageToken });
    const [, , answer] = await other.getQueryResults({ autoPaginate: false });
    const tokens = [String(answer?.pageToken), 'nonsense', `${(await pageAfter())[2]?.pageToken}x`];
    for (const token of tokens) {
      await expect(pageAfter(token)).rejects.toMatchObject({
        code: 400,
        errors: [{ domain: 'global', reason: 'invalid' }],
      });
    }
  });

  test('are followed by the client to their end, from either call', async () => {
    const job = await insert({ query: numbers(25) });
    expect((await job.getQueryResults())[0]).toHaveLength(25);
    expect((await client.query({ query: numbers(25), location }))[0]).toHaveLength(25);
    expect((await job.getQueryResults({ maxResults: 3, autoPaginate: false }))[0]).toHaveLength(3);
  });

  test('have pages of some ten megabytes', async () => {
    const query =
      'select concat(repeat("x", 1000000), repeat("y", 1000000)) as text from unnest(generate_array(1, 7)) as n';
    const job = await insert({ query });
    const [rows, , answer] = await job.getQueryResults({ autoPaginate: false });
    expect(rows.length).toBeGreaterThan(2);
    expect(rows.length).toBeLessThan(6);
    expect(answer).toMatchObject({ totalRows: '7', pageToken: expect.any(String) });
  });

  test('say what was processed, and leave what was billed to jobs.get', async () => {
    const job = await insert({ query: edge, useQueryCache: false });
    const [, , answer] = await job.getQueryResults();
    expect(answer).toMatchObject({
      kind: 'bigquery#getQueryResultsResponse',
      cacheHit: false,
      totalBytesProcessed: '1000',
    });
    expect(answer).not.toHaveProperty('totalBytesBilled');
    expect(answer).not.toHaveProperty('totalSlotMs');
    const [{ statistics }] = await job.getMetadata();
    expect(statistics).toMatchObject({ totalSlotMs: '5', query: { totalBytesBilled: '10000' } });
  });

  test('have timestamps in seconds unless whole microseconds are asked for', async () => {
    const job = await insert({ query: "select timestamp '2026-01-15 10:00:00.5+00' as t" });
    const timestampBy = async (isInt64: boolean) => {
      const qs = { location, 'formatOptions.useInt64Timestamp': isInt64 };
      return (await request({ uri: `/queries/${job.id}`, qs })).rows[0].f[0].v;
    };
    expect([await timestampBy(false), await timestampBy(true)]).toEqual([
      '1.7684712005E9',
      '1768471200500000',
    ]);
  });
});

describe('what BigQuery does not know is refused', () => {
  const refused = (message: string) => ({
    code: 400,
    message: `Invalid JSON payload received. Unknown name ${message}`,
    errors: [{ domain: 'global', reason: 'badRequest' }],
  });

  test.each([
    ['of a query', '/queries', { query: 'select 1', priority: 'BATCH' }, `"priority" at 'query_request'`],
    ['of a job', '/jobs', { configuration: { query: { query: 'select 1' }, dryrun: true } }, `"dryrun" at 'job.configuration'`],
    ['within a list', '/queries', { query: 'select 1', queryParameters: [{ name: 'a', value: 'b' }] }, `"value" at 'query_request.queryParameters[0]'`],
  ])('a field %s', async (_, uri, json, message) => {
    const sent = request({ method: 'POST', uri, json });
    await expect(sent).rejects.toMatchObject(refused(`${message}: Cannot find field.`));
  }); // biome-ignore format: a table

  test("skipParsing, which the client's own next page carries", async () => {
    const options = { query: numbers(25), location, skipParsing: true };
    await expect(client.query(options)).rejects.toMatchObject({
      code: 400,
      message: expect.stringContaining('Unknown name "skipParsing": Cannot bind query parameter'),
    });
    expect((await client.query({ ...options, query: numbers(2) }))[0]).toEqual([
      { f: [{ v: '1' }] },
      { f: [{ v: '2' }] },
    ]);
  });
});

test('the client understands what the scripted warehouse says where nothing is scripted', async () => {
  const scripted = await openWarehouse({});
  onTestFinished(scripted.close);
  const scriptedClient = clientOf(scripted.url);
  const query = 'select n from (select 1 as n, id from `acme-prod.logs.edge`)';
  const [{ metadata }] = await scriptedClient.createQueryJob({ query, dryRun: true });
  expect(metadata).toMatchObject({ id: 'payer:EU.', statistics: { query: { statementType: 'SELECT' } } });
  expect((await scriptedClient.query(query))[0]).toEqual([{ n: 1 }]);
  const [job] = await scriptedClient.createQueryJob({ query, jobId: 'mine' });
  expect(job.metadata).toMatchObject({ jobReference: { jobId: 'mine' }, status: { state: 'RUNNING' } });
  expect((await job.getQueryResults())[0]).toEqual([{ n: 1 }]);
  expect((await job.getMetadata())[0].status.state).toBe('DONE');
  expect((await job.cancel())[0].kind).toBe('bigquery#jobCancelResponse');
});

test('the client goes to the fake Google server, with credentials', async () => {
  const google = await fakeGoogle(await openWarehouse({}));
  const authorities = getCACertificates();
  for (const [name, value] of Object.entries(google.environment)) vi.stubEnv(name, value);
  setDefaultCACertificates([google.cert]);
  onTestFinished(async () => {
    await google.close();
    vi.unstubAllEnvs();
    setDefaultCACertificates(authorities);
  });
  const googleClient = new BigQuery({ projectId: 'payer', retryOptions: { autoRetry: false } });
  expect((await googleClient.query('select 1 as n'))[0]).toEqual([{ n: 1 }]);
  expect(google.asked.at(-1)).toMatchObject({
    authorization: 'Bearer t1',
    host: 'bigquery.googleapis.com',
  });
  google.refuseTokens('t1');
  await expect(googleClient.query('select 1 as n')).rejects.toMatchObject({
    code: 401,
    errors: [{ domain: 'global', reason: 'authError', location: 'Authorization', locationType: 'header' }],
  });
});

test('tables.get: how a table is laid out, and which is not there', async () => {
  const tables = client.dataset('logs', { projectId: 'acme' });
  const [metadata] = await tables.table('edge').getMetadata();
  expect(metadata).toMatchObject({
    tableReference: { projectId: 'acme', datasetId: 'logs', tableId: 'edge' },
    timePartitioning: { type: 'DAY', field: 'timestamp' },
    requirePartitionFilter: true,
    clustering: { fields: ['project'] },
  });
  await expect(tables.table('nowhere').getMetadata()).rejects.toMatchObject({
    code: 404,
    errors: [{ reason: 'notFound' }],
  });
});
