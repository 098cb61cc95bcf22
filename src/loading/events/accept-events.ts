import { isDeepStrictEqual } from 'node:util';
import { RowError } from '../../duckdb/normalise-row.ts';
import type { Source } from '../../endpoints/sources.ts';
import { type RowsFileWriter, writeRowsFile } from '../accepted-rows.ts';
import { type ConvertedEvent, createConverter } from './convert-event.ts';
import { growFields } from './growing-fields.ts';
import { largeOf, learn, mergeFields, readLearned } from './learned-fields.ts';
import type { LearningPace } from './learning-pace.ts';
import { BodyError, splitEvents } from './split-events.ts';

/** What came of events that were handed over. */
export type EventsAcceptance = {
  /** Events that are on disk. */
  readonly events: number;
  readonly rejected: number;
  /** Why the first of the rejected ones is none, which count from 1. */
  readonly problem: string | undefined;
  /** Values that found no place in their row. */
  readonly lostValues: number;
};

type AcceptOptions = {
  readonly databasePath: string;
  readonly folder: string;
  /** Who sends the events, as `senderMark` says it. Default: nobody. */
  readonly sender?: string;
  /** As declared. */
  readonly source: Source;
  readonly body: Buffer;
  readonly nowMs: number;
  /** Events of a body: Vector's ten million bytes hold fewer. Default 100,000; sixteen million bytes of empty ones would take half an hour to store. */
  readonly maxEvents?: number;
  /** When fields are learned. Default: as they come. */
  readonly pace?: LearningPace;
};

/** Rows and characters of one block, whichever comes first: bounds the memory of whoever stores it. */
const blockRows = 5000;
const blockCharacters = 2 * 1024 * 1024;

/** Characters of an event. */
const maxEventLength = 1024 * 1024;

/**
 * Turns events into rows of their source, and puts them on disk: all of them when this resolves, or none. Fields that they bring are
 * on disk before.
 * @throws BodyError; the system's error, such as ENOSPC
 */
export async function acceptEvents(options: AcceptOptions): Promise<EventsAcceptance> {
  for (;;) {
    const acceptance = await takeEvents(options);
    if (acceptance) return acceptance;
  }
}

/** @returns undefined if another process has learned fields of the source meanwhile: one of them may be of another type there */
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
        problem ??= `event ${events + rejected} ${converted.message}`;
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

/** Learns the fields that the events bring; while their source rests, finds out what it would learn, which waits. */
function startLearning({ databasePath, source, nowMs, pace }: AcceptOptions) {
  const { [source.name]: known = {}, [largeOf(source.name)]: large = {} } = readLearned(databasePath);
  const waiting = pace?.waiting(source.name);
  const wanted = waiting ? mergeFields(known, waiting) : known;
  const isResting = pace?.mayLearn(source.name) === false;
  const fields = growFields(source, isResting ? known : wanted, { isResting, large });
  const later = isResting ? growFields(source, wanted, { large }) : undefined;
  const convert =
    later && createConverter({ source, fields: later, nowMs, severalElements: new Set<string>() });
  return {
    fields,
    /** Learns later what an event brings of which some value found no place. */
    postpone: (text: string) => void convert?.(text),
    /** @returns false if the fields are not those that the events were converted with */
    async end(): Promise<boolean> {
      const growth = fields.takeGrowth() ?? (isResting ? undefined : waiting);
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
      else if (!isResting) pace?.clear(source.name);
      return true;
    },
  };
}

/** Writes rows block by block: those that bring their ids, and the others. */
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

/** @returns the row, or why the text is no event; a RangeError is too deep a nesting for the stack */
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
