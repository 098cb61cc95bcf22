import { type ChildProcess, fork } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { joinBytes } from '../base/bytes.ts';
import { childEnvironment } from '../base/child-environment.ts';
import { lowerPriority } from '../base/lower-priority.ts';
import { bodyClosing, bodyOpening, type ResultSet } from '../base/rows.ts';
import type {
  Catalog,
  EngineArguments,
  EngineCommand,
  EngineReport,
  EngineSettings,
  EngineStatement,
} from './engine-protocol.ts';
import { newSpillDirectory } from './spill-directory.ts';

/** A started engine process. */
export type EngineChild = {
  readonly pid: number | undefined;
  /** The current tables of its database. Rejects if the process ended before it was ready. */
  readonly catalog: Promise<Catalog>;
  /**
   * Runs a statement, one at a time; rejects with DuckDB's message, with OutdatedError, or with EngineGoneError if the process ends first.
   */
  run(statement: EngineStatement): EngineRun;
  kill(why: 'unresponsive query' | 'closed'): void;
  /** Whether it was killed because it is no longer needed. */
  readonly isUnwanted: boolean;
  /** Whether it has ended, or was killed and is about to end. */
  readonly isGone: boolean;
  /** Whether its last run left much memory allocated, which only ending the process frees. */
  readonly isWorn: boolean;
  /** Resolves with the reason once the process has ended, and its folder is gone. */
  readonly ended: Promise<string>;
};

type EngineRun = {
  readonly result: Promise<Result>;
  /** Asks DuckDB to stop; it does so between two vectors of rows. */
  interrupt(): void;
};

/**
 * Why a process ended: it could not start, it crashed or was killed from outside, it used too much memory, its query did not respond
 * to an interrupt, or it was no longer needed.
 */
export type EngineEnd = 'no start' | 'crash' | 'out of memory' | 'unresponsive query' | 'closed';

/** The engine process ended before it answered. */
export class EngineGoneError extends Error {
  override readonly name = 'EngineGoneError';
  readonly why: EngineEnd;

  constructor(reason: string, why: EngineEnd) {
    super(reason);
    this.why = why;
  }
}

/** The tables have changed since the statement was compiled: compile it again. */
export class OutdatedError extends Error {
  override readonly name = 'OutdatedError';
}

type Result = Pick<ResultSet, 'rowsJson' | 'body' | 'rowCount' | 'isTruncated'>;

/** Maximum milliseconds for a process to open the database, which may have to wait for a writer. */
const maxStartMs = 30_000;

/** After this many missed heartbeats in a row the process counts as frozen, and its query runs again in another one. */
const maxSilentTimes = 10;

const living = new Set<ChildProcess>();

// A frozen process would not notice that this one has ended.
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL');
});

type StartOptions = {
  /** Whether a query may wait for it: until it is ready it has a higher priority than queries. Default true. */
  readonly isUrgent?: boolean;
  /** Called when earlier runs have left so much memory allocated that it should be replaced while it has none. Default: not noticed. */
  readonly onWorn?: () => void;
};

/** Starts a process that reads the database. It ends by itself when this one does. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: all that is known of one process
export function startEngineChild(
  settings: EngineSettings,
  { isUrgent = true, onWorn }: StartOptions = {},
): EngineChild {
  const spillDirectory = newSpillDirectory(settings.databasePath);
  const child = forkEngine({ ...settings, spillDirectory });
  if (!isUrgent) lowerPriority(child.pid);
  const first = Promise.withResolvers<Catalog>();
  first.promise.catch(() => undefined);
  let catalog = first.promise;
  const ended = Promise.withResolvers<string>();
  const owed = createOwedResults();
  let why: EngineEnd = 'no start';
  const starting = setTimeout(() => kill('no start'), maxStartMs);
  let gone: EngineGoneError | undefined;
  let isWorn = false;
  const standardError = stderrTail(child);
  const kill = (reason: EngineEnd) => {
    if (gone || child.killed) return;
    if (why === 'crash' || why === 'no start') why = reason;
    child.kill('SIGKILL');
  };
  // A process that is not ready yet has its own time-out.
  const silence = watchSilence(settings.aliveMs, () => why === 'crash' && child.kill('SIGKILL'));
  child.on('message', (report: EngineReport) => {
    silence.end();
    if (report.type === 'ready') {
      clearTimeout(starting);
      if (why === 'no start') why = 'crash';
      lowerPriority(child.pid);
      first.resolve(report.catalog);
    } else if (report.type === 'catalog') catalog = Promise.resolve(report.catalog);
    else if (report.type === 'out of memory') kill('out of memory');
    else if (report.type === 'worn') onWorn?.();
    else if (report.type !== 'alive') {
      isWorn = report.type !== 'part' && report.isWorn;
      owed.settle(report);
    }
  });
  const end = (reason: string) => {
    clearTimeout(starting);
    silence.unwatch();
    gone ??= new EngineGoneError(reason, why);
    first.reject(gone);
    owed.fail(gone);
    void removeFolder(spillDirectory).then(() => ended.resolve(reason));
  };
  child.once('exit', (code, signal) => {
    living.delete(child);
    // Killed from outside before it was ready: the next one may well start.
    if (signal && !child.killed && why === 'no start') why = 'crash';
    end(why === 'out of memory' ? why : (signal ?? `exit code ${code} ${standardError()}`.trim()));
  });
  // It could not be started, or ended while a command was being sent.
  child.on('error', error => {
    child.kill('SIGKILL');
    if (child.pid === undefined) end(error.message);
  });
  const send = sender(child);
  return {
    pid: child.pid,
    get isGone() {
      return gone !== undefined || child.killed;
    },
    get isWorn() {
      return isWorn;
    },
    get isUnwanted() {
      return why === 'closed';
    },
    get catalog() {
      return catalog;
    },
    ended: ended.promise,
    kill,
    run(statement) {
      const { id, result } = owed.add();
      if (gone) owed.fail(gone);
      send({ type: 'run', id, ...statement });
      return { result, interrupt: () => send({ type: 'interrupt', id }) };
    },
  };
}

/**
 * Runs a statement in a process until a signal aborts: then it is interrupted, and if that does not end it, its process is killed.
 * @param graceMs milliseconds that an interrupted statement has to end
 * @returns settles when the statement has ended, which may be that much later than the abort
 * @throws EngineGoneError when the process ends first; Error with DuckDB's message; the signal's reason when it has aborted
 */
