import type { Source } from '../../endpoints/sources.ts';
import type { Acceptance } from '../accept-rows.ts';
import { acceptEvents } from './accept-events.ts';

type AcceptLinesOptions = {
  readonly databasePath: string;
  readonly folder: string;
  /** As declared. */
  readonly source: Source;
  /** Events as JSON texts. */
  readonly lines: AsyncIterable<string>;
  readonly nowMs: number;
  /** Called now and then with the number of events that are on disk. */
  readonly onProgress?: (events: number) => void;
};

/** Events and characters of one part, whichever comes first: bounds the memory. */
const partEvents = 5000;
const partCharacters = 8 * 1024 * 1024;

/** Rejected events that are named. */
const maxNamed = 10;

/**
 * Takes events from a file as `acceptEvents` takes a body. A part is on disk whole or not at all; an import that broke off can be
 * repeated, for an event that brings its id is stored once.
 * @throws the system's error, such as ENOSPC
 */
export async function acceptEventLines({
  lines,
  onProgress,
  ...options
}: AcceptLinesOptions): Promise<Acceptance> {
  const problems: { line: number; reason: string }[] = [];
  let [rows, rejected, line] = [0, 0, 0];
  let part: string[] = [];
  let characters = 0;
  const flush = async () => {
    const taken = await acceptEvents({ ...options, body: Buffer.from(`[${part.join(',')}]`) });
    if (taken.problem !== undefined && problems.length < maxNamed)
      problems.push({ line, reason: taken.problem });
    rows += taken.events;
    rejected += taken.rejected;
    line += part.length;
    onProgress?.(rows);
    [part, characters] = [[], 0];
  };
  for await (const text of lines) {
    part.push(text);
    characters += text.length;
    if (part.length >= partEvents || characters >= partCharacters) await flush();
  }
  if (part.length > 0) await flush();
  return { rows, rejected, problems, ignoredFields: [], epochUnits: {} };
}
