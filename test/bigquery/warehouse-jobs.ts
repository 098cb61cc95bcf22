import { randomUUID } from 'node:crypto';
import { toGatewayError } from '../../src/base/errors.ts';
import type { ResultSet } from '../../src/base/rows.ts';
import type { Engine, Statement } from '../../src/engine/engine.ts';
import { type ErrorProto, type JobFacts, type JobReference, tableReference } from './bigquery-resources.ts';
import { Refusal } from './refusal.ts';
import { readParameters } from './warehouse-rows.ts';

export type WarehouseJob = {
  readonly reference: JobReference;
  readonly configuration: object;
  readonly createdMs: number;
  /** Tables that its text names. */
  readonly tables: readonly string[];
  readonly bytes: number;
  readonly billed: number;
  readonly cacheHit: boolean;
  /** Resolves when it has ended, whatever the end. */
  readonly done: Promise<void>;
  cancel(): void;
  result?: ResultSet;
  failure?: ErrorProto;
};

/** The part of a request that says what to run: `QueryRequest`, or `JobConfigurationQuery`. */
export type QueryPart = {
  readonly query: string;
  readonly queryParameters?: unknown;
  readonly useQueryCache?: boolean;
  readonly maximumBytesBilled?: string;
};

export type NewJob = {
  readonly query: QueryPart;
  readonly configuration: object;
  readonly jobId?: string | undefined;
  readonly location?: string | undefined;
  readonly jobTimeoutMs?: string | undefined;
  /** What is known to be wrong with it. */
  readonly failure?: ErrorProto | undefined;
};

export type JobsOptions = {
  /** Answers the queries. */
  readonly engine: Engine;
  /** Sources by the name of their table: `project.dataset.table`. */
  readonly sourceOf: ReadonlyMap<string, string>;
  /** Where the tables lie. */
  readonly location: string;
};

/** HTTP status of a refusal, or of the results of a job that has failed, by reason. Source: BigQuery, "Error messages". */
const statusOf: Readonly<Record<string, number>> = {
  notFound: 404,
  stopped: 499,
  backendError: 503,
};

/** Longest time of a job: six hours. */
const maxJobMs = 6 * 3_600_000;

/** Locations that a job is found in without naming one. */
const multiRegions = ['US', 'EU'];

/** Bytes of one table that a query reads, and at least what BigQuery bills for one: ten of the tests' megabytes. */
const tableBytes = { processed: 1000, billed: 10_000 };

/** What depends on more than its tables is never answered from the cache. */
const varying = /\b(current_(timestamp|date|datetime|time)|rand|generate_uuid|session_user)\b/i;

