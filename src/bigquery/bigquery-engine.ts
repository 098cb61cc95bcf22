import type { Source } from '../duckdb/sources.ts';
import type { Engine, Explanation, RunOptions, Statement } from '../engine/engine.ts';
import { defaultMaxResultBytes, resultTooLarge } from '../engine/result-too-large.ts';
import type { Limit } from '../engine/start-limit.ts';
import { GatewayError } from '../errors.ts';
import type { Catalog } from '../googlesql/types.ts';
import type { Column, ResultSet } from '../rows.ts';
import { type AssembledSql, type AssembleRequest, assembleSql } from './assemble-sql.ts';
import { createBigQueryApi } from './bigquery-api.ts';
import { toCallersError } from './bigquery-errors.ts';
import type { BigQueryEvent } from './bigquery-events.ts';
import type { BigQueryFailure } from './bigquery-failure.ts';
import { checkWarehouse } from './check-warehouse.ts';
import type { JobRequest } from './job-bodies.ts';
import { missingColumn } from './missing-column.ts';
import { createOpenWork } from './open-work.ts';
import { columnsOf, renderRows } from './render-rows.ts';
import { createRetryBudget, type Retries, startRetries } from './retries.ts';
import { type JobResult, runJob } from './run-job.ts';
import { createSecondLock, type SecondLock, type Verdict } from './second-lock.ts';
import { sourceCatalog } from './source-catalog.ts';
import type { TableMapping } from './table-mapping.ts';

export type BigQueryEngineOptions = {
  /** The project that queries run in, and that pays. */
  readonly project: string;
  /** Region of the jobs, `EU`. Default: BigQuery finds it by the tables. */
  readonly location?: string;
  /** Another server that speaks BigQuery's REST; it is sent no credentials. Default: Google's. */
  readonly endpoint?: string;
  readonly mapping: TableMapping;
  /** The shapes of all sources, mapped or not. */
  readonly sources: readonly Source[];
  /** A query that would be billed more bytes is refused, whoever asks. Default: only what a run says. */
  readonly maxBytesBilled?: number;
  readonly reservation?: string;
  /** Priority of queries that nobody waits for. Default `INTERACTIVE`. */
  readonly backgroundPriority?: JobRequest['priority'];
  readonly emit: (event: BigQueryEvent) => void;
  /** From 0 to below 1, for the pauses between attempts. */
  random(): number;
  /** Attempts of one query after the first. Default 4. */
  readonly maxRetries?: number;
  /** Longest pause before the first retry, in milliseconds. Default 250. */
  readonly retryBaseMs?: number;
  /** Bytes of one result. Default 64 MiB. */
  readonly maxResultBytes?: number;
};

/** The time of what nobody but a start waits for. */
const unhurried = (): RunOptions => ({ signal: new AbortController().signal, timeoutMs: 20_000 });

/** The executor on BigQuery. */
export type BigQueryEngine = Engine & {
  /**
   * Emits `warehouse.warned` for each thing that fails some queries: columns that a table lacks.
   * @throws SetupError that tells the operator what keeps queries from being answered: credentials, tables
   */
  checkWarehouse(): Promise<void>;
};

type Waiting = { readonly limit: Limit; readonly retries: Retries };

/**
 * Makes the engine that runs on BigQuery. Our own front-end binds every statement first, a dry run is the second lock, and only
 * then the query runs, as a job of ours: see `assembleSql`, `createSecondLock`, `runJob`.
 * @throws Error where the mapping names a source that does not exist
 */
