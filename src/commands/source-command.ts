import { rm, writeFile } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { messageOf } from '../base/errors.ts';
import type { Config } from '../composition/config.ts';
import { checkFiles } from '../duckdb/files/check-files.ts';
import { type InferredColumn, type InferredFiles, inferColumns } from '../duckdb/files/infer-columns.ts';
import { UnreadableFileError } from '../duckdb/files/unreadable-file-error.ts';
import type { CsvForm } from '../endpoints/csv-form.ts';
import { formatOf, parseSource } from '../endpoints/parse-source.ts';
import { columnOf, type Source, type SourceField } from '../endpoints/source.ts';
import { namesOf, readSourceFolder, type SourceFolder } from '../endpoints/sources.ts';
import { yamlKey } from '../endpoints/written-names.ts';
import { parseCommand, UsageError } from './command-line.ts';
import { printableLines } from './printable.ts';

const usage = `npm run source -- add <name> <file or glob> …    write the file of a source, with the columns that its files have
  --load                                         a table that rows are loaded into, instead of files that are read in place
npm run source -- list                           what there is
npm run source -- check [<name> …]               read all rows of sources that have files, in their declared types
npm run source -- drop <name>                    remove the file of a source; its rows stay where they are`;

type Print = (line: string) => void;

/**
 * Runs `npm run source`: adds, lists, checks and removes sources.
 * @returns whether all is fine; if not, the exit code is 1
 * @throws UsageError, and errors of reading the files
 */
export async function runSourceCommand(config: Config, printLine: Print, args: string[]): Promise<boolean> {
  const { values, positionals } = parseCommand(args, {
    json: { type: 'boolean' },
    load: { type: 'boolean' },
    help: { type: 'boolean' },
  });
  const [action, ...names] = positionals;
  const print = (found: object, line: string) =>
    printLine(values.json ? JSON.stringify(found) : printableLines(line));
  if (values.help) {
    printLine(usage);
    return true;
  }
  switch (action) {
    case 'add':
      return add(config, print, { names, isLoaded: values.load ?? false });
    case 'list': {
      if (names.length > 0) throw new UsageError('source list takes no names');
      const { sources, broken } = readSourceFolder(config.SOURCES_DIR);
      for (const { name, files, columns, table } of sources) {
        const place = files ? files.paths.join(', ') : 'a table of the embedded engine';
        const found = { name, files: files?.paths, table, columns: Object.keys(columns) };
        print(found, `${name}: ${Object.keys(columns).length} columns, ${place}${table ? `, ${table}` : ''}`);
      }
      for (const { file, problems, message } of broken) print({ broken: file, problems }, message);
      return broken.length === 0;
    }
    case 'check':
      return check(config, print, names);
    case 'drop': {
      const [name] = names;
      if (!name || names.length !== 1) throw new UsageError('source drop takes the name of a source');
      chosen(config, names);
      const path = join(config.SOURCES_DIR, `${name}.yaml`);
      await rm(path);
      print({ removed: path }, `${path} is removed; its rows stay where they are`);
      return true;
    }
    default:
      throw new UsageError('source takes add, list, check or drop');
  }
}

function csvLine({ csv, otherForms }: InferredFiles): string {
  const also = Object.entries(otherForms).map(
    ([key, form]) => ` # ${key}: ${JSON.stringify(form)} fits all values as well`,
  );
  return `csv: ${JSON.stringify(csv)}${also.join(',')}`;
}

type PrintFound = (found: object, line: string) => void;

type AddOptions = {
  /** The name of the source, then files and globs. */
  readonly names: readonly string[];
  /** Whether rows are loaded; otherwise the files are read in place. */
  readonly isLoaded: boolean;
};

async function add(config: Config, print: PrintFound, { names, isLoaded }: AddOptions): Promise<boolean> {
  const [name, ...files] = names;
  if (!name || files.length === 0) throw new UsageError('source add takes a name, and files or globs');
  const format = formatOf(files[0]!);
  if (!format) throw new UsageError(`${files[0]} does not end as a Parquet, CSV or JSON file does`);
  const found = await inferColumns(
    { paths: files.map(file => resolve(file)), format },
    { isLenient: isLoaded },
  ).catch(cause => {
    // An error of the system, such as that of a missing file, is explained as in any other command.
    if (cause.path !== undefined) throw cause;
    throw new UnreadableFileError(messageOf(cause), { cause });
  });
  const namesColumns = format === 'parquet' || (format === 'csv' && found.csv.header !== false);
  if (found.rows === 0 && !namesColumns)
    throw new UnreadableFileError(`${files[0]} has no rows, and no names of columns`);
  if (found.columns.length === 0) {
    const types = found.leftOut.map(({ name: column, type }) => `${column} (${type})`).join(', ');
    throw new UnreadableFileError(`${files[0]} has no column of a type that a source can have: ${types}`);
  }
  const folder = resolve(config.SOURCES_DIR);
  const paths = files.map(file => relative(folder, resolve(file)));
  const text = [
    `name: ${name}`,
    ...(isLoaded ? [] : [`files: ${JSON.stringify(paths)}`]),
    ...(Object.keys(found.csv).length > 0 ? [csvLine(found)] : []),
    'columns:',
    ...found.columns.flatMap(({ name: column, ...own }) => columnLines(column, own, '  ')),
    '',
  ].join('\n');
  parseSource(`${name}.yaml`, text, folder);
  const path = join(config.SOURCES_DIR, `${name}.yaml`);
  await writeFile(path, text, { flag: 'wx' }).catch(error => {
    if (error.code !== 'EEXIST') throw error;
    throw new UsageError(`${path} is there already; npm run source -- drop ${name} removes it`);
  });
  for (const [key, value] of Object.entries(found.csv)) {
    const other = found.otherForms[key as keyof CsvForm];
    const also = other === undefined ? '' : `; ${JSON.stringify(other)} fits all values as well`;
    print(
      { csv: key, value, ...(other !== undefined && { other }) },
      `  csv, ${key}: ${JSON.stringify(value)}${also}`,
    );
  }
  for (const column of found.columns) print(column, `  ${column.name}: ${show(column)}`);
  for (const { name: column, type } of found.leftOut) {
    print({ leftOut: column, type }, `  ${column} is left out: no source can have the type ${type}`);
  }
  const next = isLoaded
    ? `npm run import -- ${name} ${shellWord(files[0]!)}`
    : `npm run endpoint -- new ${name}.first --from ${name}`;
  print(
    { written: path, rows: found.rows, next },
    `${path} is written, from ${found.rows} rows. ${isLoaded ? 'Gateways that run make its table' : 'Gateways that run open its files'}. Next: ${next}`,
  );
  return true;
}

