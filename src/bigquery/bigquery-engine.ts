import { GatewayError } from '../base/errors.ts';
import { bytesOfColumns } from '../base/rows.ts';
import type { SetupProblem } from '../base/setup-error.ts';
import type { Limit } from '../base/time-limit.ts';
import type { Source } from '../endpoints/source.ts';
import type { CompileOptions } from '../engine/compile-turns.ts';
import { createCompiler, statementKey } from '../engine/compiler.ts';
import type { Engine, Explanation, RunOptions, Statement } from '../engine/engine.ts';
import { declarationsOf } from '../engine/parameter-types.ts';
import { listSubsets } from '../googlesql/list-subsets.ts';
import type { Catalog } from '../googlesql/tree/types.ts';
import type { BigQueryFailure } from './answers/bigquery-failure.ts';
import { columnsOf } from './answers/render-value.ts';
import { type AssembledSql, type AssembleRequest, assembleSql } from './assemble-sql.ts';
import { toCallersError } from './bigquery-errors.ts';
import type { BigQueryEngineOptions } from './bigquery-options.ts';
import { adviseOnLayouts, checkWarehouse, type WarehouseToCheck } from './check-warehouse.ts';
import { createBigQueryApi } from './client/bigquery-api.ts';
import { isEmulator } from './client/emulator-endpoint.ts';
import { createInFlightTracker } from './client/in-flight-tracker.ts';
import { createRetryBudget, type Retries, startRetries } from './client/retries.ts';
import type { TableMapping } from './client/table-mapping.ts';
import { createDryRunGuard, type DryRunGuard, type Verdict } from './dry-run-guard.ts';
import { missingColumn } from './missing-column.ts';
import { createStatementRunner, type Waiting } from './run-statement.ts';
import { sourceCatalog } from './source-catalog.ts';

/** Run options for work that only a start waits for. */
const unhurried = (): RunOptions => ({ signal: new AbortController().signal, timeoutMs: 20_000 });

/** The executor on BigQuery. */
export type BigQueryEngine = Engine & {
  /**
   * Emits `warehouse.warned` for each thing that fails some queries: tables that can't be read, columns that a table lacks; and, with
   * `isThorough`, for table layouts that make queries cost more than necessary.
   * @throws SetupError that says why no query can be answered (credentials, tables); with `isThorough` also if a single table can't be read
   */
  checkWarehouse(options?: { readonly isThorough?: boolean }): Promise<void>;
};

/**
 * Makes the engine that runs on BigQuery. Our own front-end binds every statement, a dry run checks it again, and only then the query
 * runs, as a job with an id of ours: see `assembleSql`, `createDryRunGuard`, `runJob`.
 * @throws Error if the mapping names a source that does not exist
 */
export async function createBigQueryEngine(options: BigQueryEngineOptions): Promise<BigQueryEngine> {
  const { mapping, emit, project } = options;
  const shared = { mapping, emit, project };
  const catalog = sourceCatalog(options.sources);
  checkMapping(mapping, options.sources);
  const api = createBigQueryApi(options);
  const dryRunGuard = createDryRunGuard({ api, mapping, isEmulator: isEmulator(options.endpoint) });
  const beginRetries = shareRetries(options);
  const inFlight = createInFlightTracker();
  const assemble = createAssembler({ catalog, mapping });
  const { run, inPlace, waiting } = createStatementRunner({ api, dryRunGuard, inFlight, options });

  /** Starts the deadline and the retries of one statement. */
  function begin(endpoint: string, runOptions: Pick<RunOptions, 'signal' | 'timeoutMs'>): Waiting {
    const limit = inFlight.startLimit(runOptions);
    return { limit, retries: beginRetries(endpoint, limit) };
  }

  const explaining = (statement: Statement) => (assembled: AssembledSql, waiting: Waiting) =>
    explain(dryRunGuard, statement, assembled, waiting);

  /** Runs a task on the text of a statement, and translates its errors for the caller. */
  async function within<Result>(
    statement: Statement,
    runOptions: RunOptions,
    task: (assembled: AssembledSql, waiting: Waiting) => Promise<Result>,
    ownSql = statement.callerSql,
  ): Promise<Result> {
    const waiting = begin(statement.endpoint, runOptions);
    const inTime = { ...runOptions, signal: waiting.limit.signal };
    let assembled: AssembledSql | undefined;
    try {
      assembled = await assemble(statement, inTime);
      const running = task(assembled, waiting);
      inFlight.add(running);
      return await running;
    } catch (error) {
      const { linesBefore = 0, reads = [] } = assembled ?? {};
      const at = { endpoint: statement.endpoint, ownSql, linesBefore, ...bytesLimits(options, runOptions) };
      throw toCallersError(error, { ...at, missing: missingColumn(error, { catalog, reads }), ...shared });
    } finally {
      waiting.limit.clear();
    }
  }

  return {
    run: (statement, runOptions) =>
      within(statement, runOptions, (assembled, waiting) =>
        run(assembled, { statement, runOptions, waiting }),
      ),
    explain: (statement, runOptions) =>
      within(statement, runOptions, (assembled, waiting) =>
        inPlace({ runOptions, waiting }, () => explaining(statement)(assembled, waiting)),
      ),
    describe({ sql, parameters }) {
      const statement = { endpoint: 'describe', sql, parameters, maxRows: 0 };
      const ask = (assembled: AssembledSql, waiting: Waiting) =>
        columnsIn(explaining(statement)(assembled, waiting), assembled, catalog);
      return within(statement, unhurried(), ask, sql);
    },
    subsets: async statement => subsetsOf(statement, catalog),
    tablesVersion: async () => '', // the files of the sources were read at the start
    check: async (statement, options) => (await assemble(statement, options)).columns,
    async checkWarehouse({ isThorough = false } = {}) {
      const limit = inFlight.startLimit(unhurried());
      const waiting = { limit, startRetries: () => beginRetries('start', limit) };
      const warehouse = { api, place: options, mapping, catalog };
      const warnings = examineWarehouse(warehouse, waiting, { isThorough }).finally(limit.clear);
      for (const warning of await warnings) emit({ type: 'warehouse.warned', ...warning });
    },
    usage: () => ({ waiting: waiting(), memoryBytes: 0 }),
    async close() {
      // Abandoned jobs are cancelled before the connections end.
      await inFlight.end(new GatewayError('unavailable', 'The gateway is stopping'));
      api.close();
    },
  };
}

