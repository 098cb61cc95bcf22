import { createHash } from 'node:crypto';
import { type Document, isMap, isNode, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { type EndpointDefinition, headerSchema } from './definition.ts';

/** One thing wrong with the file of a saved query or a source. */
export type DefinitionProblem = {
  /** Counts from 1. */
  readonly line: number;
  /** Dotted path in the header, such as `parameters.interval.values`; `sql` for the statement; empty for the file. */
  readonly key: string;
  readonly message: string;
};

/** A file of a saved query or a source that can't be used; the message has a line `file:line: key: problem` for each problem. */
export class DefinitionError extends Error {
  override readonly name = 'DefinitionError';
  readonly file: string;
  readonly problems: readonly DefinitionProblem[];

  constructor(file: string, problems: readonly DefinitionProblem[]) {
    super(
      problems
        .map(({ line, key, message }) => `${file}:${line}: ${key ? `${key}: ` : ''}${message}`)
        .join('\n'),
    );
    this.file = file;
    this.problems = problems;
  }
}

/** All that is wrong with several files, a line for each problem. */
export function allOf(broken: readonly DefinitionError[]): AggregateError {
  return new AggregateError(broken, broken.map(({ message }) => message).join('\n'));
}

/** Where the problems of a file are, without saying what they are: `a.sql:3: name`. */
export function placesOf({ file, problems }: DefinitionError): string[] {
  return [...new Set(problems.map(({ line, key }) => `${file}:${line}${key && `: ${key}`}`))];
}

/**
 * Reads a saved query's file.
 * @param file name without folder; must be `<name>.sql`
 * @param batchSql text of `<name>.batch.sql`, if there is such a file
 * @throws DefinitionError with every problem found
 */
export function parseDefinition(file: string, text: string, batchSql?: string): EndpointDefinition {
  const yaml = headerText(file, text);
  const { document, lines } = readYaml(file, yaml);
  const fail = (problems: DefinitionProblem[]): never => {
    throw new DefinitionError(file, problems);
  };
  const header = headerSchema.safeParse(document.toJS());
  if (!header.success) fail(header.error.issues.map(issue => problemOf(issue, document, lines)));
  if (!header.success) throw header.error;
  const { parameters, columns, batch, ...settings } = header.data;
  if (file !== `${settings.name}.sql`) {
    fail([
      {
        line: lineOf(['name'], document, lines),
        key: 'name',
        message: `must match the file: ${settings.name}.sql`,
      },
    ]);
  }
  if ((batch === undefined) !== (batchSql === undefined)) {
    const message = batch
      ? `needs the file ${batchFile(file)}, which is not there`
      : `is missing, but there is a file ${batchFile(file)}`;
    fail([{ line: lineOf(['batch'], document, lines), key: 'batch', message }]);
  }
  const named = <T>(all: Record<string, T>) => Object.entries(all).map(([name, rest]) => ({ name, ...rest }));
  return {
    ...settings,
    parameters: named(parameters),
    columns: named(columns),
    sql: text,
    batch: batch && batchSql !== undefined ? { ...batch, sql: batchSql } : undefined,
    hash: definitionHash([text.slice(yaml.length + 4), batchSql ?? ''], settings, parameters, columns),
    file,
  };
}

/**
 * Reads a text of YAML, with the lines of its keys.
 * @throws DefinitionError with every error of its syntax
 */
export function readYaml(file: string, text: string): { document: Document; lines: LineCounter } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, strict: true });
  if (document.errors.length === 0) return { document, lines };
  throw new DefinitionError(
    file,
    document.errors.map(error => ({
      line: lines.linePos(error.pos[0]).line,
      key: '',
      message: error.message.split(' at line')[0] ?? error.message,
    })),
  );
}

/** Name of the file that holds a saved query's batch form. */
export function batchFile(file: string): string {
  return file.replace(/\.sql$/, '.batch.sql');
}

/** The line of a column or parameter in a saved query's header; 1 if the header lacks it. */
export function headerLine(file: string, text: string, path: readonly string[]): number {
  const lines = new LineCounter();
  return lineOf(path, parseDocument(headerText(file, text), { lineCounter: lines }), lines);
}

/** The text between the leading comment's marks; starts on line 1 of the file, so that YAML lines are file lines. */
function headerText(file: string, text: string): string {
  const end = text.indexOf('*/');
  if (!text.startsWith('/*') || end < 0) {
    throw new DefinitionError(file, [
      { line: 1, key: '', message: 'must start with its YAML header in a block comment: /* … */' },
    ]);
  }
  return text.slice(2, end);
}

/** What a schema found wrong, with its line and key. */
export function problemOf(
  issue: z.core.$ZodIssue,
  document: Document,
  lines: LineCounter,
): DefinitionProblem {
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') path.push(issue.keys[0] ?? '');
  const message = issue.code === 'unrecognized_keys' ? 'is not a known key' : issue.message;
  return { line: lineOf(path, document, lines), key: path.join('.'), message };
}

/** The line of the deepest part of the path that the header has. */
function lineOf(path: readonly string[], document: Document, lines: LineCounter): number {
  for (let depth = path.length; depth > 0; depth--) {
    const parent = depth === 1 ? document.contents : document.getIn(path.slice(0, depth - 1), true);
    if (!isMap(parent)) continue;
    const pair = parent.items.find(item => isNode(item.key) && String(item.key) === path[depth - 1]);
    if (pair && isNode(pair.key) && pair.key.range) return lines.linePos(pair.key.range[0]).line;
  }
  return 1;
}

/** Descriptions and the warming period may change without making stored rows wrong. */
function definitionHash(
  texts: readonly string[],
  settings: Pick<EndpointDefinition, 'id' | 'maxRows' | 'sandbox' | 'window'>,
  parameters: z.infer<typeof headerSchema>['parameters'],
  columns: z.infer<typeof headerSchema>['columns'],
): string {
  const shape = [
    settings.id,
    settings.maxRows,
    settings.sandbox,
    Object.entries(parameters).map(([name, { type, repeated }]) => [name, type, ...(repeated ? [true] : [])]),
    Object.entries(columns).map(([name, { type, repeated }]) => [name, type, repeated]),
    ...(settings.window ? [settings.window] : []),
    ...texts,
  ];
  return createHash('sha256').update(JSON.stringify(shape)).digest('hex');
}
