import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../base/errors.ts';
import { allOf, DefinitionError, problemsOf, readYaml } from './parse-definition.ts';
import { parseSource } from './parse-source.ts';
import type { Source } from './source.ts';

/** The folder with the sources of this repository. */
export const ownSources = fileURLToPath(new URL('../../schema/sources', import.meta.url));

/** The sources of a folder, and the problems of broken files. */
export type SourceFolder = {
  readonly sources: readonly Source[];
  readonly broken: readonly DefinitionError[];
};

/** The texts of the files in a folder of sources, or why one can't be read. */
export type SourceTexts = readonly {
  readonly file: string;
  readonly text?: string;
  readonly problem?: string;
}[];

/** Reads the files of a folder of sources as they are now. */
export function readSourceTexts(directory: string): SourceTexts {
  return listFiles(directory).map(file => {
    try {
      return { file, text: readFileSync(join(directory, file), 'utf8') };
    } catch (error) {
      return { file, problem: (error as Error).message };
    }
  });
}

/**
 * Reads the sources: one file each, `<name>.yaml`. A broken file affects only itself.
 * @param directory default: the repository's `schema/sources`
 * @param files the texts of its files. Default: read now
 * @returns sources ordered by name
 */
export function readSourceFolder(
  directory: string = ownSources,
  files: SourceTexts = readSourceTexts(directory),
): SourceFolder {
  const sources: Source[] = [];
  const broken: DefinitionError[] = [];
  const owners = new Map<string, string>();
  for (const { file, text, problem } of files) {
    try {
      if (text === undefined) throw new Error(problem);
      const source = parseOnce(file, text, resolve(directory));
      refuseTaken(owners, file, text, source);
      sources.push(source);
    } catch (error) {
      if (error instanceof DefinitionError) broken.push(error);
      else broken.push(new DefinitionError(file, [{ line: 1, key: '', message: `can't be read: ${error}` }]));
    }
  }
  return { sources, broken };
}

/** Each file's source as last parsed: a start reads the folder for several parts, and parsing takes most of that time. */
const parsed = new Map<string, { readonly text: string; readonly source: Source }>();

/** Parses a file, unless its text is still that of the last time. @throws DefinitionError */
function parseOnce(file: string, text: string, directory: string): Source {
  const path = join(directory, file);
  const known = parsed.get(path);
  if (known?.text === text) return known.source;
  const source = parseSource(file, text, directory);
  parsed.set(path, { text, source });
  return source;
}

/**
 * Reads the files of sources that were added after others were read.
 * @returns those that are valid: others wait
 */
export function readNewSourceTexts(directory: string, known: SourceTexts): SourceTexts {
  const before = new Set(known.map(({ file }) => file));
  const added = readSourceTexts(directory).filter(({ file }) => !before.has(file));
  if (added.length === 0) return [];
  const valid = new Set(
    readSourceFolder(directory, [...known, ...added]).sources.map(({ name }) => `${name}.yaml`),
  );
  return added.filter(({ file }) => valid.has(file));
}

/**
 * Reads the sources of a folder without broken files.
 * @throws AggregateError with a line for each problem of each file
 */
export function readSources(directory: string = ownSources): readonly Source[] {
  const { sources, broken } = readSourceFolder(directory);
  if (broken.length > 0) throw allOf(broken);
  return sources;
}

/** The names of sources whose files are broken. */
export function namesOf(broken: readonly DefinitionError[]): ReadonlySet<string> {
  return new Set(broken.map(({ file }) => file.replace(/\.yaml$/, '')));
}

/**
 * Refuses a source whose table or UUID an earlier file has taken. DuckDB compares names of tables in lower case.
 * @throws DefinitionError
 */
function refuseTaken(owners: Map<string, string>, file: string, text: string, { name, id }: Source): void {
  const wanted = { name: name.toLowerCase(), ...(id && { id }) };
  const problems = Object.entries(wanted).flatMap(([key, value]) => {
    const owner = owners.get(value);
    if (owner === undefined) return [];
    const { document, lines } = readYaml(file, text);
    const message = `is taken by ${owner} already${key === 'name' ? ', but for letter case' : ''}`;
    return problemsOf({ code: 'custom', path: [key], message, input: undefined }, document, lines);
  });
  if (problems.length > 0) throw new DefinitionError(file, problems);
  for (const value of Object.values(wanted)) owners.set(value, file);
}

function listFiles(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter(file => file.endsWith('.yaml') && !file.startsWith('.'))
      .sort();
  } catch (cause) {
    throw unreadableFolder('sources', directory, 'SOURCES_DIR', cause);
  }
}

/**
 * The error for a folder of files that can't be listed: most often the command runs in another folder than the project's.
 * @param holding such as `saved queries`
 * @param setting the variable that names the folder
 */
export function unreadableFolder(
  holding: string,
  directory: string,
  setting: 'SQL_DIR' | 'SOURCES_DIR',
  cause: unknown,
): Error {
  return new Error(
    `The folder of ${holding}, ${directory}, can't be read: ${messageOf(cause)}. Commands run in the folder of the project, or with ${setting}`,
    { cause },
  );
}
