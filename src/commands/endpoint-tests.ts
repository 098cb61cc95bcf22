import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Clock } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { parseExactJson } from '../base/json.ts';
import { parseTimestamp } from '../base/parse-timestamp.ts';
import type { Column, ResultSet } from '../base/rows.ts';
import { statementOf } from '../batch/run-queries.ts';
import { databasePath, openEngine } from '../composition/compose-engine.ts';
import type { Config } from '../composition/config.ts';
import { openForWriting } from '../duckdb/database.ts';
import { UnreadableFileError } from '../duckdb/files/unreadable-file-error.ts';
import { importLogs } from '../duckdb/import-logs.ts';
import { checkDefinition } from '../endpoints/check-definition.ts';
import type { EndpointDefinition } from '../endpoints/definition.ts';
import {
  batchFile,
  DefinitionError,
  explainIssue,
  parseDefinition,
  problemsOf,
  readYaml,
} from '../endpoints/parse-definition.ts';
import { readSourceFolder } from '../endpoints/sources.ts';
import type { Engine } from '../engine/engine.ts';
import { bindQuery } from '../pipeline/bind-parameters.ts';
import { refuseUnknown, UsageError } from './command-line.ts';

const row = z.record(z.string(), z.unknown());

const moment = z.string().refine(text => parseTimestamp(text) !== undefined, 'must be an ISO 8601 timestamp');

const testSchema = z
  .strictObject({
    name: z.string().min(1),
    /** The time of the clock. */
    now: moment.optional(),
    parameters: row.default({}),
    /** A caller's own SQL. */
    sql: z.string().optional(),
    /** The expected rows, in order; columns that a row omits are not compared. */
    expect: z.array(row).optional(),
    /** Text that the error message must contain. */
    error: z.string().min(1).optional(),
  })
  .refine(({ expect, error }) => (expect === undefined) !== (error === undefined), {
    message: 'must have either `expect` or `error`',
  });

const fileSchema = z.strictObject({
  now: moment.default('2026-01-15T12:00:00Z'),
  /** Rows by source. */
  given: z.record(z.string(), z.array(row)).default({}),
  tests: z.array(testSchema).min(1),
});

type TestCase = z.infer<typeof testSchema>;

/** The outcome of one test; without a `problem` it passed. */
type TestOutcome = { readonly endpoint: string; readonly name: string; readonly problem?: string };

const testFile = /\.test\.yaml$/;

/**
 * Runs the tests of saved queries, `<name>.test.yaml` beside `<name>.sql`, on the embedded engine: each file over its own database
 * with only the given rows.
 * @param names default: all with tests
 * @throws DefinitionError for a broken file of tests; UsageError for a name without tests; UnreadableFileError for rows that do not fit their source
 */
export async function testEndpoints(config: Config, names: readonly string[]): Promise<TestOutcome[]> {
  const files = (await readdir(config.SQL_DIR)).filter(file => testFile.test(file)).sort();
  const all = files.map(file => file.replace(testFile, ''));
  const missing = names.filter(name => !all.includes(name));
  if (missing.length > 0) throw new UsageError(`No file ${missing[0]}.test.yaml is in ${config.SQL_DIR}`);
  const outcomes: TestOutcome[] = [];
  for (const name of names.length > 0 ? names : all) outcomes.push(...(await testEndpoint(config, name)));
  return outcomes;
}

async function testEndpoint(config: Config, name: string): Promise<TestOutcome[]> {
  const { now, given, tests } = readTests(
    `${name}.test.yaml`,
    await readFile(join(config.SQL_DIR, `${name}.test.yaml`), 'utf8'),
  );
  const definition = await readDefinition(config.SQL_DIR, name);
  const directory = await mkdtemp(join(tmpdir(), 'endpoint-test-'));
  let nowMs = 0;
  const clock: Clock = { now: () => nowMs };
  try {
    const own: Config = { ...config, ENGINE: 'duckdb', DATA_DIR: directory };
    await load(own, given);
    const engine = await openEngine(own, { clock, emit: () => undefined });
    try {
      await checkDefinition(engine, definition);
      const outcomes: TestOutcome[] = [];
      for (const each of tests) {
        nowMs = Number(parseTimestamp(each.now ?? now)! / 1000n);
        const problem = await problemIn(engine, definition, each);
        outcomes.push({ endpoint: name, name: each.name, ...(problem === undefined ? {} : { problem }) });
      }
      return outcomes;
    } finally {
      await engine.close();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function readTests(file: string, text: string): z.infer<typeof fileSchema> {
  const { document, lines } = readYaml(file, text, { intAsBigInt: true });
  const read = fileSchema.safeParse(exactly(document.toJS()), { error: explainIssue });
  if (read.success) return read.data;
  throw new DefinitionError(
    file,
    read.error.issues.flatMap(issue => problemsOf(issue, document, lines)),
  );
}

/** The same value with integers in the form of `parseExactJson`: numbers, or beyond 2^53 all their digits. */
function exactly(value: unknown): unknown {
  if (typeof value === 'bigint') return parseExactJson(String(value));
  if (Array.isArray(value)) return value.map(exactly);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, exactly(inner)]));
}

