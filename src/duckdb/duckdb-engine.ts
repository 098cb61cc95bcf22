import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { bytesOfColumns, type ResultSet } from '../base/rows.ts';
import { inSpan } from '../base/spans.ts';
import { type Limit, orAborted, startLimit } from '../base/time-limit.ts';
import type { Source } from '../endpoints/source.ts';
import type { CompileOptions } from '../engine/compile-turns.ts';
import { createCompiler, statementKey } from '../engine/compiler.ts';
import type { Engine, Explanation, RunOptions, Statement } from '../engine/engine.ts';
import { createFairQueue, type FairQueueOptions } from '../engine/fair-queue.ts';
import { declarationsOf } from '../engine/parameter-types.ts';
import { defaultMaxResultBytes } from '../engine/result-too-large.ts';
import { type CompiledStatement, compileForDuckDb } from '../googlesql/compile-duckdb.ts';
import { duckDbMacros } from '../googlesql/functions/duckdb-macros.ts';
import { listSubsets } from '../googlesql/list-subsets.ts';
import type { Catalog as FrontEndCatalog } from '../googlesql/tree/types.ts';
import {
  type EngineChild,
  type EngineEnd,
  EngineGoneError,
  OutdatedError,
  runUntil,
} from './engine-child.ts';
import { toCallersError } from './engine-errors.ts';
import type { EngineEvent } from './engine-events.ts';
import { createEnginePool, type EnginePool } from './engine-pool.ts';
import type { BoundValue, Catalog, EngineSettings } from './engine-protocol.ts';
import { heldDigits } from './normalise-row.ts';
import { removeLeftSpills } from './spill-directory.ts';

type DuckDbEngineOptions = {
  readonly databasePath: string;
  /** Sources; those that read files in place become views. Default: none. */
  readonly sources?: readonly Source[];
  readonly clock: Clock;
  readonly emit: (event: EngineEvent) => void;
  /** Maximum queries that run at the same time, each in a process of its own. Default 4. */
  readonly maxConcurrentQueries?: number;
  /** Maximum waiting queries; more are refused as `overloaded`. Default 512. */
  readonly maxWaitingQueries?: number;
  /** Maximum waiting queries of one caller; more are refused as `too_many_requests`. Default 128. */
  readonly maxWaitingPerCaller?: number;
  /** Megabytes for DuckDB's buffers, divided among the processes. Default 2048. */
  readonly memoryLimitMb?: number;
  /** Maximum bytes of one result. Default 16 MiB. */
  readonly maxResultBytes?: number;
  /** Whether callers may cast by `x::text`, as in Postgres but not in BigQuery. Default false. */
  readonly takesPostgresCasts?: boolean | undefined;
  /** Milliseconds between two heartbeats of a process; after ten missed ones it is killed. Default 1000. */
  readonly aliveMs?: number;
  /** Milliseconds an interrupted query has to end before its process is killed. Default 1000. */
  readonly graceMs?: number;
};

/** The embedded engine, and the ids of its processes, the oldest first. */
export type DuckDbEngine = Engine & {
  readonly pids: readonly number[];
  /** Reads these sources from now on, those whose files are read in place too. @throws EngineGoneError if no process can start with them */
  takeSources(sources: readonly Source[]): Promise<void>;
};

/** Maximum runs of a query whose process is killed from outside or crashes; after that the query is considered the cause. */
const maxRuns = 3;

/** Ends of a process that its query has caused. */
const costly: ReadonlySet<EngineEnd> = new Set(['out of memory', 'unresponsive query']);

/** Up to this many concurrent queries use all processors; if there are more, each has one thread (decision 135). */
const processors = availableParallelism();

/** Minimum megabytes for DuckDB. */
const minMemoryMb = 128;

/**
 * Starts the embedded engine: BigQuery SQL, translated for DuckDB. Each query runs in a process of its own, which can be
 * interrupted and killed, and shares memory with no other query. Resolves once the database is open.
 * @throws Error if the database can't be opened
 */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the methods of one engine
