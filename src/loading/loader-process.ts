import { createReadStream } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { flushCompileCache } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf } from '../base/errors.ts';
import { damagedPlace } from '../duckdb/data-folder/damaged-block.ts';
import { repairBlock } from '../duckdb/data-folder/repair-replicas.ts';
import { LineTooLongError, splitLines } from '../duckdb/split-lines.ts';
import type { Source } from '../endpoints/source.ts';
import { namesOf, readSourceFolder, type SourceTexts } from '../endpoints/sources.ts';
import type { Sample } from '../sample/write-sample.ts';
import { type Acceptance, acceptRows, TooManyUselessError } from './accept-rows.ts';
import { removeUnfinished, rowsFolderOf } from './accepted-rows.ts';
import { acceptEvents, type EventsAcceptance } from './events/accept-events.ts';
import { readLearned, withLearned } from './events/learned-fields.ts';
import { createLearningPace } from './events/learning-pace.ts';
import { type BodyEncoding, readEncoded } from './events/read-encoded.ts';
import { BodyError } from './events/split-events.ts';
import type { LoadingEvent } from './loading-events.ts';
import { type Retention, withRetention } from './retention.ts';
import { storeAccepted } from './store-accepted.ts';
import { createUpkeep } from './upkeep.ts';
import { withTurn } from './write-spare.ts';

/** The arguments of the process. */
export type LoaderArguments = {
  readonly databasePath: string;
  readonly sourcesDirectory: string;
  /** Retention of sources without their own. Default: everything is kept. */
  readonly retention?: Retention;
};

/** The body of a request, in a file. */
type Body = {
  readonly id: number;
  readonly source: string;
  readonly file: string;
  /** The `senderMark` of the sender. */
  readonly sender: string;
};

/** From the gateway to the process. */
export type LoaderCommand =
  /** The sources as read by the gateway; the first command. */
  | { readonly type: 'sources'; readonly texts: SourceTexts }
  /** The sources with newly added ones, whose tables must be made. */
  | { readonly type: 'new sources'; readonly texts: SourceTexts }
  /** Rows of a request, as received, in a file that the process removes. */
  | ({ readonly type: 'accept' } & Body)
  /** Events of a request, in the same form. */
  | ({ readonly type: 'accept events'; readonly encoding: BodyEncoding | undefined } & Body)
  /** Accepted rows may be waiting. */
  | { readonly type: 'store' }
  /** Extend the sample to these settings. */
  | { readonly type: 'sample'; readonly sample: Sample }
  /** Remove rows that are too old. */
  | { readonly type: 'retain' }
  /** Repair a file of the database with a damaged block at this position. */
  | { readonly type: 'repair'; readonly place: number };

/** A command with the gateway's time, in milliseconds since 1970: retention uses that time. */
export type TimedCommand = LoaderCommand & { readonly nowMs: number };

/** From the process to the gateway. */
export type LoaderReport =
  | { readonly type: 'accepted'; readonly id: number; readonly acceptance: Acceptance | EventsAcceptance }
  | {
      readonly type: 'failed';
      readonly id: number;
      readonly message: string;
      readonly bodyFault?: BodyError['code'] | undefined;
    }
  /** The first `commands` commands are done. */
  | { readonly type: 'done'; readonly commands: number }
  | { readonly type: 'event'; readonly event: LoadingEvent };

const settings: LoaderArguments = JSON.parse(process.argv[2] ?? '');
let declared: readonly Source[] = [];
let leftOut: ReadonlySet<string> = new Set();
const sources = () => withLearned(declared, readLearned(settings.databasePath));
const folder = rowsFolderOf(settings.databasePath);
const report = (message: LoaderReport) => process.send?.(message);
const emit = (event: LoadingEvent) => void report({ type: 'event', event });

/**
 * Minimum pause between two turns, in milliseconds; after a long turn the pause is half as long as the turn. A turn costs 80 ms of processor
 * time even for a few rows, and 150 more if they belong to seven sources: a steady stream of rows is collected during pauses, but the first
 * rows after a lull do not wait.
 */
const pauseMs = 800;
/** Milliseconds of pause after a failed turn. */
const retryMs = 1000;

const upkeep = createUpkeep(emit);
const pace = createLearningPace();
const onChanged = pace.rewritten;
let acceptingEvents: Promise<void> = Promise.resolve();
let acceptingLarge: Promise<void> = Promise.resolve();
let isStoring = false;
let isAsked = false;
let sample: Sample | undefined;
let isRetaining = false;
let hasNewSources = false;

await removeUnfinished(folder, Date.now());
// Saved now, because the process ends by being killed. Without the cache, stripping types would take ten megabytes for as long as it lives.
flushCompileCache();
let [commands, working, nowMs] = [0, 0, 0];
process.on('message', async (command: TimedCommand) => {
  ({ nowMs } = command);
  if (command.type === 'sources') return takeSources(command.texts);
  commands++;
  working++;
  await act(command);
  await store();
  if (--working === 0) report({ type: 'done', commands });
});
// Safe at any moment: the next process repeats unfinished work.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

