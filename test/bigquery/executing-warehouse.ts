import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  cancelAnswer,
  dryRunAnswer,
  dryRunJob,
  type ErrorProto,
  incompleteAnswer,
  jobResource,
  tableAt,
  tableResource,
} from './bigquery-resources.ts';
import { checkRequest } from './check-request.ts';
import { Refusal } from './refusal.ts';
import { type Asked, type Deed, type Interference, perform, readAsked, refusal } from './warehouse-http.ts';
import {
  createWarehouseJobs,
  factsOf,
  type JobsOptions,
  refusalOf,
  type WarehouseJob,
} from './warehouse-jobs.ts';
import { toField, toRecords } from './warehouse-rows.ts';

type ExecutingOptions = Omit<JobsOptions, 'location'> & {
  /** Rows of one page. */
  readonly pageRows: number;
  /** Where the tables lie. Default `EU`. */
  readonly location?: string;
};

/** Milliseconds that a request waits for its job's end where it does not say. */
const defaultWaitMs = 10_000;

/** Bytes of a page's rows, about: there is one row at least. */
const maxPageBytes = 10_000_000;

/**
 * A server in BigQuery's place that answers with what the embedded engine finds, by BigQuery's REST: jobs.query, jobs.insert,
 * getQueryResults with pages, jobs.get, jobs.cancel, dry runs by both ways. Sources: recorded conversations, the discovery
 * document of BigQuery v2; the official clients drive it in tests of their own.
 */
