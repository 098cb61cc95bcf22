import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { childEnvironment } from '../base/child-environment.ts';
import { GatewayError } from '../base/errors.ts';
import { lowerPriority } from '../base/lower-priority.ts';
import { createPermits } from '../base/turns.ts';
import { makeDataFolder } from '../duckdb/data-folder/folder-format.ts';
import {
  readNewSourceTexts,
  readSourceFolder,
  readSourceTexts,
  type SourceTexts,
} from '../endpoints/sources.ts';
import type { Sample } from '../sample/write-sample.ts';
import type { Acceptance } from './accept-rows.ts';
import { createRowsList, type RowsFile, rowsFolderOf, senderMark } from './accepted-rows.ts';
import type { EventsAcceptance } from './events/accept-events.ts';
import type { BodyEncoding } from './events/read-encoded.ts';
import type { LoaderArguments, LoaderCommand, LoaderReport, TimedCommand } from './loader-process.ts';
import type { LoadingEvent } from './loading-events.ts';

/** Loads rows into sources while the gateway runs. */
export type Loader = {
  /**
   * Takes rows, each a line of JSON. They are on disk when this resolves, and are stored once; queries see them within two seconds.
   * @param caller the sender among whom places are shared fairly: the id of an access token. Default: all without one count as one
   * @throws GatewayError `overloaded` if too many rows wait, `unavailable` if they can't be written, `invalid_body` for a body that can't be
   * split into rows; what the rows' stream throws
   */
  load(source: string, rows: AsyncIterable<Buffer>, caller?: string): Promise<Acceptance>;
  /**
   * Takes log events of any form in the same way.
   * @throws GatewayError as above, and `invalid_body` for a body that is not JSON
   */
  loadEvents(source: string, events: EventsBody, caller?: string): Promise<EventsAcceptance>;
  /** Stores rows that other processes have accepted. */
  wake(): void;
  /** Extends the sample up to a time. */
  updateSample(sample: Sample): void;
  /** Removes rows that exceed their source's retention. */
  retain(): void;
  /**
   * Reads the files of newly added sources, and makes the tables of those that read no files in place. Broken files wait.
   * @returns the texts of all sources; undefined if there is no new file
   */
  takeNewSources(): SourceTexts | undefined;
  /** Sets aside the file of the database in which the block at this position is damaged. */
  repair(place: number): void;
  close(): Promise<void>;
};

/** A body with events, as it arrives. */
export type EventsBody = {
  readonly body: AsyncIterable<Buffer>;
  readonly encoding: BodyEncoding | undefined;
};

type LoaderOptions = LoaderArguments & {
  readonly emit: (event: LoadingEvent) => void;
  /** The time by which rows are too old, in milliseconds since 1970. Default: the system's. */
  readonly now?: () => number;
  /** Maximum bytes of accepted rows that wait to be stored; beyond that only an eighth of it is accepted per caller. Default 128 MiB. */
  readonly maxWaitingBytes?: number;
};

/** Maximum bodies that the process reads at the same time: the next caller waits for at most this many of another one's. */
const maxReading = 8;

