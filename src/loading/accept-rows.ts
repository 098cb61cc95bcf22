import { jsonFault } from '../base/errors.ts';
import { type Findings, normaliseRow, parserFor, RowError } from '../duckdb/normalise-row.ts';
import { maxLineLength } from '../duckdb/split-lines.ts';
import { mapRow } from '../endpoints/load-mapping.ts';
import type { EpochUnit } from '../endpoints/read-epoch.ts';
import type { Source } from '../endpoints/source.ts';
import { writeRowsFile } from './accepted-rows.ts';

/** The result of accepting rows. */
export type Acceptance = {
  /** Rows that are on disk. */
  readonly rows: number;
  readonly rejected: number;
  /** The first of the rejected lines, which count from 1. */
  readonly problems: readonly { readonly line: number; readonly reason: string }[];
  /** Dotted paths of fields that the source lacks, without duplicates. */
  readonly ignoredFields: readonly string[];
  /** The units of times that are counts, by dotted path. */
  readonly epochUnits: Readonly<Record<string, readonly EpochUnit[]>>;
};

/** A row of a format other than one line per row. */
export type ReadRow = {
  /** Where it begins, counted from 1. */
  readonly line: number;
  readonly text: string;
  /** Absent if the text is not a row, for the reason given. */
  readonly row?: Record<string, unknown>;
  readonly problem?: string;
};

type AcceptOptions = {
  readonly folder: string;
  /** The `senderMark` of the sender. Default: none. */
  readonly sender?: string;
  readonly source: Source;
  /** Lines of JSON, where empty ones are ignored; or rows that were parsed already. */
  readonly lines: AsyncIterable<string | ReadRow>;
  /** Whether all earlier rows of the source are removed. Default false. */
  readonly replaces?: boolean;
  /** Whether the rows are only checked. Default false. */
  readonly isDryRun?: boolean;
  /** Maximum empty or rejected lines; if there are more, everything is refused. Default: any number. */
  readonly maxUseless?: number;
  /** Called for each rejected line. */
  readonly onReject?: (line: number, reason: string, text: string) => void;
  /** Called now and then with the number of valid rows. */
  readonly onProgress?: (rows: number) => void;
};

/** Too many lines are not rows; the rest is not read. */
export class TooManyUselessError extends Error {}

/** Maximum rows and characters of one block: limits the memory of the process that stores it. */
const blockRows = 5000;
const blockCharacters = 4 * 1024 * 1024;

/** Maximum rejected lines, and ignored fields, that are named. */
export const maxNamed = 10;

/**
 * Checks rows against their source, and puts the valid ones on disk: all of them when this resolves, or none.
 * @throws the system's error, such as ENOSPC
 */
export async function acceptRows({
  folder,
  sender,
  source,
  lines,
  replaces = false,
  isDryRun = false,
  maxUseless = Infinity,
  onReject,
  onProgress,
}: AcceptOptions): Promise<Acceptance> {
  const file = isDryRun ? undefined : await writeRowsFile(folder, sender);
  const problems: { line: number; reason: string }[] = [];
  const ignored = new Set<string>();
  const read = createReader(source);
  const epochUnits = new Map<string, Set<EpochUnit>>();
  let [line, accepted, rejected, useless] = [0, 0, 0, 0];
  const countUseless = () => {
    if (++useless > maxUseless)
      throw new TooManyUselessError(`has more than ${maxUseless} lines that are not rows`);
  };
  let block = startBlock(ignored, epochUnits);
  const flush = async () => {
    if (block.rows.length === 0) return;
    const severalElements = [...block.findings.severalElements];
    await file?.add({
      source: source.name,
      severalElements,
      replaces: replaces && accepted === 0,
      rows: block.rows,
    });
    accepted += block.rows.length;
    onProgress?.(accepted);
    block = startBlock(ignored, epochUnits);
  };
  try {
    for await (const given of lines) {
      const text = typeof given === 'string' ? given : given.text;
      line = typeof given === 'string' ? line + 1 : given.line;
      if (text.trim() === '') {
        countUseless();
        continue;
      }
      try {
        const row = JSON.stringify(normaliseRow(source, read(given), block.findings));
        // A row is stored as one line.
        if (row.length > maxLineLength)
          throw new RowError(`takes more than ${maxLineLength} characters as a row of ${source.name}`);
        block.rows.push(row);
        block.characters += row.length;
      } catch (error) {
        // A RangeError: too deeply nested, or too long, to be parsed.
        const isLineFault = [RowError, SyntaxError, RangeError].some(kind => error instanceof kind);
        if (!isLineFault || !(error instanceof Error)) throw error;
        rejected++;
        onReject?.(line, error.message, text);
        if (problems.length < maxNamed) problems.push({ line, reason: jsonFault(error) });
        countUseless();
      }
      if (block.rows.length >= blockRows || block.characters >= blockCharacters) await flush();
    }
    await flush();
    if (accepted > 0 && file) await file.keep();
  } catch (error) {
    await file?.discard();
    throw error;
  }
  if (accepted === 0) await file?.discard();
  const ignoredFields = [...ignored].sort().slice(0, maxNamed);
  return { rows: accepted, rejected, problems, ignoredFields, epochUnits: unitsOf(epochUnits) };
}

/** Makes the function that reads a row; it throws RowError and SyntaxError. */
function createReader({ load, columns }: Source): (line: string | ReadRow) => unknown {
  const parse = parserFor({ columns });
  return line => {
    if (typeof line !== 'string') {
      if (!line.row) throw new RowError(line.problem ?? 'is not a row');
      return load ? mapRow(load, line.row) : line.row;
    }
    if (!load) return parse(line);
    // The line may have a Windows ending.
    const fields = load.pattern ? load.pattern.exec(line.replace(/\r$/, ''))?.groups : parse(line);
    if (fields === undefined) throw new RowError('does not fit the pattern of the source');
    // Anything but an object is refused as a row.
    const isObject = typeof fields === 'object' && fields !== null && !Array.isArray(fields);
    return isObject ? mapRow(load, { ...fields }) : fields;
  };
}

const unitsOf = (found: ReadonlyMap<string, ReadonlySet<EpochUnit>>) =>
  Object.fromEntries([...found].map(([path, units]) => [path, [...units]]));

function startBlock(ignoredFields: Set<string>, epochUnits: Map<string, Set<EpochUnit>>) {
  const findings: Findings = { ignoredFields, severalElements: new Set(), epochUnits };
  return { rows: [] as string[], characters: 0, findings };
}