export async function openExecutingWarehouse(options: ExecutingOptions) {
  const { pageRows, location: home = 'EU' } = options;
  const jobs = createWarehouseJobs({ ...options, location: home });
  const asked: Asked[] = [];
  let interfere: Interference = () => undefined;
  const server = createServer(async (request, response) => {
    const seen = await readAsked(request);
    asked.push(seen);
    await perform(interfere(seen) ?? (await answerTo(seen, response)), response);
  });

  async function answerTo(seen: Asked, response: ServerResponse): Promise<Deed> {
    if (seen.what === 'unknown')
      return { status: 404, text: '<!DOCTYPE html><title>Error 404 (Not Found)</title>' };
    try {
      checkRequest(seen);
      return { json: await carryOut(seen, response) };
    } catch (error) {
      if (error instanceof Refusal) return refusal(error.status, error.reason, error.message);
      // A fault of the fake: a request that is never answered would tell nobody.
      return refusal(500, 'fakeIsBroken', String(error));
    }
  }

  async function carryOut(seen: Asked, response: ServerResponse): Promise<object> {
    const { what, path, params, body } = seen;
    const [, jobId = ''] = /\/(?:queries|jobs)\/([^/]+)/.exec(path) ?? [];
    const wait = (job: WarehouseJob, ms: unknown) => untilDone(job, Number(ms ?? defaultWaitMs), response);
    switch (what) {
      case 'query': {
        // Its requestId is no promise: a query that changes nothing runs again.
        const { location, jobTimeoutMs, timeoutMs, maxResults, formatOptions } = body;
        const job = jobs.begin({ query: body, configuration: { query: body }, location, jobTimeoutMs });
        await wait(job, timeoutMs);
        return queryAnswer(job, { maxResults, isInt64: formatOptions?.useInt64Timestamp === true });
      }
      case 'dryRun':
        return dryRun(body);
      case 'table':
        return tableOf(tableAt(path));
      case 'insert':
        return jobResource(factsOf(await insert(body)));
      case 'results': {
        const job = jobs.find(jobId, params.get('location'));
        await wait(job, params.get('timeoutMs'));
        return resultsAnswer(job, readPaging(params, jobId));
      }
      case 'cancel': {
        const job = jobs.find(jobId, params.get('location'));
        job.cancel();
        return cancelAnswer(factsOf(job));
      }
      default:
        return jobResource(factsOf(jobs.find(jobId, params.get('location'))));
    }
  }

  function tableOf(name: string): object {
    if (!options.sourceOf.has(name)) throw new Refusal(404, 'notFound', `Not found: Table ${name}`);
    return tableResource(name);
  }

  /** A bad query is not refused here: it is a job, and that has failed. */
  async function insert({ jobReference, configuration }: Asked['body']): Promise<WarehouseJob> {
    const { jobId, location } = jobReference ?? {};
    const { query, jobTimeoutMs } = configuration;
    const failure = await jobs.dryRun(query, location).then(
      () => undefined,
      ({ reason, message }: Refusal): ErrorProto => ({ reason, message }),
    );
    return jobs.begin({ query, configuration, jobId, location, jobTimeoutMs, failure });
  }

  async function dryRun(body: Asked['body']): Promise<object> {
    const query = body.configuration?.query ?? body;
    const found = await jobs.dryRun(query, body.configuration ? body.jobReference?.location : body.location);
    const facts = { ...found, fields: found.columns.map(toField), configuration: body.configuration };
    return body.configuration ? dryRunJob(facts) : dryRunAnswer(facts);
  }

  function queryAnswer(job: WarehouseJob, paging: Paging): object {
    const { createdMs, reference, billed } = job;
    const times = { creationTime: String(createdMs), startTime: String(createdMs + 1) };
    const common = { jobCreationReason: { code: 'REQUESTED' }, location: reference.location, ...times };
    const page = answerOf(job, 'bigquery#queryResponse', paging);
    if (!job.result) return { ...page, ...common };
    const endTime = String(createdMs + 2);
    return { ...page, ...common, endTime, totalBytesBilled: String(billed), totalSlotMs: '5' };
  }

  function resultsAnswer(job: WarehouseJob, paging: Paging): object {
    return { ...answerOf(job, 'bigquery#getQueryResultsResponse', paging), etag: 'mE+etag==' };
  }

  /** What both ways to rows say. */
  function answerOf(
    { reference, result, failure, bytes, cacheHit }: WarehouseJob,
    kind: string,
    paging: Paging,
  ) {
    if (failure) throw refusalOf(failure);
    if (!result) return incompleteAnswer(kind, reference);
    const { start = 0, maxResults = pageRows, isInt64 } = paging;
    const all = toRecords(result, { isInt64 });
    const rows = cut(all.slice(start, start + Math.min(pageRows, maxResults)));
    const end = start + rows.length;
    return {
      kind,
      jobReference: reference,
      jobComplete: true,
      schema: { fields: result.columns.map(toField) },
      totalRows: String(all.length),
      totalBytesProcessed: String(bytes),
      cacheHit,
      ...(rows.length > 0 ? { rows } : {}),
      // Nor is there a token where no rows were asked for.
      ...(rows.length > 0 && end < all.length ? { pageToken: tokenOf(reference.jobId, end) } : {}),
    };
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    /** All that it was asked, in order. */
    asked,
    /** Names of the jobs that it has run, in order. */
    jobIds: () => jobs.all().map(({ reference }) => reference.jobId),
    /** Has requests treated otherwise from now on: where the rule says nothing, they are answered. */
    interfere(rule: Interference) {
      interfere = rule;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

type Paging = { readonly start?: number; readonly maxResults?: number; readonly isInt64: boolean };

/** @throws Refusal 400 for a token that it did not give for this job */
function readPaging(params: URLSearchParams, jobId: string): Paging {
  const token = params.get('pageToken');
  const [, ofToken] = token ? Buffer.from(token, 'base64url').toString().split('/') : [];
  const start = Number(ofToken ?? params.get('startIndex') ?? 0);
  if (token && token !== tokenOf(jobId, start)) throw new Refusal(400, 'invalid', 'Invalid page token');
  const isInt64 = params.get('formatOptions.useInt64Timestamp') === 'true';
  return {
    start,
    isInt64,
    ...(params.has('maxResults') ? { maxResults: Number(params.get('maxResults')) } : {}),
  };
}

const tokenOf = (jobId: string, start: number) => Buffer.from(`${jobId}/${start}`).toString('base64url');

/** As many rows as fit into a page. */
function cut(rows: readonly object[]): readonly object[] {
  let bytes = 0;
  const end = rows.findIndex((row, at) => {
    bytes += JSON.stringify(row).length;
    return at > 0 && bytes > maxPageBytes;
  });
  return end < 0 ? rows : rows.slice(0, end);
}

/** Resolves at the job's end, when the time is over, or when nobody waits for the answer any more. */
async function untilDone(job: WarehouseJob, waitMs: number, response: ServerResponse): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, waitMs);
  response.once('close', over.resolve);
  await Promise.race([job.done, over.promise]);
  clearTimeout(timer);
}