export async function runUntil(
  limit: AbortSignal,
  child: Pick<EngineChild, 'run' | 'kill'>,
  statement: EngineStatement,
  graceMs: number,
): Promise<Result> {
  limit.throwIfAborted();
  const run = child.run(statement);
  let killing: NodeJS.Timeout | undefined;
  const stop = () => {
    run.interrupt();
    killing = setTimeout(() => child.kill('unresponsive query'), graceMs);
  };
  limit.addEventListener('abort', stop, { once: true });
  try {
    return await run.result;
  } finally {
    clearTimeout(killing);
    limit.removeEventListener('abort', stop);
  }
}

/** Removes the folder of a process: a killed one can't clean up after itself. */
function removeFolder(folder: string): Promise<void> {
  return rm(folder, { recursive: true, force: true }).catch(() => undefined);
}

function forkEngine(started: EngineArguments): ChildProcess {
  const child = fork(new URL('./engine-process.ts', import.meta.url), [JSON.stringify(started)], {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    execArgv: ['--expose-gc'],
    env: childEnvironment(),
  });
  living.add(child);
  return child;
}

function sender(child: ChildProcess): (command: EngineCommand) => void {
  return command => {
    if (child.connected) child.send(command);
  };
}

/**
 * Calls back when several heartbeats in a row are missing. They are counted, not timed: a gateway that was itself
 * suspended receives the heartbeats of its processes before it has counted many.
 */
function watchSilence(aliveMs: number, onLong: () => void) {
  let missing = 0;
  const timer = setInterval(() => {
    if (++missing > maxSilentTimes) onLong();
  }, aliveMs).unref();
  return {
    end(): void {
      missing = 0;
    },
    unwatch: () => clearInterval(timer),
  };
}

type Owed = { readonly result: PromiseWithResolvers<Result>; readonly parts: Uint8Array[] };

/** The results that a process still owes, by statement id. */
function createOwedResults() {
  const owed = new Map<number, Owed>();
  let lastId = 0;
  return {
    add(): { readonly id: number; readonly result: Promise<Result> } {
      const id = ++lastId;
      const result = Promise.withResolvers<Result>();
      owed.set(id, { result, parts: [] });
      return { id, result: result.promise };
    },
    settle(report: Extract<EngineReport, { id: number }>): void {
      const found = owed.get(report.id);
      if (!found) return;
      if (report.type === 'part' || report.type === 'rows') found.parts.push(report.json);
      if (report.type === 'part') return;
      owed.delete(report.id);
      if (report.type === 'failed') found.result.reject(new Error(report.message));
      else if (report.type === 'outdated') found.result.reject(new OutdatedError());
      else {
        const { rowCount, isTruncated } = report;
        const ofBody = (body: Buffer) => {
          const rowsJson = body.subarray(bodyOpening.length, -bodyClosing.length);
          return { rowsJson, body, rowCount, isTruncated };
        };
        found.result.resolve(joined(found.parts).then(ofBody));
      }
    },
    fail(error: Error): void {
      for (const { result } of owed.values()) result.reject(error);
      owed.clear();
    },
  };
}

/** Joins the parts of a result. Most have one part, which is not copied: memory outside of V8's heap brings its next collection closer. */
async function joined(parts: readonly Uint8Array[]): Promise<Buffer> {
  const [only] = parts;
  return only && parts.length === 1
    ? Buffer.from(only.buffer, only.byteOffset, only.byteLength)
    : joinBytes(parts);
}

/** Collects the end of the process's standard error. */
function stderrTail(child: ChildProcess): () => string {
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (part: string) => {
    text = (text + part).slice(-2000);
  });
  return () => text.trim();
}