export async function createBigQueryEngine(options: BigQueryEngineOptions): Promise<BigQueryEngine> {
  const { mapping, emit, project } = options;
  const told = { mapping, emit, project };
  const catalog = sourceCatalog(options.sources);
  checkMapping(mapping, options.sources);
  const api = createBigQueryApi(options);
  const lock = createSecondLock({ api, mapping, isEmulator: options.endpoint !== undefined });
  const budget = createRetryBudget();
  const openWork = createOpenWork();

  /** Starts the time and the retries of one statement. */
  function begin(endpoint: string, runOptions: Pick<RunOptions, 'signal' | 'timeoutMs'>): Waiting {
    const limit = openWork.startLimit(runOptions);
    const policy = {
      budget,
      random: options.random,
      maxRetries: options.maxRetries ?? 4,
      baseMs: options.retryBaseMs ?? 250,
      onRetry: ({ reason }: BigQueryFailure) => emit({ type: 'warehouse.retried', endpoint, reason }),
    };
    return { limit, retries: startRetries(policy, limit) };
  }

  /** Runs a task on the text of a statement; what it throws is fit for the caller. */
  async function within<Result>(
    statement: Statement,
    runOptions: RunOptions,
    task: (assembled: AssembledSql, waiting: Waiting) => Promise<Result>,
    ownSql = statement.callerSql,
  ): Promise<Result> {
    const { endpoint } = statement;
    const assembled = assemble(statement, { catalog, mapping });
    const waiting = begin(endpoint, runOptions);
    try {
      waiting.limit.signal.throwIfAborted();
      const running = task(assembled, waiting);
      openWork.add(running);
      return await running;
    } catch (error) {
      const { linesBefore, reads } = assembled;
      const bytesLimit = ownLimit(options, runOptions);
      const missing = missingColumn(error, { catalog, reads });
      throw toCallersError(error, { endpoint, ownSql, linesBefore, bytesLimit, missing, ...told });
    } finally {
      waiting.limit.clear();
    }
  }

  return {
    run: (statement, runOptions) =>
      within(statement, runOptions, async ({ text, columns }, waiting) => {
        await lock.check({ text, parameters: statement.parameters }, waiting);
        const result = await runJob(
          { api, openWork, ...waiting },
          jobOf(options, statement, text, runOptions),
        );
        return renderResult(result, columns, options.maxResultBytes ?? defaultMaxResultBytes);
      }),
    explain: (statement, runOptions) =>
      within(statement, runOptions, (assembled, waiting) => explain(lock, statement, assembled, waiting)),
    describe({ sql, parameters }) {
      const statement = { endpoint: 'describe', sql, parameters, maxRows: 0 };
      const ask = async (assembled: AssembledSql, waiting: Waiting) => {
        const explained = explain(lock, statement, assembled, waiting);
        return (await explained.catch(failure => insteadOf(failure, assembled, catalog))).columns;
      };
      return within(statement, unhurried(), ask, sql);
    },
    async checkWarehouse() {
      const waiting = begin('start', unhurried());
      const asked = { api, place: options, mapping, catalog };
      const warnings = await checkWarehouse(asked, waiting).finally(waiting.limit.clear);
      for (const warning of warnings) emit({ type: 'warehouse.warned', ...warning });
    },
    async close() {
      // Jobs that were left are told so before the connections end.
      await openWork.end(new GatewayError('unavailable', 'The gateway is stopping'));
      api.close();
    },
  };
}

async function explain(
  lock: SecondLock,
  { parameters }: Statement,
  assembled: AssembledSql,
  waiting: Waiting,
): Promise<Explanation> {
  return explanationOf(assembled, await lock.ask({ text: assembled.text, parameters }, waiting));
}

/** A saved query is not wrong because a table lacks what it reads: then its columns are those that our front-end knows. */
function insteadOf(
  failure: unknown,
  { columns, reads }: AssembledSql,
  catalog: Catalog,
): Pick<Explanation, 'columns'> {
  if (missingColumn(failure, { catalog, reads })) return { columns };
  throw failure;
}

/** What a dry run says of a statement; what it does not say, our own front-end knows. */
function explanationOf({ columns, sources }: AssembledSql, verdict: Verdict): Explanation {
  const { fields, estimatedBytes } = verdict;
  return {
    columns: fields ? columnsOf(fields, columns) : columns,
    sources: verdict.sources.length > 0 ? verdict.sources : sources,
    ...(estimatedBytes === undefined ? {} : { estimatedBytes }),
  };
}

function checkMapping(mapping: TableMapping, sources: readonly Source[]): void {
  const names = sources.map(({ name }) => name);
  const unknown = [...mapping.keys()].filter(source => !names.includes(source));
  if (unknown.length === 0) return;
  throw new Error(`BIGQUERY_TABLES names ${unknown.join(', ')}; the sources are ${names.join(', ')}`);
}

function assemble(
  { sql, callerSql, parameters }: Statement,
  tables: Pick<AssembleRequest, 'catalog' | 'mapping'>,
): AssembledSql {
  const parameterNames = parameters.map(({ name }) => name);
  const arrayParameterNames = parameters.filter(({ value }) => Array.isArray(value)).map(({ name }) => name);
  return assembleSql({ sql, callerSql, ...tables, parameterNames, arrayParameterNames });
}

/** The run's limit of bytes, where it is lower than the one of all queries. */
function ownLimit(
  { maxBytesBilled: ofAll = Infinity }: BigQueryEngineOptions,
  { maxBytesBilled: own }: RunOptions,
): number | undefined {
  return own !== undefined && own < ofAll ? own : undefined;
}

/** One run of a statement as a job; of two limits of bytes the lower holds. */
function jobOf(
  options: BigQueryEngineOptions,
  { parameters, maxRows }: Statement,
  text: string,
  run: RunOptions,
): JobRequest {
  const limits = [options.maxBytesBilled, run.maxBytesBilled].filter(bytes => bytes !== undefined);
  const isBackground = run.priority === 'background';
  return {
    text,
    parameters,
    maxRows,
    priority: (isBackground && options.backgroundPriority) || 'INTERACTIVE',
    labels: run.labels ?? {},
    ...(limits.length > 0 ? { maxBytesBilled: Math.min(...limits) } : {}),
    ...(options.reservation ? { reservation: options.reservation } : {}),
  };
}

function renderResult(
  { fields, rows, receipt }: JobResult,
  ours: readonly Column[],
  maxResultBytes: number,
): ResultSet {
  const columns = columnsOf(fields, ours);
  const rowsJson = Buffer.from(`[${renderRows(columns, rows).join(',')}]`);
  if (rowsJson.length > maxResultBytes) throw resultTooLarge(maxResultBytes);
  return { columns, rowsJson, rowCount: rows.length, receipt };
}
