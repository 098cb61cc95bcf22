import { LRUCache } from 'lru-cache';
import type { Clock } from '../clock.ts';
import type { Engine, Explanation, Statement } from '../engine/engine.ts';
import { createFairQueue, type FairQueueOptions } from '../engine/fair-queue.ts';
import { defaultMaxResultBytes } from '../engine/result-too-large.ts';
import { startLimit } from '../engine/start-limit.ts';
import { type CompiledStatement, compileForDuckDb } from '../googlesql/compile-duckdb.ts';
import { duckDbMacros } from '../googlesql/duckdb-macros.ts';
import { orAborted } from '../or-aborted.ts';
import type { ResultSet } from '../rows.ts';
import { type EngineChild, EngineGoneError } from './engine-child.ts';
import { toCallersError } from './engine-errors.ts';
import type { EngineEvent } from './engine-events.ts';
import type { BoundValue, EngineSettings } from './engine-protocol.ts';
import { createEngineSupervisor } from './engine-supervisor.ts';

type DuckDbEngineOptions = {
  readonly databasePath: string;
  readonly clock: Clock;
  readonly emit: (event: EngineEvent) => void;
  /** Queries that run at the same time. Default 4. */
  readonly maxConcurrentQueries?: number;
  /** Queries that wait for one of those; more are refused as `overloaded`. Default 512. */
  readonly maxWaitingQueries?: number;
  /** Queries of one caller that wait; more are refused as `too_many_requests`. Default 128. */
  readonly maxWaitingPerCaller?: number;
  /** Megabytes for DuckDB's buffers; the process may be half as large again and 512 MB. Default 1024. */
  readonly memoryLimitMb?: number;
  /** Bytes of one result. Default 64 MiB. */
  readonly maxResultBytes?: number;
  /** Milliseconds an interrupted query has to end before its process is killed. Default 2000. */
  readonly graceMs?: number;
};

/** The embedded engine, and the id of the process that runs its queries now. */
export type DuckDbEngine = Engine & { readonly pid: number | undefined };

/** Compiled statements that are kept. */
const maxCompiled = 500;

/**
 * Starts the embedded engine: BigQuery SQL, translated for DuckDB, run in a process of its own that can be interrupted and
 * killed; where that process ends, the next query starts a new one. Resolves once the database is open.
 * @throws Error where the database can't be opened
 */
export async function createDuckDbEngine(options: DuckDbEngineOptions): Promise<DuckDbEngine> {
  const { clock, emit } = options;
  const settings = engineSettings(options);
  const queue = createFairQueue(queueOptions(options));
  const supervisor = createEngineSupervisor({ settings, emit, graceMs: options.graceMs ?? 2000 });
  const compiled = new LRUCache<string, CompiledStatement>({ max: maxCompiled });

  /** Compiles against the tables as they lie in the database that this process has open. */
  async function compile(owner: EngineChild, statement: Statement): Promise<CompiledStatement> {
    const tables = await owner.catalog;
    const { sql, callerSql, maxRows } = statement;
    const key = JSON.stringify([owner.pid, maxRows, sql, callerSql]);
    const known = compiled.get(key);
    if (known) return known;
    const catalog = new Map(tables.map(table => [table.name, table]));
    const namesOf = (parameters: Statement['parameters']) => parameters.map(({ name }) => name);
    const fresh = compileForDuckDb({
      sql,
      callerSql,
      catalog,
      parameterNames: namesOf(statement.parameters),
      arrayParameterNames: namesOf(statement.parameters.filter(({ value }) => Array.isArray(value))),
      maxRows,
    });
    compiled.set(key, fresh);
    return fresh;
  }

  async function runOnce(statement: Statement, limit: AbortSignal): Promise<ResultSet> {
    const owner = supervisor.current();
    const { sql, shape, parameters, columns } = await compile(owner, statement);
    const values = parameters.map(({ name, placeholder, kind }): BoundValue => {
      if (kind === 'NOW') return { placeholder, micros: BigInt(Math.trunc(clock.now())) * 1000n };
      return { placeholder, text: statement.parameters.find(given => given.name === name)?.value ?? null };
    });
    const { rowsJson, rowCount } = await supervisor.run(owner, { sql, values, shape }, limit);
    return { columns, rowsJson, rowCount };
  }

  /** A query whose process had to end because of another one is run again, once: it only reads, and its time goes on. */
  async function runNow(statement: Statement, limit: AbortSignal): Promise<ResultSet> {
    try {
      return await runOnce(statement, limit);
    } catch (error) {
      const isInnocent = error instanceof EngineGoneError && error.why === 'deaf query' && !limit.aborted;
      if (!isInnocent) throw error;
      return runOnce(statement, limit);
    }
  }

  async function explain(statement: Statement): Promise<Explanation> {
    try {
      const { columns, tables } = await compile(supervisor.current(), statement);
      return { columns, sources: tables };
    } catch (error) {
      throw toCallersError(error, statement.endpoint, emit);
    }
  }

  await supervisor.current().catalog.catch((cause: Error) => {
    throw new Error(`The embedded engine could not open ${options.databasePath}: ${cause.message}`, {
      cause,
    });
  });
  return {
    get pid() {
      return supervisor.current().pid;
    },
    async run(statement, runOptions) {
      const limit = startLimit(runOptions);
      try {
        const release = await queue.take(limit.signal, runOptions);
        // The slot is free again when DuckDB is done with the query, which may be later than the caller's answer.
        const result = runNow(statement, limit.signal).finally(release);
        return await orAborted(result, limit.signal);
      } catch (error) {
        throw toCallersError(error, statement.endpoint, emit);
      } finally {
        limit.clear();
      }
    },
    explain,
    describe: async ({ sql, parameters }) =>
      (await explain({ endpoint: 'describe', sql, parameters, maxRows: 0 })).columns,
    close: () => supervisor.close(),
  };
}

function queueOptions(options: DuckDbEngineOptions): FairQueueOptions {
  return {
    slots: options.maxConcurrentQueries ?? 4,
    maxWaiting: options.maxWaitingQueries ?? 512,
    maxWaitingPerCaller: options.maxWaitingPerCaller ?? 128,
  };
}

function engineSettings(options: DuckDbEngineOptions): EngineSettings {
  const memoryLimitMb = options.memoryLimitMb ?? 1024;
  return {
    databasePath: options.databasePath,
    connections: options.maxConcurrentQueries ?? 4,
    macros: duckDbMacros,
    memoryLimitMb,
    residentLimitMb: Math.round(memoryLimitMb * 1.5) + 512,
    maxResultBytes: options.maxResultBytes ?? defaultMaxResultBytes,
  };
}
