import { type ChildProcess, fork } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { childEnvironment } from '../child-environment.ts';
import type { CatalogTable } from '../googlesql/types.ts';
import type { EngineCommand, EngineReport, EngineSettings, EngineStatement } from './engine-protocol.ts';

/** A started engine process. */
export type EngineChild = {
  readonly pid: number | undefined;
  /** The tables of its database. Rejects where the process ended before it was ready. */
  readonly catalog: Promise<readonly CatalogTable[]>;
  /** Runs a statement; rejects with DuckDB's message, or with EngineGoneError when the process ends first. */
  run(statement: EngineStatement): EngineRun;
  kill(why: 'deaf query' | 'closed'): void;
  /** Resolves with the reason once the process has ended. */
  readonly ended: Promise<string>;
};

export type EngineRun = {
  readonly result: Promise<{ readonly rowsJson: Buffer; readonly rowCount: number }>;
  /** Asks DuckDB to stop; it does so between two vectors of rows. */
  interrupt(): void;
};

/** Why a process ended: it crashed, used too much memory, ran a query that heard no interrupt, or was wanted no more. */
export type EngineEnd = 'crash' | 'out of memory' | 'deaf query' | 'closed';

/** The engine process ended while it owed an answer. */
export class EngineGoneError extends Error {
  override readonly name = 'EngineGoneError';
  readonly why: EngineEnd;

  constructor(reason: string, why: EngineEnd) {
    super(reason);
    this.why = why;
  }
}

type Waiting = { resolve(result: { rowsJson: Buffer; rowCount: number }): void; reject(error: Error): void };

/** Starts the process that owns the database. It ends by itself when this one does. */
export function startEngineChild(settings: EngineSettings): EngineChild {
  const child = fork(new URL('./engine-process.ts', import.meta.url), [JSON.stringify(settings)], {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    execArgv: [],
    // Each running query holds one thread of libuv's pool.
    env: { ...childEnvironment(), UV_THREADPOOL_SIZE: String(settings.connections + 4) },
  });
  // A scan takes every core: those who only answer hits, and Redis, go first.
  if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  const waiting = new Map<number, Waiting>();
  const catalog = Promise.withResolvers<readonly CatalogTable[]>();
  catalog.promise.catch(() => undefined);
  const ended = Promise.withResolvers<string>();
  let nextId = 1;
  let why: EngineEnd = 'crash';
  let gone: EngineGoneError | undefined;
  const standardError = lastWords(child);
  const kill = (reason: EngineEnd) => {
    if (why === 'crash') why = reason;
    child.kill('SIGKILL');
  };

  child.on('message', (report: EngineReport) => {
    if (report.type === 'ready') {
      catalog.resolve(report.catalog);
      return;
    }
    if (report.type === 'out of memory') {
      kill('out of memory');
      return;
    }
    const waiter = waiting.get(report.id);
    waiting.delete(report.id);
    if (report.type === 'failed') waiter?.reject(new Error(report.message));
    else
      waiter?.resolve({
        rowsJson: Buffer.from(report.rowsJson.buffer, report.rowsJson.byteOffset, report.rowsJson.byteLength),
        rowCount: report.rowCount,
      });
  });
  const end = (reason: string) => {
    gone ??= new EngineGoneError(reason, why);
    catalog.reject(gone);
    for (const { reject } of waiting.values()) reject(gone);
    waiting.clear();
    ended.resolve(reason);
  };
  child.once('exit', (code, signal) => {
    if (why === 'out of memory') end(why);
    else end(signal ?? `exit code ${code} ${standardError()}`.trim());
  });
  // It could not be started, or went while a command was on its way to it.
  child.on('error', error => {
    child.kill('SIGKILL');
    if (child.pid === undefined) end(error.message);
  });

  const send = (command: EngineCommand) => {
    if (child.connected) child.send(command);
  };
  return {
    pid: child.pid,
    catalog: catalog.promise,
    ended: ended.promise,
    kill,
    run(statement) {
      const id = nextId++;
      const { promise, resolve, reject } = Promise.withResolvers<{ rowsJson: Buffer; rowCount: number }>();
      if (gone) reject(gone);
      else waiting.set(id, { resolve, reject });
      send({ type: 'run', id, ...statement });
      return { result: promise, interrupt: () => send({ type: 'interrupt', id }) };
    },
  };
}

/** The end of what the process wrote to standard error. */
function lastWords(child: ChildProcess): () => string {
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (part: string) => {
    text = (text + part).slice(-2000);
  });
  return () => text.trim();
}