export async function createDuckDbEngine(options: DuckDbEngineOptions): Promise<DuckDbEngine> {
  const { clock, emit, graceMs = 1000 } = options;
  await removeLeftSpills(options.databasePath);
  const queue = createFairQueue(queueOptions(options));
  const { permits, ...waiting } = queueOptions(options);
  const admission = createFairQueue({ permits: Infinity, permitsPerCaller: permits, ...waiting });
  let settings = engineSettings(options);
  const pool = createEnginePool({
    settings,
    maxProcesses: options.maxConcurrentQueries ?? 4,
    emit,
  });
  const compile = createDuckDbCompiler(options);

  async function runIn(child: EngineChild, statement: Statement, options: RunOptions): Promise<ResultSet> {
    const catalog = await orAborted(child.catalog, options.signal);
    const { sql, shape, parameters, columns } = await compile(catalog, statement, options);
    const values = parameters.map(({ name, placeholder, kind }): BoundValue => {
      if (kind === 'NOW') return { placeholder, micros: BigInt(Math.trunc(clock.now())) * 1000n };
      return { placeholder, text: boundText(statement, name) };
    });
    const isCrowded = queue.running() > processors;
    const query = { catalog: catalog.version, sql, values, shape, maxRows: statement.maxRows, isCrowded };
    const rows = await runUntil(options.signal, child, query, graceMs);
    return { columns, ...rows };
  }

  /**
   * Runs a statement. If its process ends, it runs again in the remaining time, since it only reads: in a new process, because the
   * existing ones may have been killed together with the first.
   */
  async function runNow(statement: Statement, options: RunOptions): Promise<ResultSet> {
    const limit = options.signal;
    for (let runs = 1; ; runs++) {
      try {
        return await pool.use(child => againIfOutdated(limit, () => runIn(child, statement, options)), {
          isNew: runs > 1,
        });
      } catch (error) {
        const isLost = error instanceof EngineGoneError && error.why === 'crash' && !limit.aborted;
        if (!isLost || runs === maxRuns) throw error;
      }
    }
  }

  /**
   * Resolves when a run needs its permit no more: when DuckDB has finished it, perhaps after the caller's answer. If it has cost its process,
   * another one is ready by then: no other query shall wait for that.
   */
  async function whenOver(result: Promise<ResultSet>): Promise<void> {
    const error: unknown = await result.then(
      () => undefined,
      error => error,
    );
    if (error instanceof EngineGoneError && costly.has(error.why)) await pool.refill();
  }

  /**
   * Waits for a permit to run, with the statement compiled first: no permit is idle while the front-end is busy with other texts. A caller has
   * no more compiled statements waiting than there are permits, since each may take some megabytes. What is refreshed in the background was
   * mostly compiled for somebody before.
   */
  async function admit(statement: Statement, options: RunOptions): Promise<() => void> {
    if (options.priority === 'background') return queue.take(options.signal, options);
    const leave = await admission.take(options.signal, options);
    try {
      // Without a process there are no tables either: the run starts one, or fails.
      const catalog = await orAborted(pool.catalog(), options.signal).catch(() => undefined);
      if (catalog) await compile(catalog, statement, options);
      return await queue.take(options.signal, options);
    } finally {
      leave();
    }
  }

  async function explain(statement: Statement, options: CompileOptions): Promise<Explanation> {
    try {
      const { columns, tables } = await compile(await pool.catalog(), statement, options);
      return { columns, sources: tables };
    } catch (error) {
      throw toCallersError(error, statement.endpoint, emit);
    }
  }

  const { problems } = await pool.catalog().catch((cause: Error) => {
    throw new Error(`The embedded engine could not open ${options.databasePath}: ${cause.message}`, {
      cause,
    });
  });
  for (const problem of problems) emit({ type: 'source.unreadable', ...problem });
  return {
    get pids() {
      return pool.pids;
    },
    async run(statement, runOptions) {
      const limit = startLimit(runOptions);
      try {
        const release = await admit(statement, within(runOptions, limit));
        const result = inSpan('SELECT', spanOptions, () => runNow(statement, within(runOptions, limit)));
        void whenOver(result).then(release);
        return await orAborted(result, limit.signal);
      } catch (error) {
        throw toCallersError(error, statement.endpoint, emit);
      } finally {
        limit.clear();
      }
    },
    async explain(statement, runOptions) {
      const limit = startLimit(runOptions);
      return orAborted(explain(statement, within(runOptions, limit)), limit.signal).finally(limit.clear);
    },
    describe: statement => explain(unrun(statement), nobody()).then(({ columns }) => columns),
    async subsets({ sql, parameters }) {
      const { tables } = await tablesNow(pool, emit);
      const catalog = new Map(tables.map(table => [table.name, table]));
      return listSubsets({ sql, catalog, ...declarationsOf(parameters) });
    },
    async takeSources(sources) {
      const next = engineSettings({ ...options, sources });
      if (isDeepStrictEqual(next, settings)) return;
      const { problems: found } = await pool.replace(next);
      const before = new Set(settings.sources.map(({ name }) => name));
      settings = next;
      for (const problem of found) {
        if (!before.has(problem.source)) emit({ type: 'source.unreadable', ...problem });
      }
    },
    tablesVersion: async () => (await tablesNow(pool, emit)).version,
    usage: () => ({ waiting: admission.waiting() + queue.waiting(), memoryBytes: residentBytes(pool.pids) }),
    check: (statement, of) => explain(unrun(statement), of).then(({ columns }) => columns),
    close: () => pool.close(),
  };
}

