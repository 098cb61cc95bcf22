import { open } from 'node:fs/promises';
import { systemClock } from './base/clock.ts';
import { GatewayError } from './base/errors.ts';
import { parseCommand, readAssignments, UsageError } from './commands/command-line.ts';
import { runDoctor } from './commands/doctor.ts';
import { invalidateFromCommand } from './commands/invalidate-from-command.ts';
import { runTokenCommand } from './commands/token-command.ts';
import { writeSchemas } from './commands/write-schemas.ts';
import { databasePath } from './composition/compose-engine.ts';
import { openTokenRecords } from './composition/compose-tokens.ts';
import { type Config, ConfigError, readConfig } from './composition/config.ts';
import { DatabaseBusyError } from './duckdb/database-busy-error.ts';
import { type ImportInput, importLogs } from './duckdb/import-logs.ts';
import { readSources } from './endpoints/sources.ts';

const usage = `Commands:
  npm run import -- <source> <file.ndjson | file.parquet | ->   load log rows; - is standard input, as NDJSON
  npm run token -- issue --name <who> [--help for more]         make a token; it is shown once
  npm run token -- list                                         show what was issued
  npm run token -- show | rotate | revoke <id>                  show one, give it a new secret, refuse it from now on
  npm run cache -- invalidate <endpoint> [--param <name>=<value>]... [--sql <text>]
                                                                make stored answers void, in all gateways over one Redis
  npm run doctor                                                say what is wrong with the set-up, and how to fix it
  npm run schema                                                write schema/schema.graphql and schema/openapi.json
`;

const commands: Record<string, (config: Config, args: string[]) => Promise<void>> = {
  import: importCommand,
  token: tokenCommand,
  cache: cacheCommand,
  doctor: doctorCommand,
  schema: config => writeSchemas(config.SQL_DIR, 'schema'),
};

try {
  const [name = '', ...args] = process.argv.slice(2);
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (!command)
    throw new UsageError(name === '' ? 'No command is given' : `No command is named ${JSON.stringify(name)}`);
  await command(readConfig(process.env), args);
} catch (error) {
  const isExpected = [UsageError, ConfigError, DatabaseBusyError, GatewayError].some(
    type => error instanceof type,
  );
  process.stderr.write(`${isExpected && error instanceof Error ? error.message : explain(error)}\n`);
  if (error instanceof UsageError) process.stderr.write(`\n${usage}`);
  process.exitCode = 1;
}

async function importCommand(config: Config, args: string[]): Promise<void> {
  const [source, file, ...rest] = args;
  const sources = readSources();
  if (source === undefined || file === undefined || rest.length > 0) {
    throw new UsageError('import takes a source and a file');
  }
  if (!sources.some(({ name }) => name === source)) {
    throw new UsageError(
      `No source is named ${JSON.stringify(source)}; allowed: ${sources.map(({ name }) => name).join(', ')}`,
    );
  }
  const say = (text: string) => process.stderr.write(text);
  const { imported, rejected, ignoredFields } = await importLogs({
    ...(await openInput(file)),
    databasePath: databasePath(config),
    sources,
    source,
    onProgress: rows => say(process.stderr.isTTY ? `\r${rows.toLocaleString('en')} rows read` : ''),
    onBadLine: (line, reason) => say(`\nline ${line} is left out: ${reason}\n`),
  });
  for (const field of ignoredFields) say(`\nfield ${field} is not in ${source} and was ignored`);
  process.stdout.write(`\n${imported} rows imported into ${source}, ${rejected} left out\n`);
}

async function openInput(file: string): Promise<ImportInput> {
  if (file === '-') return { format: 'ndjson', input: process.stdin };
  const handle = await open(file);
  if (!file.endsWith('.parquet')) return { format: 'ndjson', input: handle.createReadStream() };
  await handle.close();
  return { format: 'parquet', file };
}

async function tokenCommand(config: Config, args: string[]): Promise<void> {
  await runTokenCommand(
    {
      records: openTokenRecords(config),
      clock: systemClock,
      print: line => process.stdout.write(`${line}\n`),
      note: line => process.stderr.write(`${line}\n`),
    },
    args,
  );
}

async function cacheCommand(config: Config, args: string[]): Promise<void> {
  const options = { param: { type: 'string', multiple: true }, sql: { type: 'string' } } as const;
  const { values, positionals } = parseCommand(args, options);
  const [action, endpoint, ...rest] = positionals;
  if (action !== 'invalidate' || endpoint === undefined || rest.length > 0) {
    throw new UsageError('cache takes invalidate and the name or UUID of an endpoint');
  }
  const isOneEntry = values.param !== undefined || values.sql !== undefined;
  const parameters = { ...readAssignments(values.param ?? []), ...(values.sql && { sql: values.sql }) };
  const scope = await invalidateFromCommand(config, endpoint, isOneEntry ? parameters : undefined);
  process.stdout.write(
    scope === 'entry'
      ? `One entry of ${endpoint} is invalidated\n`
      : `All entries of ${endpoint} are invalidated\n`,
  );
}

async function doctorCommand(config: Config): Promise<void> {
  const print = (line: string) => process.stdout.write(`${line}\n`);
  if (!(await runDoctor(config, { clock: systemClock, print }))) process.exitCode = 1;
}

function explain(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException; // every field may be missing, and then is not shown
  // The system's and DuckDB's own words about a file say enough.
  if (code !== undefined || /^(?:IO|Invalid Input) Error: /.test(message)) return message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
