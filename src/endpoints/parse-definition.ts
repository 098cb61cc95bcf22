import { createHash } from 'node:crypto';
import { type Document, isMap, isNode, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import { didYouMean } from '../base/nearest-name.ts';
import { type EndpointDefinition, headerSchema } from './definition.ts';

/** A problem in the file of a saved query or a source. */
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

/** The problems of several files as one error, with a line for each. */
export function allOf(broken: readonly DefinitionError[]): AggregateError {
  return new AggregateError(broken, broken.map(({ message }) => message).join('\n'));
}

/** Where the problems of a file are, without their messages: `a.sql:3: name`. */
export function placesOf({ file, problems }: DefinitionError): string[] {
  return [...new Set(problems.map(({ line, key }) => `${file}:${line}${key && `: ${key}`}`))];
}

/**
 * Parses a saved query's file.
 * @param file name without folder; must be `<name>.sql`
 * @param writtenBatch text of `<name>.batch.sql`, if there is such a file
 * @throws DefinitionError with every problem found
 */
export function parseDefinition(file: string, written: string, writtenBatch?: string): EndpointDefinition {
  const [text, batchSql] = [withoutMark(written), writtenBatch && withoutMark(writtenBatch)];
  const yaml = headerText(file, text);
  const { document, lines } = readYaml(file, yaml);
  const fail = (problems: DefinitionProblem[]): never => {
    throw new DefinitionError(file, problems);
  };
  const header = headerSchema.safeParse(document.toJS(), { error: explainIssue });
  if (!header.success) fail(header.error.issues.flatMap(issue => problemsOf(issue, document, lines)));
  if (!header.success) throw header.error;
  const { parameters, columns, batch, ...settings } = header.data;
  if (file !== `${settings.name}.sql`) {
    fail([
      {
        line: lineOf(['name'], document, lines),
        key: 'name',
        message: `must match the file, which is ${file}: ${JSON.stringify(settings.name)} belongs to ${settings.name}.sql`,
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

/** A text without the mark U+FEFF that some editors put before it. */
const withoutMark = (text: string) => text.replace(/^\uFEFF/, '');

/**
 * Parses YAML, with the lines of its keys.
 * @param options.intAsBigInt whether integers are BigInts. Default: numbers
 * @throws DefinitionError with all syntax errors
 */
export function readYaml(
  file: string,
  text: string,
  options: { readonly intAsBigInt?: boolean } = {},
): { document: Document; lines: LineCounter } {
  const lines = new LineCounter();
  const document = parseDocument(text, { ...options, lineCounter: lines, uniqueKeys: true, strict: true });
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
  const isOpen = text.startsWith('/*');
  if (!isOpen || end < 0) {
    const message = isOpen
      ? 'has a header without an end: */ is missing'
      : 'must start with its YAML header in a block comment: /* … */';
    throw new DefinitionError(file, [{ line: 1, key: '', message }]);
  }
  return text.slice(2, end);
}

/** The issues of a schema as problems with line and key; one for each unknown key. */
export function problemsOf(
  issue: z.core.$ZodIssue,
  document: Document,
  lines: LineCounter,
): DefinitionProblem[] {
  const path = issue.path.map(String);
  const at = (own: readonly string[], message: string) => ({
    line: lineOf(own, document, lines),
    key: own.join('.'),
    message,
  });
  if (issue.code !== 'unrecognized_keys') return [at(path, issue.message)];
  const messages = issue.message.split('\n');
  return issue.keys.map((key, nth) => at([...path, key], messages[nth] ?? ''));
}

/** Common other names for types of columns and parameters. Sources: GoogleSQL's aliases, and those of other databases. */
const typeAliases: Readonly<Record<string, string>> = {
  INT: 'INT64', INTEGER: 'INT64', BIGINT: 'INT64', SMALLINT: 'INT64', TINYINT: 'INT64', BYTEINT: 'INT64',
  FLOAT: 'FLOAT64', DOUBLE: 'FLOAT64', REAL: 'FLOAT64', BOOLEAN: 'BOOL', DECIMAL: 'NUMERIC', BIGDECIMAL: 'BIGNUMERIC',
  TEXT: 'STRING', VARCHAR: 'STRING', BINARY: 'BYTES', RECORD: 'STRUCT', TIMESTAMPTZ: 'TIMESTAMP',
}; // biome-ignore format: one list

/** A zod error map: clearer messages for some issues, with a line for each of several unknown keys. */
export function explainIssue(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === 'unrecognized_keys') {
    const object = issue.inst?._zod.def as Partial<z.core.$ZodObjectDef> | undefined; // what has no such key
    const known = Object.keys(object?.shape ?? {});
    return issue.keys.map(key => `is not a known key${didYouMean(key, known)}`).join('\n');
  }
  if (issue.code === 'invalid_type' && issue.input === undefined) return 'is missing';
  if (issue.code !== 'invalid_value') return undefined;
  const allowed = issue.values.map(String);
  if (issue.input === undefined) return `is missing; allowed: ${allowed.join(', ')}`;
  const given = String(issue.input);
  const alias = typeAliases[given.toUpperCase()];
  const meant = alias !== undefined && allowed.includes(alias) ? [alias] : allowed;
  const hint = meant === allowed ? didYouMean(given, allowed) : `; Did you mean ${alias}?`;
  return `is ${JSON.stringify(issue.input)}; allowed: ${allowed.join(', ')}${hint}`;
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