/** The tables of the database; errors are translated for the caller. */
async function tablesNow(pool: EnginePool, emit: DuckDbEngineOptions['emit']): Promise<Catalog> {
  try {
    return await pool.catalog();
  } catch (error) {
    throw toCallersError(error, 'check', emit);
  }
}

/** The same options with the signal of their deadline. */
const within = (options: RunOptions, { signal }: Limit): RunOptions => ({ ...options, signal });

/** A statement that is compiled but not run. */
const unrun = (statement: Pick<Statement, 'sql' | 'callerSql' | 'parameters'>): Statement => ({
  ...statement,
  endpoint: 'check',
  maxRows: 0,
});

/** Compile options for describing a saved query, which has no caller. */
const nobody = (): CompileOptions => ({ signal: new AbortController().signal });

/** Resident bytes of processes, as counted by the kernel; 0 if there is no /proc. */
function residentBytes(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + residentOf(pid), 0);
}

function residentOf(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    // The process has just ended.
    return 0;
  }
}

const spanOptions = {
  kind: 'client',
  attributes: { 'db.system.name': 'duckdb', 'db.operation.name': 'SELECT' },
} as const;

/** Runs a statement again if the tables changed after it was compiled. They seldom do: for instance when a field first has a longer array. */
async function againIfOutdated<Result>(limit: AbortSignal, run: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof OutdatedError) || limit.aborted) throw error;
    }
  }
}

/** @throws GatewayError `invalid_parameter` for a number that DuckDB would round */
function boundText({ parameters }: Statement, name: string) {
  const { value = null, type } = parameters.find(given => given.name === name) ?? {};
  const tooLong = type === 'BIGNUMERIC' && [value ?? []].flat().find(text => !heldDigits.test(text));
  if (!tooLong) return value;
  throw new GatewayError(
    'invalid_parameter',
    `Parameter "${name}" is "${tooLong}"; allowed in the embedded engine: 29 digits before the point and 9 after it`,
  );
}

type DuckDbCompiler = (
  catalog: Catalog,
  statement: Statement,
  options: CompileOptions,
) => Promise<CompiledStatement>;

/** Compiles statements against the tables as stored in the database. */
function createDuckDbCompiler({ takesPostgresCasts = false }: DuckDbEngineOptions): DuckDbCompiler {
  const compile = createCompiler<CompiledStatement>(
    ({ sql, columns }) => sql.length + 2 * bytesOfColumns(columns),
  );
  // Each process reports its tables: equal ones share one catalogue object, for which the front-end keeps bound statements.
  let last: { readonly version: string; readonly tables: FrontEndCatalog } | undefined;
  const tablesOf = ({ version, tables }: Catalog): FrontEndCatalog => {
    if (last?.version !== version)
      last = { version, tables: new Map(tables.map(table => [table.name, table])) };
    return last.tables;
  };
  return (stored, statement, turn) => {
    const { sql, callerSql, parameters, maxRows } = statement;
    const key = `${stored.version} ${maxRows} ${statementKey(statement)}`;
    const compileNow = () => {
      const catalog = tablesOf(stored);
      const declarations = declarationsOf(parameters);
      return compileForDuckDb({ sql, callerSql, catalog, ...declarations, maxRows, takesPostgresCasts });
    };
    return compile(key, compileNow, turn);
  };
}

function queueOptions(options: DuckDbEngineOptions): FairQueueOptions {
  return {
    permits: options.maxConcurrentQueries ?? 4,
    maxWaiting: options.maxWaitingQueries ?? 512,
    maxWaitingPerCaller: options.maxWaitingPerCaller ?? 128,
  };
}

function engineSettings(options: DuckDbEngineOptions): EngineSettings {
  const share = (options.memoryLimitMb ?? 2048) / (options.maxConcurrentQueries ?? 4);
  const memoryLimitMb = Math.max(minMemoryMb, Math.round(share));
  return {
    databasePath: options.databasePath,
    sources: (options.sources ?? []).filter(
      source => source.files || JSON.stringify(source.columns).includes('BIGNUMERIC'),
    ),
    macros: duckDbMacros,
    memoryLimitMb,
    // DuckDB's own limit does not cover lists and strings, and Node holds a result twice while passing it on.
    residentLimitMb: Math.round(memoryLimitMb * 1.5) + 512,
    keptLimitMb: 128,
    spillLimitMb: memoryLimitMb * 4,
    aliveMs: options.aliveMs ?? 1000,
    maxResultBytes: options.maxResultBytes ?? defaultMaxResultBytes,
  };
}
