import { isDeepStrictEqual } from 'node:util';
import { jsonFault } from '../../base/errors.ts';
import { RowError } from '../../duckdb/normalise-row.ts';
import type { Source } from '../../endpoints/source.ts';
import { type RowsFileWriter, writeRowsFile } from '../accepted-rows.ts';
import { type ConvertedEvent, createConverter } from './convert-event.ts';
import { growFields } from './growing-fields.ts';
import { largeOf, learn, mergeFields, readLearned } from './learned-fields.ts';
import type { LearningPace } from './learning-pace.ts';
import { BodyError, splitEvents } from './split-events.ts';

/** The result of accepting events. */
export type EventsAcceptance = {
  /** Events that are on disk. */
  readonly events: number;
  readonly rejected: number;
  /** Why the first rejected event is not one, with its number from 1. */
  readonly problem: string | undefined;
  /** Number of values that fit no field of their row. */
  readonly lostValues: number;
};

type AcceptOptions = {
  readonly databasePath: string;
  readonly folder: string;
  /** The `senderMark` of the sender. Default: none. */
  readonly sender?: string;
  /** The source as declared. */
  readonly source: Source;
  readonly body: Buffer;
  readonly nowMs: number;
  /** Maximum events of a body: Vector's ten million bytes have fewer. Default 100,000; sixteen million bytes of empty ones would take half an hour to store. */
  readonly maxEvents?: number;
  /** When fields are learned. Default: at once. */
  readonly pace?: LearningPace;
};

/** Maximum rows and characters of one block: limits the memory of the process that stores it. */
const blockRows = 5000;
const blockCharacters = 2 * 1024 * 1024;

/** Maximum characters of an event. */
const maxEventLength = 1024 * 1024;

/**
 * Converts events to rows of their source, and puts them on disk: all of them when this resolves, or none. New fields are on disk before
 * them.
 * @throws BodyError; the system's error, such as ENOSPC
 */
export async function acceptEvents(options: AcceptOptions): Promise<EventsAcceptance> {
  for (;;) {
    const acceptance = await takeEvents(options);
    if (acceptance) return acceptance;
  }
}

/** @returns undefined if another process has learned fields of the source meanwhile, perhaps with other types: convert the events again */
async function takeEvents(options: AcceptOptions): Promise<EventsAcceptance | undefined> {
  const { folder, sender, source, nowMs, maxEvents = 100_000 } = options;
  const learning = startLearning(options);
  const severalElements = new Set<string>();
  const convert = createConverter({ source, fields: learning.fields, nowMs, severalElements });
  const blocks = createBlocks(await writeRowsFile(folder, sender), source.name, severalElements);
  let [events, rejected, lostValues] = [0, 0, 0];
  let problem: string | undefined;
  try {
    for (const text of splitEvents(options.body)) {
      if (events + rejected === maxEvents)
        throw new BodyError(`has more than ${maxEvents} events`, 'body_too_large');
      const converted = attempt(convert, text);
      if (converted instanceof Error) {
        rejected++;
        problem ??= `event ${events + rejected} ${jsonFault(converted)}`;
        continue;
      }
      events++;
      lostValues += converted.lost;
      if (converted.lost > 0) learning.postpone(text);
      await blocks.add(converted);
    }
    if (!(await learning.end())) {
      await blocks.discard();
      return undefined;
    }
    await blocks.end();
  } catch (error) {
    await blocks.discard();
    throw error;
  }
  return { events, rejected, problem, lostValues };
}

/** Learns the new fields of events; while their source pauses, collects what it would learn. */
function startLearning({ databasePath, source, nowMs, pace }: AcceptOptions) {
  const { [source.name]: known = {}, [largeOf(source.name)]: large = {} } = readLearned(databasePath);
  const waiting = pace?.waiting(source.name);
  const wanted = waiting ? mergeFields(known, waiting) : known;
  const isPaused = pace?.mayLearn(source.name) === false;
  const fields = growFields(source, isPaused ? known : wanted, { isPaused, large });
  const later = isPaused ? growFields(source, wanted, { large }) : undefined;
  const convert =
    later && createConverter({ source, fields: later, nowMs, severalElements: new Set<string>() });
  return {
    fields,
    /** Collects the new fields of an event with values that fit no field, to be learned later. */
    postpone: (text: string) => void convert?.(text),
    /** @returns false if the fields are no longer those with which the events were converted */
    async end(): Promise<boolean> {
      const growth = fields.takeGrowth() ?? (isPaused ? undefined : waiting);
      const moreLarge = fields.takeLarge();
      if (moreLarge) {
        const learned = await learn(databasePath, largeOf(source.name), moreLarge);
        if (!isDeepStrictEqual(learned[source.name] ?? {}, known)) return false;
      }
      if (growth) {
        const learned = await learn(databasePath, source.name, growth);
        const areLargeKnown = isDeepStrictEqual(
          learned[largeOf(source.name)] ?? {},
          mergeFields(large, moreLarge ?? {}),
        );
        if (!areLargeKnown || !isDeepStrictEqual(learned[source.name], mergeFields(known, growth)))
          return false;
      }
      const postponed = later?.takeGrowth();
      if (postponed) pace?.postpone(source.name, postponed);
      else if (!isPaused) pace?.clear(source.name);
      return true;
    },
  };
}

/** Writes rows block by block: those with ids of their own separately from the others. */
function createBlocks(file: RowsFileWriter, source: string, severalElements: ReadonlySet<string>) {
  const start = (hasOwnIds: boolean) => ({ hasOwnIds, rows: [] as string[], characters: 0 });
  const [own, given] = [start(true), start(false)];
  let isEmpty = true;
  const flush = async (block: typeof own) => {
    const { hasOwnIds, rows } = block;
    if (rows.length === 0) return;
    isEmpty = false;
    await file.add({ source, severalElements: [...severalElements], replaces: false, hasOwnIds, rows });
    [block.rows, block.characters] = [[], 0];
  };
  return {
    async add({ row, hasOwnId }: ConvertedEvent) {
      const block = hasOwnId ? own : given;
      block.rows.push(row);
      block.characters += row.length;
      if (block.rows.length >= blockRows || block.characters >= blockCharacters) await flush(block);
    },
    async end() {
      await flush(own);
      await flush(given);
      await (isEmpty ? file.discard() : file.keep());
    },
    discard: () => file.discard(),
  };
}

/** @returns the row, or why the text is not an event; a RangeError means that it is nested too deeply for the stack */
function attempt(convert: (text: string) => ConvertedEvent, text: string): ConvertedEvent | Error {
  if (text.length > maxEventLength) return new RowError(`is longer than ${maxEventLength} characters`);
  try {
    return convert(text);
  } catch (error) {
    if (error instanceof RowError || error instanceof SyntaxError || error instanceof RangeError)
      return error;
    throw error;
  }
}