/** Makes a loader; its process, which reads the rows and writes the database, starts with the first of them. */
export function createLoader(options: LoaderOptions): Loader {
  const { databasePath, sourcesDirectory, emit } = options;
  const folder = rowsFolderOf(databasePath);
  // Kept here because the process may end and start again, and its sources must not change then.
  let sourceTexts = readSourceTexts(sourcesDirectory);
  let child: LoaderChild | undefined;
  const places = createPlaces();
  const takeTurn = createPermits(maxReading);
  const checkWaiting = createWaitingCheck(folder, options.maxWaitingBytes);
  let isClosed = false;

  function running(): LoaderChild {
    if (isClosed) throw new GatewayError('unavailable', 'The gateway stops');
    child ??= startChild(options, sourceTexts, reason => {
      child = undefined;
      if (!isClosed && reason !== undefined) emit({ type: 'loader.stopped', reason });
    });
    return child;
  }

  async function take<T>(
    body: AsyncIterable<Buffer>,
    place: Place,
    accept: (child: LoaderChild, taken: { readonly file: string; readonly sender: string }) => Promise<T>,
  ): Promise<T> {
    const sender = senderMark(place.caller);
    const path = join(folder, `${randomUUID()}.raw`);
    try {
      await makeDataFolder(folder);
      await checkWaiting(sender);
      await receive(body, path, place);
      const release = await takeTurn(place.caller);
      try {
        // Others may have filled the folder since.
        await checkWaiting(sender);
        return await accept(running(), { file: path, sender });
      } finally {
        release();
      }
    } catch (cause) {
      await rm(path, { force: true }).catch(() => undefined);
      if (cause instanceof GatewayError) throw cause;
      emit({ type: 'rows.unwritable', message: String(cause) });
      throw new GatewayError('unavailable', 'The rows can not be written now', { cause });
    }
  }

  return {
    load: (source, rows, caller = '') =>
      places.within(caller, place =>
        take(rows, place, (loader, taken) => loader.accept({ type: 'accept', source, ...taken })),
      ),
    loadEvents: (source, { body, encoding }, caller = '') =>
      places.within(caller, place =>
        take(body, place, (loader, taken) =>
          loader.accept({ type: 'accept events', source, encoding, ...taken }),
        ),
      ),
    wake() {
      // May still be called while the gateway is closing.
      if (!isClosed) running().send({ type: 'store' });
    },
    updateSample: sample => running().send({ type: 'sample', sample }),
    takeNewSources() {
      const added = isClosed ? [] : readNewSourceTexts(sourcesDirectory, sourceTexts);
      if (added.length === 0) return undefined;
      sourceTexts = [...sourceTexts, ...added];
      if (hasTables(sourcesDirectory, added)) running().send({ type: 'new sources', texts: sourceTexts });
      return sourceTexts;
    },
    repair(place) {
      if (!isClosed) running().send({ type: 'repair', place });
    },
    retain: () => running().send({ type: 'retain' }),
    async close() {
      isClosed = true;
      await child?.end();
    },
  };
}

/** Whether some of the sources are tables of the database. */
function hasTables(directory: string, texts: SourceTexts): boolean {
  return readSourceFolder(directory, texts).sources.some(({ files }) => !files);
}

/** Writes a body into a file, unless its place is given to another request. */
async function receive(body: AsyncIterable<Buffer>, path: string, place: Place): Promise<void> {
  const file = createWriteStream(path, { mode: 0o600 });
  const receiving = pipeline(Readable.from(body, { objectMode: false }), file);
  await Promise.race([receiving, place.promise]).finally(() => file.destroy());
  place.isReceived = true;
}

/** Maximum accepted files that wait to be stored: each further request lists all of them. */
const maxWaitingFiles = 20_000;

/** The share of what may wait that is reserved for each caller. */
const ownShare = 1 / 8;

/**
 * Makes the check that throws GatewayError `overloaded` if too many rows wait, and this sender's own exceed a caller's share: on idle
 * processors, accepted rows should be visible within half a minute.
 */
function createWaitingCheck(folder: string, maxBytes = 128 * 1024 * 1024): (sender: string) => Promise<void> {
  const listWaiting = createRowsList(folder);
  const isOver = (files: readonly RowsFile[], share: number) =>
    files.length > maxWaitingFiles * share ||
    files.reduce((sum, { bytes }) => sum + bytes, 0) > maxBytes * share;
  return async sender => {
    const files = await listWaiting();
    const own = files.filter(file => file.sender === sender);
    if (isOver(files, 1) && isOver(own, ownShare))
      throw new GatewayError('overloaded', 'Too many rows wait to be stored; try again in a moment');
  };
}

/** A request whose rows are being received; `reject` ends it. */
type Place = PromiseWithResolvers<never> & {
  readonly caller: string;
  readonly startedMs: number;
  isReceived: boolean;
};

/** Maximum requests whose rows are received at the same time, besides one per caller; each has a file open. */
const maxTaking = 32;

/** Milliseconds after which a body that is still arriving may be replaced by another one if there are too many. */
const slowMs = 2000;

/**
 * Lets `maxTaking` requests send rows at the same time. If all places are taken, a request that has been sending for long makes way for a new
 * one: clients that send byte by byte must not keep others from sending. A caller who sends nothing yet always gets a place.
 */
function createPlaces() {
  const taken = new Set<Place>();

  function makeRoom(): void {
    const latestMs = performance.now() - slowMs;
    const slow = [...taken].find(({ isReceived, startedMs }) => !isReceived && startedMs < latestMs);
    if (!slow) throw new GatewayError('overloaded', 'Too many requests are sending rows');
    taken.delete(slow);
    slow.reject(new GatewayError('overloaded', 'The rows came too slowly while others waited'));
  }

  return {
    async within<T>(caller: string, run: (place: Place) => Promise<T>): Promise<T> {
      const isNew = ![...taken].some(place => place.caller === caller);
      if (taken.size >= maxTaking && !isNew) makeRoom();
      const place: Place = {
        caller,
        startedMs: performance.now(),
        isReceived: false,
        ...Promise.withResolvers<never>(),
      };
      place.promise.catch(() => undefined);
      taken.add(place);
      try {
        return await run(place);
      } finally {
        taken.delete(place);
      }
    },
  };
}

