import type { Source } from '../../endpoints/source.ts';
import { type Acceptance, maxNamed } from '../accept-rows.ts';
import { acceptEvents } from './accept-events.ts';

type AcceptLinesOptions = {
  readonly databasePath: string;
  readonly folder: string;
  /** The source as declared. */
  readonly source: Source;
  /** Events as JSON texts. */
  readonly lines: AsyncIterable<string>;
  readonly nowMs: number;
  /** Called now and then with the number of events that are on disk. */
  readonly onProgress?: (events: number) => void;
};

/** Maximum events and characters of one part: limits the memory. */
const partEvents = 5000;
const partCharacters = 8 * 1024 * 1024;

/**
 * Accepts events from a file in the way in which `acceptEvents` accepts a body. A part is on disk completely or not at all; an interrupted
 * import can be repeated, because an event with an id of its own is stored only once.
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
