import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';
import { runSourceCommand } from '../../src/commands/source-command.ts';
import { readConfig } from '../../src/composition/config.ts';
import { checkFiles } from '../../src/duckdb/files/check-files.ts';
import { formatOf } from '../../src/endpoints/parse-source.ts';
import type { Source } from '../../src/endpoints/source.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { acceptRows } from '../../src/loading/accept-rows.ts';
import { openInput } from '../../src/loading/input/open-input.ts';

/**
 * `npm run test:foreign-files -- <folder>`: reads every Parquet, CSV and JSON file below a folder as `npm run source -- add` and
 * `npm run import` do, and compares the numbers of rows and of columns with what pandas and pyarrow read; PYTHON names a Python that has them.
 * Files that a reader refuses are shown with its reason: whether they are wrong is for who looks.
 */

/** What one reader finds in a file. */
type Found = { readonly rows: number; readonly columns: number } | { readonly problem: string };

/** Prints the rows and columns of each file of a list. */
const program = `
import csv, io, json, sys, warnings
import pandas, pyarrow.parquet
warnings.simplefilter("ignore")

def read(path):
    if path.endswith(".parquet"):
        return pyarrow.parquet.read_table(path)
    plain = path.removesuffix(".gz").removesuffix(".zst")
    if plain.endswith((".csv", ".tsv")):
        return pandas.read_csv(path, sep=None, engine="python", dtype=str, encoding_errors="replace", skip_blank_lines=True)
    try:
        return pandas.read_json(path, lines=True, dtype=False, convert_dates=False)
    except ValueError:
        return pandas.read_json(path, dtype=False, convert_dates=False)

found = {}
for path in json.load(open(sys.argv[1])):
    try:
        table = read(path)
        found[path] = {"rows": table.shape[0], "columns": table.shape[1]}
    except Exception as error:
        found[path] = {"problem": (str(error) or type(error).__name__).splitlines()[0]}
json.dump(found, sys.stdout)
`;

const { PYTHON: python = 'python3' } = process.env;
const folder = process.argv[2];
if (folder === undefined) {
  process.stderr.write('npm run test:foreign-files -- <folder>\n');
  process.exit(2);
}

const files = (await readdir(folder, { recursive: true }))
  .map(name => join(folder, name))
  .filter(path => formatOf(path) !== undefined)
  .sort();
const directory = await mkdtemp(join(tmpdir(), 'foreign-files-'));
try {
  const judge = await readByPandas(files);
  if (!judge)
    process.stdout.write(`${python} has no pandas and pyarrow: the readers are compared with each other\n`);
  let different = 0;
  for (const [at, path] of files.entries()) {
    const [inPlace, loaded] = [await readInPlace(at, path), await load(at, path)];
    const judged = judge?.[path];
    const isAlike = areAlike([inPlace, loaded, ...(judged ? [judged] : [])]);
    if (!isAlike) different++;
    const cells = [inPlace, loaded, judged].map(found => (found ? shown(found) : '')).join(' | ');
    process.stdout.write(`${isAlike ? 'ok  ' : 'LOOK'} ${relative(folder, path)} | ${cells}\n`);
  }
  process.stdout.write(
    `${files.length} files, ${files.length - different} read alike in place, loaded${judge ? ' and by pandas' : ''}; look at ${different}\n`,
  );
  if (files.length === 0 || different > 0) process.exitCode = 1;
} finally {
  await rm(directory, { recursive: true });
}

function shown(found: Found): string {
  return 'problem' in found ? found.problem.slice(0, 120) : `${found.rows} rows, ${found.columns} columns`;
}

function areAlike([first, ...others]: readonly Found[]): boolean {
  if (!first || 'problem' in first) return false;
  return others.every(
    other => 'rows' in other && other.rows === first.rows && other.columns === first.columns,
  );
}

/** Infers a source of its own, and reads all rows in the types of it. */
async function sourceOf(name: string, path: string, more: readonly string[]): Promise<Source> {
  const config = readConfig({ SOURCES_DIR: join(directory, name), DATA_DIR: directory });
  await mkdir(config.SOURCES_DIR, { recursive: true });
  await runSourceCommand(config, () => undefined, ['add', name, resolve(path), ...more]);
  return readSources(config.SOURCES_DIR)[0]!;
}

async function readInPlace(at: number, path: string): Promise<Found> {
  return attempt(async () => {
    const source = await sourceOf(`place${at}`, path, []);
    return { rows: await checkFiles(source), columns: Object.keys(source.columns).length };
  });
}

/** Loads without storing: each row is read, checked and counted; one that is refused is a difference. */
async function load(at: number, path: string): Promise<Found> {
  return attempt(async () => {
    const source = await sourceOf(`table${at}`, path, ['--load']);
    const input = await openInput(path, source);
    try {
      const { rows, rejected, problems } = await acceptRows({
        folder: directory,
        source,
        lines: input.lines,
        isDryRun: true,
      });
      if (rejected > 0) return { problem: `${rejected} of ${rows + rejected} rows: ${problems[0]?.reason}` };
      return { rows, columns: Object.keys(source.columns).length };
    } finally {
      await input.close();
    }
  });
}

async function attempt(read: () => Promise<Found>): Promise<Found> {
  try {
    return await read();
  } catch (error) {
    return { problem: String(error instanceof Error ? error.message : error).split('\n')[0]! };
  }
}

/** Undefined where there is no such Python. */
async function readByPandas(paths: readonly string[]): Promise<Record<string, Found> | undefined> {
  const script = join(directory, 'read.py');
  const list = join(directory, 'files.json');
  await writeFile(script, program);
  await writeFile(list, JSON.stringify(paths));
  try {
    const run = promisify(execFile);
    const { stdout } = await run(python, [script, list], { maxBuffer: 64 * 1024 * 1024 });
    return JSON.parse(stdout);
  } catch {
    return undefined;
  }
}