async function readDefinition(directory: string, name: string): Promise<EndpointDefinition> {
  const file = `${name}.sql`;
  const batchSql = await readFile(join(directory, batchFile(file)), 'utf8').catch(() => undefined);
  return parseDefinition(file, await readFile(join(directory, file), 'utf8'), batchSql);
}

/** Makes the tables of all sources, and loads the given rows. */
async function load(config: Config, given: z.infer<typeof fileSchema>['given']): Promise<void> {
  const { sources } = readSourceFolder(config.SOURCES_DIR);
  (await openForWriting(databasePath(config), sources)).close();
  for (const [source, list] of Object.entries(given)) {
    const input = Readable.from(list.map(each => `${JSON.stringify(each)}\n`));
    const problems: string[] = [];
    const onBadLine = (line: number, reason: string) =>
      problems.push(`given.${source}: row ${line}: ${reason}`);
    const { ignoredFields } = await importLogs({
      databasePath: databasePath(config),
      sources,
      source,
      input,
      onBadLine,
    });
    problems.push(...ignoredFields.map(field => `given.${source}: the source has no field ${field}`));
    if (problems.length > 0) throw new UnreadableFileError(problems.join('\n'));
  }
}

async function problemIn(
  engine: Engine,
  definition: EndpointDefinition,
  { parameters, sql, expect, error }: TestCase,
): Promise<string | undefined> {
  try {
    // Over HTTP it is ignored, and the test would say nothing about it.
    refuseUnknown(definition, Object.keys(parameters));
    // In the form of a caller's body.
    const sent = JSON.parse(JSON.stringify(parameters));
    const query = bindQuery(definition, { ...sent, sql }, undefined);
    const result = await engine.run(statementOf(query), {
      signal: new AbortController().signal,
      timeoutMs: 30_000,
    });
    if (error !== undefined)
      return `gave ${result.rowCount} rows; expected an error with ${JSON.stringify(error)}`;
    return differenceOf(result, expect ?? []);
  } catch (thrown) {
    if (thrown instanceof UsageError) return thrown.message;
    if (!(thrown instanceof GatewayError)) throw thrown;
    if (error !== undefined && thrown.message.includes(error)) return undefined;
    return `failed with ${JSON.stringify(thrown.message)}`;
  }
}

/** The first difference between the rows of a result and the expected ones. */
function differenceOf(
  { columns, rowsJson }: ResultSet,
  expected: readonly Record<string, unknown>[],
): string | undefined {
  const rows = parseExactJson(rowsJson.toString()) as Record<string, unknown>[]; // our engine renders objects
  for (const [at, wanted] of expected.entries()) {
    const found = rows[at];
    if (!found) break;
    for (const [name, value] of Object.entries(wanted)) {
      const column = columns.find(own => own.name === name);
      if (column && isSame(column, found[name], wireForm(column, value))) continue;
      return `row ${at + 1}: ${name} is ${JSON.stringify(found[name])}; expected ${JSON.stringify(value)}`;
    }
  }
  if (rows.length === expected.length) return undefined;
  return `gave ${rows.length} rows; expected ${expected.length}`;
}

/** Whether two values are equal; a FLOAT64 has many spellings, and two zeros. */
function isSame({ type }: Column, found: unknown, wanted: unknown): boolean {
  const asFloat = (value: unknown) => JSON.parse(JSON.stringify(value ?? null));
  return (
    isDeepStrictEqual(found, wanted) ||
    (type === 'FLOAT64' && isDeepStrictEqual(asFloat(found), asFloat(wanted)))
  );
}

/** A TIMESTAMP may be written as text. */
function wireForm({ type, mode }: Column, value: unknown): unknown {
  const micros =
    type === 'TIMESTAMP' && mode !== 'REPEATED' && typeof value === 'string' && parseTimestamp(value);
  return typeof micros === 'bigint' ? parseExactJson(String(micros)) : value;
}
