import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { splitLines } from '../duckdb/split-lines.ts';
import { readSources } from '../endpoints/sources.ts';
import type { Sample } from '../sample/write-sample.ts';
import { type Acceptance, acceptRows } from './accept-rows.ts';
import { removeUnfinished, rowsFolderOf } from './accepted-rows.ts';
import type { LoadingEvent } from './loading-events.ts';
import { storeAccepted } from './store-accepted.ts';

/** Where the process works. */
export type LoaderArguments = { readonly databasePath: string; readonly sourcesDirectory: string };

/** From the gateway to the process. */
export type LoaderCommand =
  /** Rows of a request, as they came, in a file that the process removes. */
  | { readonly type: 'accept'; readonly id: number; readonly source: string; readonly file: string }
  /** Accepted rows may be waiting. */
  | { readonly type: 'store' }
  /** Queries are to see this sample. */
  | { readonly type: 'sample'; readonly sample: Sample };

/** From the process to the gateway. */
export type LoaderReport =
  | { readonly type: 'accepted'; readonly id: number; readonly acceptance: Acceptance }
  | { readonly type: 'failed'; readonly id: number; readonly message: string }
  | { readonly type: 'event'; readonly event: LoadingEvent };

const settings: LoaderArguments = JSON.parse(process.argv[2] ?? '');
const sources = readSources(settings.sourcesDirectory);
const folder = rowsFolderOf(settings.databasePath);
const report = (message: LoaderReport) => process.send?.(message);
const emit = (event: LoadingEvent) => void report({ type: 'event', event });

/** The least rest between two turns, in milliseconds; after a long turn it is half as long as that one. */
const restMs = 100;
/** The rest after a turn that failed. */
const retryMs = 1000;

let isStoring = false;
let isAsked = false;
let sample: Sample | undefined;

await removeUnfinished(folder, Date.now());
process.on('message', (command: LoaderCommand) => {
  if (command.type === 'accept') return void accept(command);
  if (command.type === 'sample') ({ sample } = command);
  void store();
});
// Whatever it is doing can be done again.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));

async function accept({ id, source: name, file }: Extract<LoaderCommand, { type: 'accept' }>): Promise<void> {
  try {
    const source = sources.find(each => each.name === name);
    if (!source) throw new Error(`No source is named ${name}`);
    const acceptance = await acceptRows({ folder, source, lines: splitLines(createReadStream(file)) });
    report({ type: 'accepted', id, acceptance });
    const { rows, rejected } = acceptance;
    emit({ type: 'rows.accepted', source: name, rows, rejected });
    if (rows > 0) void store();
  } catch (error) {
    report({ type: 'failed', id, message: error instanceof Error ? error.message : String(error) });
  } finally {
    await rm(file, { force: true });
  }
}

/** Stores what was accepted until nothing is left. */
async function store(): Promise<void> {
  isAsked = true;
  if (isStoring) return;
  isStoring = true;
  while (isAsked) {
    isAsked = false;
    const startedMs = performance.now();
    try {
      const own = sample;
      sample = undefined;
      if (await storeAccepted({ ...settings, sources, emit, sample: own })) isAsked = true;
      await delay(Math.max(restMs, (performance.now() - startedMs) / 2));
    } catch (error) {
      emit({ type: 'rows.delayed', message: error instanceof Error ? error.message : String(error) });
      isAsked = true;
      await delay(retryMs);
    }
  }
  isStoring = false;
}