/** A word quoted for a shell. */
function shellWord(text: string): string {
  return /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

function show({ field, from, why }: InferredColumn): string {
  return `${typeName(field)}${from === undefined ? '' : `, ${JSON.stringify(from)} in the files`}${why ? `, for ${why}` : ''}`;
}

function typeName(field: SourceField): string {
  if (Array.isArray(field)) return `ARRAY<${typeName(field[0])}>`;
  if (typeof field === 'string') return field;
  return `STRUCT<${Object.entries(field)
    .map(([name, inner]) => `${name} ${typeName(inner)}`)
    .join(', ')}>`;
}

type FoundColumn = Pick<InferredColumn, 'field'> & Partial<Pick<InferredColumn, 'from' | 'why'>>;

function columnLines(name: string, { field, from, why }: FoundColumn, indent: string): string[] {
  const element = Array.isArray(field) ? field[0] : field;
  const comment = why ? ` # ${why}` : '';
  const key = yamlKey(name);
  if (typeof element === 'string') {
    const more = [
      ...(Array.isArray(field) ? ['repeated: true'] : []),
      ...(from === undefined ? [] : [`from: ${JSON.stringify(from)}`]),
    ];
    const type = more.length > 0 ? `{ ${[`type: ${element}`, ...more].join(', ')} }` : element;
    return [`${indent}${key}: ${type}${comment}`];
  }
  return [
    `${indent}${key}:${comment}`,
    `${indent}  type: STRUCT`,
    ...(Array.isArray(field) ? [`${indent}  repeated: true`] : []),
    ...(from === undefined ? [] : [`${indent}  from: ${JSON.stringify(from)}`]),
    `${indent}  fields:`,
    ...Object.entries(element).flatMap(([inner, own]) => columnLines(inner, { field: own }, `${indent}    `)),
  ];
}

async function check(config: Config, print: PrintFound, names: readonly string[]): Promise<boolean> {
  const { sources, broken } = chosen(config, names);
  for (const { file, problems, message } of broken) print({ broken: file, problems }, message);
  let isAllWell = broken.length === 0;
  for (const source of sources) {
    if (!source.files) continue;
    const { name } = source;
    try {
      const rows = await checkFiles(source);
      print({ name, rows }, `ok     ${name}: ${rows} rows`);
    } catch (error) {
      const problem = problemOf(source, messageOf(error));
      print({ name, problem }, `WRONG  ${name}: ${problem}`);
      isAllWell = false;
    }
  }
  return isAllWell;
}

/** DuckDB's message about a value in a CSV file in our own words; of any other message, the first line. */
function problemOf(source: Source, message: string): string {
  const [, line] = /CSV Error on Line: (\d+)/.exec(message) ?? [];
  const [, inFile = '', value] =
    /^Error when converting column "(.*?)"\. Could not convert string "(.*)" to '/m.exec(message) ?? [];
  const [firstLine = ''] = message.split('\n');
  if (line === undefined || value === undefined) return firstLine;
  const name = columnOf(source, inFile);
  const field = source.columns[name];
  const type = field === undefined ? 'its type' : typeName(field);
  return `line ${line}, column ${name}: ${JSON.stringify(value)} is not a valid ${type}`;
}

/** The sources with these names; all if none are given. @throws UsageError for an unknown name */
function chosen(config: Config, names: readonly string[]): SourceFolder {
  const { sources, broken } = readSourceFolder(config.SOURCES_DIR);
  const known = [...sources.map(({ name }) => name), ...namesOf(broken)];
  const unknown = names.find(name => !known.includes(name));
  if (unknown !== undefined) {
    throw new UsageError(`No source is named ${JSON.stringify(unknown)}; allowed: ${known.join(', ')}`);
  }
  const isChosen = (name: string) => names.length === 0 || names.includes(name);
  return {
    sources: sources.filter(({ name }) => isChosen(name)),
    broken: broken.filter(each => [...namesOf([each])].some(isChosen)),
  };
}
