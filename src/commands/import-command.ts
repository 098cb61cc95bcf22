import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { databasePath } from '../composition/compose-engine.ts';
import type { Config } from '../composition/config.ts';
import { DatabaseBusyError } from '../duckdb/data-folder/database-busy-error.ts';
import { epochUnits } from '../endpoints/read-epoch.ts';
import type { Source } from '../endpoints/source.ts';
import { namesOf, readSourceFolder } from '../endpoints/sources.ts';
import { type Acceptance, acceptRows } from '../loading/accept-rows.ts';
import { rowsFolderOf } from '../loading/accepted-rows.ts';
import { acceptEventLines } from '../loading/events/accept-event-lines.ts';
import { type InputFormat, inputFormats, openInput } from '../loading/input/open-input.ts';
import { storeAccepted } from '../loading/store-accepted.ts';
import { createUpkeep } from '../loading/upkeep.ts';
import { parseCommand, UsageError } from './command-line.ts';
import { printable } from './printable.ts';

const usage = `npm run import -- <source> <file>       load rows, while gateways run or not; - is standard input
  --format ${inputFormats.join(' | ')}   what the content does not say; lines: text for the pattern of the source;
                                        logflare: a table of Logflare's in Postgres, as CSV
  --replace                             all earlier rows of the source go away
  --dry-run                             only check the rows
  --rejects <file>                      where lines that are not rows go, as NDJSON with reasons
  --json                                print the outcome as JSON`;

/** Maximum rejected lines that are shown. */
const maxShown = 10;

/**
 * Runs `npm run import`: loads rows from a file. It stores them itself, in turns with running gateways.
 * @returns whether a row was loaded and rejected lines, if requested, were written; if not, the exit code is 1
 * @throws UsageError; the system's and DuckDB's errors for a file that can't be read
 */
export async function runImportCommand(config: Config, args: string[]): Promise<boolean> {
  const { values, positionals } = parseCommand(args, {
    format: { type: 'string' },
    replace: { type: 'boolean' },
    'dry-run': { type: 'boolean' },
    rejects: { type: 'string' },
    json: { type: 'boolean' },
    help: { type: 'boolean' },
  });
  if (values.help) {
    process.stdout.write(`${usage}\n`);
    return true;
  }
  const [name, file, ...rest] = positionals;
  if (name === undefined || file === undefined || rest.length > 0) {
    throw new UsageError('import takes a source and a file');
  }
  const isDryRun = values['dry-run'] ?? false;
  const { sources, broken } = readSourceFolder(config.SOURCES_DIR);
  const own = broken.find(({ file }) => file === `${name}.yaml`);
  if (own) throw own;
  const source = findSource(sources, name);
  const path = databasePath(config);
  const { taken, hasRejects } = await take(source, file, {
    format: readFormat(values.format),
    databasePath: path,
    replaces: values.replace ?? false,
    isDryRun,
    rejectsFile: values.rejects,
  });
  if (!isDryRun && taken.rows > 0) await store({ databasePath: path, sources, leftOut: namesOf(broken) });
  if (values.json) process.stdout.write(`${JSON.stringify(taken)}\n`);
  else show(name, taken, isDryRun);
  return taken.rows > 0 && hasRejects;
}

function findSource(sources: readonly Source[], name: string): Source {
  const source = sources.find(each => each.name === name);
  if (!source) {
    const known = sources.map(each => each.name).join(', ');
    throw new UsageError(`No source is named ${JSON.stringify(name)}; allowed: ${known}`);
  }
  if (source.files)
    throw new UsageError(`Source ${name} reads its files in place; nothing is loaded into it`);
  return source;
}

function readFormat(text: string | undefined): InputFormat | undefined {
  const format = inputFormats.find(each => each === text);
  if (text === undefined || format) return format;
  throw new UsageError(`--format is ${JSON.stringify(text)}; allowed: ${inputFormats.join(', ')}`);
}

type TakeOptions = {
  readonly format: InputFormat | undefined;
  readonly databasePath: string;
  readonly replaces: boolean;
  readonly isDryRun: boolean;
  readonly rejectsFile: string | undefined;
};

/** Whether the cursor is at the end of a progress line. */
let isBehindProgress = false;

