import { open } from 'node:fs/promises';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { issueToken, readTokens, revokeToken, type Scope, scopes } from './auth/token-file.ts';
import { systemClock } from './base/clock.ts';
import { GatewayError } from './base/errors.ts';
import { runDoctor } from './commands/doctor.ts';
import { invalidateFromCommand } from './commands/invalidate-from-command.ts';
import { writeSchemas } from './commands/write-schemas.ts';
import { databasePath } from './composition/compose-engine.ts';
import { type Config, ConfigError, readConfig } from './composition/config.ts';
import { tokensFile } from './composition/prepare-data.ts';
import { DatabaseBusyError } from './duckdb/database-busy-error.ts';
import { type ImportInput, importLogs } from './duckdb/import-logs.ts';
import { readSources } from './endpoints/sources.ts';

const usage = `Commands:
  npm run import -- <source> <file.ndjson | file.parquet | ->   load log rows; - is standard input, as NDJSON
  npm run token -- issue --name <who> [--expires <date>] [--scope <scope>]... [--max-bytes-billed <bytes>]
                                                                make a token; it is shown once. Scopes: ${scopes.join(', ')}
  npm run token -- list                                         show what was issued
  npm run token -- revoke <id>                                  refuse a token from now on
  npm run cache -- invalidate <endpoint> [--param <name>=<value>]... [--sql <text>]
                                                                make stored answers void, in all gateways over one Redis
  npm run doctor                                                say what is wrong with the set-up, and how to fix it
  npm run schema                                                write schema/schema.graphql and schema/openapi.json
`;

/** A command that can't be carried out as it was typed. */
class UsageError extends Error {}

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
  const { values, positionals } = parseTokenArgs(args);
  const file = tokensFile(config);
  const [action, id] = positionals;
  switch (action) {
    case 'issue': {
      if (!values.name) throw new UsageError('token issue needs --name <who>');
      const token = await issueToken({
        file,
        name: values.name,
        scopes: readScopes(values.scope ?? []),
        maxBytesBilled: readBytes(values['max-bytes-billed']),
        expiresAt: readDate(values.expires),
        clock: systemClock,
      });
      process.stdout.write(`${token}\n`);
      process.stderr.write(`Keep it: only its hash is stored, in ${file}.\n`);
      return;
    }
    case 'list':
      for (const record of await readTokens(file)) {
        const { id: tokenId, name, scopes, createdAt, expiresAt, revokedAt, maxBytesBilled } = record;
        const state = revokedAt
          ? `revoked ${revokedAt}`
          : expiresAt
            ? `expires ${expiresAt}`
            : 'does not expire';
        const may = scopes.length > 0 ? `  may ${scopes.join(', ')}` : '';
        const limit = maxBytesBilled === undefined ? '' : `  at most ${maxBytesBilled} bytes a query`;
        process.stdout.write(`sqg_${tokenId}  issued ${createdAt}  ${state}  ${name}${may}${limit}\n`);
      }
      return;
    case 'revoke': {
      if (!id) throw new UsageError('token revoke needs the id of a token');
      const wasThere = await revokeToken({ file, id: id.replace(/^sqg_/, ''), clock: systemClock });
      if (!wasThere) throw new UsageError(`No token has the id ${JSON.stringify(id)}`);
      process.stdout.write(`${id} is revoked\n`);
      return;
    }
    default:
      throw new UsageError('token takes issue, list or revoke');
  }
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

function readAssignments(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map(text => {
      const at = text.indexOf('=');
      if (at < 1) throw new UsageError(`--param is ${JSON.stringify(text)}; allowed: <name>=<value>`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

function parseTokenArgs(args: string[]) {
  return parseCommand(args, {
    name: { type: 'string' },
    expires: { type: 'string' },
    scope: { type: 'string', multiple: true },
    'max-bytes-billed': { type: 'string' },
  } as const);
}

function parseCommand<const Options extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: Options,
) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function readScopes(texts: readonly string[]): Scope[] {
  return texts.map(text => {
    const scope = scopes.find(known => known === text);
    if (scope) return scope;
    throw new UsageError(`--scope is ${JSON.stringify(text)}; allowed: ${scopes.join(', ')}`);
  });
}

function readBytes(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new UsageError(
    `--max-bytes-billed is ${JSON.stringify(text)}; allowed: a number of bytes, 1 or more`,
  );
}

function readDate(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const date = new Date(text);
  if (Number.isNaN(date.getTime()))
    throw new UsageError(`--expires is ${JSON.stringify(text)}; allowed: a date such as 2027-01-31`);
  return date.toISOString();
}

function explain(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException; // every field may be missing, and then is not shown
  // The system's and DuckDB's own words about a file say enough.
  if (code !== undefined || /^(?:IO|Invalid Input) Error: /.test(message)) return message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
