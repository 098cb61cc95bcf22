import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Engine } from '../../src/engine/engine.ts';
import { toGatewayError } from '../../src/errors.ts';
import type { ResultSet } from '../../src/rows.ts';
import { readParameters, toField, toRecords } from './warehouse-rows.ts';
import { type Asked, type Deed, type Interference, perform, readAsked, refusal } from './warehouse-wire.ts';

type ExecutingOptions = {
  /** Answers the queries. */
  readonly engine: Engine;
  /** Sources by the name of their table: `project.dataset.table`. */
  readonly sourceOf: ReadonlyMap<string, string>;
  /** Rows of one page. */
  readonly pageRows: number;
};

type Job = {
  readonly jobId: string;
  readonly controller: AbortController;
  readonly done: Promise<void>;
  result?: ResultSet;
  refusal?: { readonly message: string; readonly reason: string };
};

/** A refusal as BigQuery's REST has it. */
class Refusal extends Error {
  readonly status: number;
  readonly reason: string;
  constructor(status: number, reason: string, message: string) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

/**
 * A server in BigQuery's place that answers with what the embedded engine finds, by BigQuery's REST: jobs.query, jobs.insert,
 * getQueryResults with pages, jobs.get, jobs.cancel, dry runs. Source: BigQuery REST reference, v2.
 */
export async function openExecutingWarehouse({ engine, sourceOf, pageRows }: ExecutingOptions) {
  const jobs = new Map<string, Job>();
  const asked: Asked[] = [];
  let interfere: Interference = () => undefined;
  const server = createServer(async (request, response) => {
    const seen = await readAsked(request);
    asked.push(seen);
    await perform(interfere(seen) ?? (await answerTo(seen)), response);
  });

  async function answerTo(seen: Asked): Promise<Deed> {
    try {
      return { json: await carryOut(seen) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return refusal(error.status, error.reason, error.message);
    }
  }

  async function carryOut({ what, path, params, body }: Asked): Promise<object> {
    const [, jobId = ''] = /\/(?:queries|jobs)\/([^/]+)/.exec(path) ?? [];
    const { query } = body?.configuration ?? {};
    switch (what) {
      case 'query': {
        const job = begin(`of_${body.requestId}`, body.query, body.queryParameters);
        return page(await within(job, Number(body.timeoutMs)), new URLSearchParams());
      }
      case 'dryRun':
        return dryRun(query.query, query.queryParameters);
      case 'insert':
        if (jobs.has(body.jobReference.jobId)) throw new Refusal(409, 'duplicate', 'Already Exists: Job');
        return describeJob(begin(body.jobReference.jobId, query.query, query.queryParameters));
      case 'results':
        return page(jobOf(jobId), params);
      case 'cancel':
        return cancel(jobOf(jobId));
      default:
        return describeJob(jobOf(jobId));
    }
  }

  /** The text with the names that the embedded engine knows. */
  function localise(sql: string): string {
    return [...sourceOf].reduce(
      (text, [table, source]) => text.replaceAll(`\`${table}\``, `\`${source}\``),
      sql,
    );
  }

  function begin(jobId: string, sql: string, parameters: unknown): Job {
    const known = jobs.get(jobId);
    if (known) return known;
    const controller = new AbortController();
    const statement = {
      endpoint: 'warehouse',
      sql: localise(sql),
      parameters: readParameters(parameters),
      maxRows: 100_000,
    };
    const job: Job = {
      jobId,
      controller,
      done: engine.run(statement, { signal: controller.signal, timeoutMs: 60_000 }).then(
        result => {
          job.result = result;
        },
        (error: unknown) => {
          job.refusal = { message: toGatewayError(error).message, reason: 'invalidQuery' };
        },
      ),
    };
    jobs.set(jobId, job);
    return job;
  }

  async function within(job: Job, timeoutMs: number): Promise<Job> {
    let timer: NodeJS.Timeout | undefined;
    await Promise.race([job.done, new Promise(resolve => (timer = setTimeout(resolve, timeoutMs)))]);
    clearTimeout(timer);
    return job;
  }

  function jobOf(jobId: string): Job {
    const job = jobs.get(jobId);
    if (!job) throw new Refusal(404, 'notFound', 'Not found: Job');
    return job;
  }

  function page({ jobId, result, refusal }: Job, params: URLSearchParams): object {
    const jobReference = { projectId: 'payer', jobId, location: 'EU' };
    if (refusal) throw new Refusal(400, refusal.reason, refusal.message);
    if (!result) return { jobComplete: false, jobReference };
    const rows = toRecords(result);
    const start = Number(params.get('pageToken') ?? 0);
    const end = start + Math.min(pageRows, Number(params.get('maxResults') ?? pageRows));
    return {
      jobComplete: true,
      jobReference,
      schema: { fields: result.columns.map(toField) },
      rows: rows.slice(start, end),
      totalRows: String(rows.length),
      totalBytesProcessed: '1000',
      totalBytesBilled: '10000',
      totalSlotMs: '5',
      ...(end < rows.length ? { pageToken: String(end) } : {}),
    };
  }

  function describeJob({ jobId, result, refusal }: Job): object {
    return {
      jobReference: { projectId: 'payer', jobId, location: 'EU' },
      status: { state: result || refusal ? 'DONE' : 'RUNNING', ...(refusal ? { errorResult: refusal } : {}) },
      statistics: {
        totalBytesProcessed: '1000',
        query: { statementType: 'SELECT', totalBytesBilled: '10000' },
      },
    };
  }

  function cancel(job: Job): object {
    job.controller.abort(new Error('cancelled'));
    return { job: describeJob(job) };
  }

  async function dryRun(sql: string, parameters: unknown): Promise<object> {
    const statement = {
      endpoint: 'dry run',
      sql: localise(sql),
      parameters: readParameters(parameters),
      maxRows: 1,
    };
    const options = { signal: new AbortController().signal, timeoutMs: 10_000 };
    const explained = await engine.explain(statement, options).catch((error: unknown) => {
      throw new Refusal(400, 'invalidQuery', toGatewayError(error).message);
    });
    const tables = [...sourceOf].filter(([, source]) => explained.sources.includes(source));
    const referencedTables = tables.map(([table]) => {
      const [projectId, datasetId, tableId] = table.split('.');
      return { projectId, datasetId, tableId };
    });
    const schema = { fields: explained.columns.map(toField) };
    const query = { statementType: 'SELECT', referencedTables, schema };
    return { statistics: { totalBytesProcessed: '1000', query } };
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    /** All that it was asked, in order. */
    asked,
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