/** Prints a line on its own, which may quote the file. */
function say(line: string): void {
  process.stderr.write(`${isBehindProgress ? '\n' : ''}${printable(line)}\n`);
  isBehindProgress = false;
}

type Taken = {
  readonly taken: Acceptance;
  /** Whether `--rejects` has all of the rejected lines. */
  readonly hasRejects: boolean;
};

/** Accepts the valid rows of a file: puts them on disk. */
async function take(source: Source, file: string, options: TakeOptions): Promise<Taken> {
  const { databasePath, replaces, isDryRun } = options;
  const folder = rowsFolderOf(databasePath);
  const input = await openInput(file === '-' ? process.stdin : file, source, options.format);
  if (input.format === 'logflare' && (replaces || isDryRun)) {
    await input.close();
    throw new UsageError(
      "--replace and --dry-run are not for Logflare's tables: events are added, each once",
    );
  }
  const rejects = options.rejectsFile === undefined ? undefined : createWriteStream(options.rejectsFile);
  try {
    if (rejects) await once(rejects, 'open');
  } catch (error) {
    // The writer of standard input may never end it.
    await input.close();
    throw error;
  }
  let problem: Error | undefined;
  // A failure to write rejected lines does not stop the import.
  rejects?.on('error', error => {
    problem ??= error;
  });
  let shown = 0;
  const onReject = (line: number, reason: string, text: string) => {
    rejects?.write(`${JSON.stringify({ line, reason, text })}\n`);
    if (shown++ < maxShown) say(`line ${line} is left out: ${reason}`);
  };
  const startedMs = performance.now();
  const totalBytes = file === '-' ? undefined : (await stat(file)).size;
  const onProgress = (rows: number) => {
    if (!process.stderr.isTTY) return;
    const rate = Math.round((rows * 1000) / (performance.now() - startedMs));
    const [done, total] = [input.readBytes(), totalBytes].map(bytes => ((bytes ?? 0) / 1e6).toFixed(1));
    const bytes = totalBytes ? `, ${done} of ${total} MB` : `, ${done} MB`;
    process.stderr.write(`\r${rows.toLocaleString('en')} rows${bytes}, ${rate.toLocaleString('en')} rows/s `);
    isBehindProgress = true;
  };
  let taken: Acceptance;
  try {
    const nowMs = Date.now();
    taken =
      input.format === 'logflare'
        ? await acceptEventLines({ databasePath, folder, source, lines: input.lines, nowMs, onProgress })
        : await acceptRows({ folder, source, replaces, isDryRun, lines: input.lines, onReject, onProgress });
    if (input.format === 'logflare')
      for (const { line, reason } of taken.problems) say(`after line ${line}: ${reason}`);
    const broken = await input.rejects();
    for (const { line, reason, text } of broken) onReject(line, reason, text);
    taken = { ...taken, rejected: taken.rejected + broken.length };
  } finally {
    await input.close();
    if (rejects) await new Promise(resolve => rejects.end(resolve));
  }
  if (problem) say(`not all rejected lines are in ${options.rejectsFile}: ${problem.message}`);
  return { taken, hasRejects: problem === undefined };
}

/** Stores accepted rows until none are left, alongside gateways that do so too. */
async function store(to: Omit<Parameters<typeof storeAccepted>[0], 'emit'>): Promise<void> {
  const emit = (event: object) => say(JSON.stringify(event));
  const upkeep = createUpkeep(emit);
  for (;;) {
    try {
      if (!(await storeAccepted({ ...to, emit, upkeep }))) return;
    } catch (error) {
      // The rows are on disk, and running gateways store them.
      if (!(error instanceof DatabaseBusyError)) throw error;
    }
  }
}

function show(
  name: string,
  { rows, rejected, ignoredFields, epochUnits: units }: Acceptance,
  isDryRun: boolean,
): void {
  if (rejected > maxShown) say(`and ${rejected - maxShown} more lines`);
  for (const field of ignoredFields) say(`field ${field} is not in ${name} and was ignored`);
  for (const [path, found] of Object.entries(units))
    say(`${path}: numbers are read as ${found.map(unit => epochUnits[unit]).join(' and ')} since 1970`);
  const done = isDryRun ? 'fit' : 'imported into';
  if (isBehindProgress) process.stderr.write('\n');
  process.stdout.write(`${rows} rows ${done} ${name}, ${rejected} left out\n`);
}