/** Makes the function that starts the retries of one query; all queries share a budget. */
function shareRetries({ random, emit, maxRetries = 4, retryBaseMs: baseMs = 1000 }: BigQueryEngineOptions) {
  const shared = { budget: createRetryBudget(), random, maxRetries, baseMs };
  return (endpoint: string, limit: Limit): Retries => {
    const onRetry = ({ reason }: BigQueryFailure) => emit({ type: 'warehouse.retried', endpoint, reason });
    return startRetries({ ...shared, onRetry }, limit);
  };
}

async function examineWarehouse(
  warehouse: WarehouseToCheck,
  waiting: Parameters<typeof checkWarehouse>[1],
  { isThorough }: { readonly isThorough: boolean },
): Promise<readonly SetupProblem[]> {
  const found = await checkWarehouse(warehouse, waiting, { isThorough });
  return isThorough ? [...found, ...(await adviseOnLayouts(warehouse, waiting))] : found;
}

async function explain(
  dryRunGuard: DryRunGuard,
  { parameters }: Statement,
  assembled: AssembledSql,
  waiting: Waiting,
): Promise<Explanation> {
  const { text, sources } = assembled;
  return explanationOf(assembled, await dryRunGuard.ask({ text, sources, parameters }, waiting));
}

/** The columns of a saved query. It stays valid if a table lacks columns that it reads: then they are those of our own front-end. */
async function columnsIn(
  explained: Promise<Explanation>,
  { columns, reads }: AssembledSql,
  catalog: Catalog,
) {
  try {
    return (await explained).columns;
  } catch (failure) {
    if (missingColumn(failure, { catalog, reads })) return columns;
    throw failure;
  }
}

/** The explanation of a statement by its dry run, completed by our own front-end. */
function explanationOf({ columns, sources }: AssembledSql, verdict: Verdict): Explanation {
  const { fields, estimatedBytes } = verdict;
  return {
    columns: fields ? columnsOf(fields, columns) : columns,
    sources: verdict.sources.length > 0 ? verdict.sources : sources,
    ...(estimatedBytes === undefined ? {} : { estimatedBytes }),
  };
}

function subsetsOf({ sql, parameters }: Pick<Statement, 'sql' | 'parameters'>, catalog: Catalog) {
  return listSubsets({ sql, catalog, ...declarationsOf(parameters) });
}

function checkMapping(mapping: TableMapping, sources: readonly Source[]): void {
  const names = sources.map(({ name }) => name);
  const unknown = [...mapping.keys()].filter(source => !names.includes(source));
  if (unknown.length === 0) return;
  throw new Error(`BIGQUERY_TABLES names ${unknown.join(', ')}; the sources are ${names.join(', ')}`);
}

type Assembler = (
  statement: Pick<Statement, 'sql' | 'callerSql' | 'parameters'>,
  options: CompileOptions,
) => Promise<AssembledSql>;

function createAssembler(tables: Pick<AssembleRequest, 'catalog' | 'mapping'>): Assembler {
  const compile = createCompiler<AssembledSql>(
    ({ text, columns }) => text.length + 2 * bytesOfColumns(columns),
  );
  return (statement, turn) => {
    const { sql, callerSql, parameters } = statement;
    const assembleNow = () => assembleSql({ sql, callerSql, ...tables, ...declarationsOf(parameters) });
    return compile(statementKey(statement), assembleNow, turn);
  };
}

/** The limit of billed bytes in force, and whether it is this run's own: under another one the query may succeed. */
function bytesLimits(
  { maxBytesBilled: ofAll = Infinity }: BigQueryEngineOptions,
  { maxBytesBilled: own = Infinity }: RunOptions,
) {
  return { maxBytesBilled: Math.min(own, ofAll), bytesLimit: own < ofAll ? own : undefined };
}