type Unnumbered<T> = T extends unknown ? Omit<T, 'id'> : never;
type AcceptCommand = Unnumbered<Extract<LoaderCommand, { file: string }>>;
type AcceptanceOf<T extends AcceptCommand> = T['type'] extends 'accept' ? Acceptance : EventsAcceptance;

type LoaderChild = {
  accept<T extends AcceptCommand>(command: T): Promise<AcceptanceOf<T>>;
  send(command: LoaderCommand): void;
  /** Ends the process; its unfinished work can be repeated. */
  end(): Promise<void>;
};

/**
 * The first three, and environment variables, bound the memory of the process, most of whose data is garbage a moment later. With the last
 * one, V8 continues with an algorithm of linear time if a source's pattern backtracks too often in a line: strangers write the lines.
 */
const execArgv = [
  '--optimize-for-size',
  '--max-semi-space-size=2',
  '--heap-growing-percent=20',
  '--enable-experimental-regexp-engine-on-excessive-backtracks',
];

/** Milliseconds after which an idle process ends, because it has DuckDB in memory. */
const idleMs = 20_000;

/** @param onEnd called with the reason if the process ended without being asked to */
function startChild(
  { databasePath, sourcesDirectory, retention, emit, now = Date.now }: LoaderOptions,
  sourceTexts: SourceTexts,
  onEnd: (reason: string | undefined) => void,
): LoaderChild {
  const child: ChildProcess = fork(
    new URL('./loader-process.ts', import.meta.url),
    [JSON.stringify({ databasePath, sourcesDirectory, retention } satisfies LoaderArguments)],
    {
      execArgv,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      env: { ...childEnvironment(), MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_ARENA_MAX: '2' },
    },
  );
  lowerPriority(child.pid);
  const post = (command: LoaderCommand) =>
    child.send({ ...command, nowMs: now() } satisfies TimedCommand, () => undefined);
  post({ type: 'sources', texts: sourceTexts });
  const owed = new Map<number, PromiseWithResolvers<Acceptance | EventsAcceptance>>();
  const ended = Promise.withResolvers<void>();
  let lastId = 0;
  let isGivenUp = false;
  /** Stops using the process before it has ended: the next request starts another one. */
  const giveUp = (reason?: string) => {
    if (!isGivenUp) onEnd(reason);
    isGivenUp = true;
  };
  // A turn may take minutes without a message.
  let [sent, done] = [0, 0];
  const idle = setTimeout(() => {
    if (done < sent) return void idle.refresh();
    giveUp();
    child.kill('SIGKILL');
  }, idleMs).unref();
  child.on('message', (report: LoaderReport) => {
    idle.refresh();
    if (report.type === 'event') return emit(report.event);
    if (report.type === 'done') {
      done = report.commands;
      return;
    }
    const found = owed.get(report.id);
    owed.delete(report.id);
    if (report.type === 'accepted') found?.resolve(report.acceptance);
    else found?.reject(failureOf(report));
  });
  const end = (reason: string) => {
    clearTimeout(idle);
    for (const { reject } of owed.values()) reject(new Error(`The loader ended: ${reason}`));
    owed.clear();
    giveUp(reason);
    ended.resolve();
  };
  child.once('exit', (code, signal) => end(signal ?? `exit code ${code}`));
  child.on('error', error => {
    child.kill('SIGKILL');
    if (child.pid === undefined) end(error.message);
  });
  const send = (command: LoaderCommand) => {
    idle.refresh();
    if (!child.connected) return;
    sent++;
    post(command);
  };
  return {
    accept<T extends AcceptCommand>(command: T) {
      const id = ++lastId;
      const result = Promise.withResolvers<Acceptance | EventsAcceptance>();
      owed.set(id, result);
      send({ ...command, id } as LoaderCommand); // a spread of a union
      return result.promise as Promise<AcceptanceOf<T>>; // each command has its own acceptance
    },
    send,
    end() {
      giveUp();
      child.kill('SIGKILL');
      return ended.promise;
    },
  };
}

function failureOf({ message, bodyFault }: Extract<LoaderReport, { type: 'failed' }>): Error {
  return bodyFault ? new GatewayError(bodyFault, `The request body ${message}`) : new Error(message);
}