/** The jobs of one project, and what of them BigQuery knows. */
export function createWarehouseJobs({ engine, sourceOf, location: home }: JobsOptions) {
  const jobs = new Map<string, WarehouseJob>();
  /** Queries whose results are in the cache. */
  const cached = new Set<string>();

  const keyOf = ({ jobId, location }: Pick<JobReference, 'jobId' | 'location'>) => `${location}.${jobId}`;
  const cacheKey = ({ query, queryParameters }: QueryPart) => JSON.stringify([query, queryParameters ?? []]);

  /**
   * Looks at a query as every job does before it runs: its tables, where they lie, and whether the cache has its result.
   * @throws Refusal for a table that is not there
   */
  function look(query: QueryPart, location: string | undefined) {
    const tables = tablesIn(query.query);
    for (const table of tables) checkTable(table, location ?? home);
    const cacheHit = query.useQueryCache !== false && cached.has(cacheKey(query));
    const read = cacheHit ? 0 : tables.length;
    return {
      tables,
      cacheHit,
      bytes: read * tableBytes.processed,
      billed: read * tableBytes.billed,
      location: location ?? (tables.length > 0 ? home : 'US'),
    };
  }

  function checkTable(table: string, location: string): void {
    const [project, dataset, id] = table.split('.');
    const at = `was not found in location ${location}`;
    if (!sourceOf.has(table))
      throw new Refusal(404, 'notFound', `Not found: Table ${project}:${dataset}.${id} ${at}`);
    if (location !== home)
      throw new Refusal(404, 'notFound', `Not found: Dataset ${project}:${dataset} ${at}`);
  }

  /** The query with the names of tables that the embedded engine knows. */
  function statementOf({ query, queryParameters }: QueryPart): Statement {
    const sql = [...sourceOf].reduce(
      (text, [table, source]) => text.replaceAll(`\`${table}\``, `\`${source}\``),
      query,
    );
    // The embedded engine writes a result at once; BigQuery's have no limit.
    return { endpoint: 'warehouse', sql, parameters: readParameters(queryParameters), maxRows: 1_000_000 };
  }

  /**
   * Begins a job; one that is wrong from the start has failed already.
   * @throws Refusal 409 where there is a job of this id already
   */
  function begin(asked: NewJob): WarehouseJob {
    const { query, configuration, jobId, location, jobTimeoutMs } = asked;
    const controller = new AbortController();
    const timeoutMs = Number(jobTimeoutMs ?? maxJobMs);
    const { seen, failure = asked.failure } = lookAndBill(query, location);
    const reference = {
      projectId: 'payer',
      jobId: jobId ?? `job_${randomUUID().replaceAll('-', '').slice(0, 27)}`,
      location: seen?.location ?? location ?? home,
    };
    if (jobs.has(keyOf(reference)))
      throw new Refusal(409, 'duplicate', `Already Exists: Job payer:${keyOf(reference)}`);
    const job: WarehouseJob = {
      reference,
      configuration,
      createdMs: Date.now(),
      tables: seen?.tables ?? [],
      bytes: seen?.bytes ?? 0,
      billed: seen?.billed ?? 0,
      cacheHit: seen?.cacheHit ?? false,
      done: failure ? Promise.resolve() : run(),
      cancel: () => controller.abort(new Error('cancelled')),
      ...(failure ? { failure } : {}),
    };
    jobs.set(keyOf(reference), job);
    return job;

    async function run(): Promise<void> {
      try {
        const result = await engine.run(statementOf(query), { signal: controller.signal, timeoutMs });
        job.result = result;
        if (!varying.test(query.query)) cached.add(cacheKey(query));
      } catch (error) {
        const wasCancelled = controller.signal.aborted;
        job.failure = wasCancelled ? stopped('User requested cancellation') : problemOf(error, timeoutMs);
      }
    }
  }

  /** What a query is, or what keeps it from running. */
  function lookAndBill(query: QueryPart, location: string | undefined) {
    try {
      const seen = look(query, location);
      const limit = Number(query.maximumBytesBilled ?? Infinity);
      if (seen.billed <= limit) return { seen };
      const message = `Query exceeded limit for bytes billed: ${limit}. ${seen.billed} or higher required.`;
      return { seen, failure: { reason: 'bytesBilledLimitExceeded', message } };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { failure: { reason: error.reason, message: error.message } };
    }
  }

  return {
    begin,
    /** Looks at a query without running it. @throws Refusal for what is wrong with it */
    async dryRun(query: QueryPart, location: string | undefined) {
      const seen = look(query, location);
      const options = { signal: new AbortController().signal, timeoutMs: 10_000 };
      const { columns } = await engine.explain(statementOf(query), options).catch((error: unknown) => {
        throw refusalOf(problemOf(error, options.timeoutMs));
      });
      return { ...seen, columns };
    },
    /**
     * The job of this id. Where no location is said, only multi-regions are looked in.
     * @throws Refusal 404
     */
    find(jobId: string, location: string | null): WarehouseJob {
      const keys = (location ? [location] : multiRegions).map(place => keyOf({ jobId, location: place }));
      const found = keys.map(key => jobs.get(key)).find(job => job !== undefined);
      if (found) return found;
      const name = location ? `${location}.${jobId}` : jobId;
      throw new Refusal(404, 'notFound', `Not found: Job payer:${name}`);
    },
    /** Every job that there was, in order. */
    all: () => [...jobs.values()],
  };
}

/** Tables that a text names outside of comments. */
function tablesIn(text: string): readonly string[] {
  const code = text.replaceAll(/--.*$|\/\*[\s\S]*?\*\//gm, '');
  const named = [...code.matchAll(/`([a-z][\w-]*\.\w+\.[\w-]+)`/g)].map(([, name = '']) => name);
  return [...new Set(named)];
}

/** What BigQuery would say of a failure of the embedded engine. */
function problemOf(error: unknown, timeoutMs: number): ErrorProto {
  const { code, message } = toGatewayError(error);
  switch (code) {
    case 'deadline_exceeded':
      return stopped(`Job timed out after ${timeoutMs / 1000}s`);
    case 'invalid_query':
    case 'sandbox_refused':
      return { reason: 'invalidQuery', message, location: 'q' };
    default:
      return { reason: 'resourcesExceeded', message };
  }
}

function stopped(why: string): ErrorProto {
  return { reason: 'stopped', message: `Job execution was cancelled: ${why}` };
}

/** A failed job's failure as its results, and jobs.query, tell it. */
export function refusalOf({ reason, message }: ErrorProto): Refusal {
  return new Refusal(statusOf[reason] ?? 400, reason, message);
}

/** What jobs.get says of a job now. */
export function factsOf(job: WarehouseJob): JobFacts {
  const { reference, configuration, createdMs, failure, result, tables, bytes, billed, cacheHit } = job;
  const query = {
    totalBytesProcessed: String(bytes),
    totalBytesBilled: String(billed),
    cacheHit,
    statementType: 'SELECT',
    ...(tables.length > 0 && !cacheHit ? { referencedTables: tables.map(tableReference) } : {}),
  };
  const facts = { reference, configuration, createdMs };
  if (failure) return { ...facts, state: 'DONE', failure };
  return result ? { ...facts, state: 'DONE', query, totalSlotMs: '5' } : { ...facts, state: 'RUNNING' };
}
