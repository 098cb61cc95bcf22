import { RowError } from '../../duckdb/normalise-row.ts';
import type { Source } from '../../endpoints/sources.ts';
import { type RowsFileWriter, writeRowsFile } from '../accepted-rows.ts';
import { createConverter } from './convert-event.ts';
import { growFields } from './growing-fields.ts';
import { learn, readLearned } from './learned-fields.ts';
import { splitEvents } from './split-events.ts';

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
  /** As declared. */
  readonly source: Source;
  readonly body: Buffer;
  readonly nowMs: number;
};

/** Rows of one block: bounds the memory of whoever stores it. */
const blockRows = 5000;

/** Characters of an event. */
const maxEventLength = 1024 * 1024;

/**
 * Turns events into rows of their source, and puts them on disk: all of them when this resolves, or none. Fields that they bring are
 * on disk before.
 * @throws BodyError; the system's error, such as ENOSPC
 */
export async function acceptEvents(options: AcceptOptions): Promise<EventsAcceptance> {
  const { databasePath, folder, source, nowMs } = options;
  const texts = splitEvents(options.body);
  const fields = growFields(source, readLearned(databasePath)[source.name] ?? {});
  const severalElements = new Set<string>();
  const convert = createConverter({ source, fields, nowMs, severalElements });
  const rows: Record<'own' | 'given', string[]> = { own: [], given: [] };
  let [rejected, lostValues] = [0, 0];
  let problem: string | undefined;
  for (const [at, text] of texts.entries()) {
    try {
      if (text.length > maxEventLength) throw new RowError(`is longer than ${maxEventLength} characters`);
      const { row, hasOwnId, lost } = convert(text);
      rows[hasOwnId ? 'own' : 'given'].push(row);
      lostValues += lost;
    } catch (error) {
      if (!isFaultOfEvent(error)) throw error;
      rejected++;
      problem ??= `event ${at + 1} ${error.message}`;
    }
  }
  const growth = fields.takeGrowth();
  if (growth) await learn(databasePath, source.name, growth);
  const events = texts.length - rejected;
  if (events > 0) {
    await keep(await writeRowsFile(folder), async file => {
      for (const [kind, all] of Object.entries(rows)) {
        for (let at = 0; at < all.length; at += blockRows) {
          await file.add({
            source: source.name,
            severalElements: [...severalElements],
            replaces: false,
            hasOwnIds: kind === 'own',
            rows: all.slice(at, at + blockRows),
          });
        }
      }
    });
  }
  return { events, rejected, problem, lostValues };
}

/** A RangeError is too deep a nesting for the parser's stack. */
function isFaultOfEvent(error: unknown): error is Error {
  return error instanceof RowError || error instanceof SyntaxError || error instanceof RangeError;
}

async function keep(file: RowsFileWriter, write: (file: RowsFileWriter) => Promise<void>): Promise<void> {
  try {
    await write(file);
    await file.keep();
  } catch (error) {
    await file.discard();
    throw error;
  }
}