function takeSources(texts: SourceTexts): void {
  const folderOfSources = readSourceFolder(settings.sourcesDirectory, texts);
  declared = withRetention(folderOfSources.sources, settings.retention ?? {});
  leftOut = namesOf(folderOfSources.broken);
}

async function act(command: LoaderCommand): Promise<void> {
  if (command.type === 'accept') {
    const take = () => accept(command, () => acceptFile(command));
    if (!(await isLarge(command.file))) return take();
    acceptingLarge = acceptingLarge.then(take);
    return acceptingLarge;
  }
  if (command.type === 'accept events') {
    // One body in memory at a time.
    acceptingEvents = acceptingEvents.then(() => accept(command, () => acceptEventsFile(command)));
    return acceptingEvents;
  }
  if (command.type === 'repair') return repair(command.place);
  if (command.type === 'new sources') {
    takeSources(command.texts);
    hasNewSources = true;
  }
  if (command.type === 'sample') ({ sample } = command);
  if (command.type === 'retain') isRetaining = true;
}

/** Bodies with more bytes of rows are read one at a time: a line may have 16 MiB, and takes several times that in memory. */
const largeBytes = 1024 * 1024;

async function isLarge(file: string): Promise<boolean> {
  return ((await stat(file).catch(() => undefined))?.size ?? 0) > largeBytes;
}

type Accept = Extract<LoaderCommand, { file: string }>;

async function accept<T extends Acceptance | EventsAcceptance>(
  { id, file }: Accept,
  take: () => Promise<T>,
): Promise<void> {
  try {
    report({ type: 'accepted', id, acceptance: await take() });
  } catch (error) {
    const message = messageOf(error);
    const bodyFault = error instanceof BodyError ? error.code : undefined;
    report({ type: 'failed', id, message, bodyFault });
  } finally {
    await rm(file, { force: true }).catch(() => undefined);
  }
}

/** Maximum empty or rejected lines of one body. Documented in `docs/loading.md`. */
const maxUseless = 100_000;

async function acceptFile({ source: name, file, sender }: Accept): Promise<Acceptance> {
  const source = find(sources(), name);
  const lines = splitLines(createReadStream(file));
  const acceptance = await acceptRows({ folder, sender, source, lines, maxUseless }).catch(error => {
    if (error instanceof LineTooLongError) throw new BodyError('has a line of more than 16 MiB');
    if (error instanceof TooManyUselessError) throw new BodyError(error.message);
    throw error;
  });
  const { rows, rejected } = acceptance;
  emit({ type: 'rows.accepted', source: name, rows, rejected });
  return acceptance;
}

async function acceptEventsFile({
  source: name,
  file,
  sender,
  encoding,
}: Extract<Accept, { type: 'accept events' }>): Promise<EventsAcceptance> {
  const source = find(declared, name);
  const body = await readEncoded(file, encoding);
  const acceptance = await acceptEvents({
    ...settings,
    folder,
    sender,
    source,
    body,
    nowMs: Date.now(),
    pace,
  });
  const { events, rejected, lostValues } = acceptance;
  emit({ type: 'rows.accepted', source: name, rows: events, rejected });
  if (lostValues > 0) emit({ type: 'events.unfit', source: name, values: lostValues });
  return acceptance;
}

function find(all: readonly Source[], name: string): Source {
  const source = all.find(each => each.name === name);
  if (!source) throw new Error(`No source is named ${name}`);
  return source;
}

/** Sets aside the file with a damaged block; the next turn replaces it by a copy of the other one. */
async function repair(place: number): Promise<void> {
  try {
    await withTurn(settings.databasePath, async () => {
      const damaged = await repairBlock(settings.databasePath, place, Date.now());
      for (const { file, keptAs } of damaged) emit({ type: 'database.damaged', file, keptAs });
      if (damaged.length > 0) isRetaining = true;
    });
  } catch (error) {
    emit({ type: 'rows.delayed', message: messageOf(error) });
  }
}

/** Stores accepted rows until none are left. */
async function store(): Promise<void> {
  isAsked = true;
  if (isStoring) return;
  isStoring = true;
  let goesOn = false;
  while (isAsked) {
    isAsked = false;
    const startedMs = performance.now();
    const own = { sample, retains: isRetaining, hasNewSources };
    [sample, isRetaining, hasNewSources] = [undefined, false, false];
    try {
      goesOn = await storeAccepted({
        ...settings,
        sources: declared,
        leftOut,
        emit,
        upkeep,
        onChanged,
        goesOn,
        nowMs,
        ...own,
      });
      if (goesOn) isAsked = true;
      await delay(Math.max(pauseMs, (performance.now() - startedMs) / 2));
    } catch (error) {
      sample ??= own.sample;
      isRetaining ||= own.retains;
      hasNewSources ||= own.hasNewSources;
      emit({ type: 'rows.delayed', message: messageOf(error) });
      const place = damagedPlace(error);
      if (place !== undefined) await repair(place);
      isAsked = true;
      await delay(retryMs);
    }
  }
  isStoring = false;
}
