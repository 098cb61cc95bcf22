import { systemClock } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { type Config, ConfigError, readConfig } from '../composition/config.ts';
import { DatabaseBusyError } from '../duckdb/database-busy-error.ts';
import { parseCommand, UsageError } from './command-line.ts';

const usage = `Commands:
  npm run import -- <source> <file | -> [--help for more]       load rows: NDJSON, JSON, CSV, Parquet, compressed or not
  npm run token -- issue --name <who> [--help for more]         make a token; it is shown once
  npm run token -- list                                         show what was issued
  npm run token -- show | rotate | revoke <id>                  show one, give it a new secret, refuse it from now on
  npm run cache -- invalidate <endpoint> [--param <name>=<value>]... [--sql <text>]
                                                                invalidate stored answers, in all gateways over one Redis
  npm run operations -- <folder> [<file>]                       list GraphQL documents, for GRAPHQL_OPERATIONS_FILE
  npm run doctor [-- --json]                                    print what is wrong with the set-up, and how to fix it
  npm run source -- add | list | check | drop [--help for more]
                                                                add sources by their files, list, check and remove them
  npm run endpoint -- new | lint | test | explain [--help for more]
                                                                write, check, test and explain saved queries
  npm run schema                                                write schema/schema.graphql and schema/openapi.json
`;

/** Each command loads only what it needs: loading all of the service takes half a second. */
const commands: Record<string, (config: Config, args: string[]) => Promise<void>> = {
  import: importCommand,
  token: tokenCommand,
  cache: async (config, args) => (await import('./cache-command.ts')).runCacheCommand(config, args),
  doctor: doctorCommand,
  operations: operationsCommand,
  source: sourceCommand,
  endpoint: endpointCommand,
  schema: async config => (await import('./write-schemas.ts')).writeSchemas(config.SQL_DIR, 'schema'),
};

/**
 * Runs one command to its end. A failure is explained on standard error, with exit code 1.
 * @param args the name of the command, and what follows it
 */
export async function runCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  try {
    const [name = '', ...rest] = args;
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (!command) {
      throw new UsageError(
        name === '' ? 'No command is given' : `No command is named ${JSON.stringify(name)}`,
      );
    }
    await command(readConfig(environment), rest);
  } catch (error) {
    // Of broken files there may be several.
    const isExpected = [UsageError, ConfigError, DatabaseBusyError, GatewayError, AggregateError].some(
      type => error instanceof type,
    );
    process.stderr.write(`${isExpected && error instanceof Error ? error.message : explain(error)}\n`);
    if (error instanceof UsageError) process.stderr.write(`\n${usage}`);
    process.exitCode = 1;
  }
}

const print = (line: string) => process.stdout.write(`${line}\n`);

async function importCommand(config: Config, args: string[]): Promise<void> {
  const { runImportCommand } = await import('./import-command.ts');
  if (!(await runImportCommand(config, args))) process.exitCode = 1;
}

async function tokenCommand(config: Config, args: string[]): Promise<void> {
  const [{ runTokenCommand }, { openCommandTokens }] = await Promise.all([
    import('./token-command.ts'),
    import('../composition/compose-tokens.ts'),
  ]);
  const note = (line: string) => process.stderr.write(`${line}\n`);
  const { records, lastUses, close } = await openCommandTokens(config);
  try {
    await runTokenCommand({ records, lastUses, clock: systemClock, print, note }, args);
  } finally {
    close();
  }
}

async function operationsCommand(config: Config, args: string[]): Promise<void> {
  const [folder, file = 'operations.json', ...rest] = args;
  if (folder === undefined || rest.length > 0) throw new UsageError('operations takes a folder and a file');
  const { writeOperations } = await import('./write-operations.ts');
  print(`${await writeOperations(config.SQL_DIR, folder, file)} documents are listed in ${file}`);
}

async function doctorCommand(config: Config, args: string[]): Promise<void> {
  const { values } = parseCommand(args, { json: { type: 'boolean' } });
  const { runDoctor } = await import('./doctor.ts');
  if (!(await runDoctor(config, { clock: systemClock, print, json: values.json }))) process.exitCode = 1;
}

async function sourceCommand(config: Config, args: string[]): Promise<void> {
  const { runSourceCommand } = await import('./source-command.ts');
  if (!(await runSourceCommand(config, print, args))) process.exitCode = 1;
}

async function endpointCommand(config: Config, args: string[]): Promise<void> {
  const { runEndpointCommand } = await import('./endpoint-command.ts');
  if (!(await runEndpointCommand(config, { clock: systemClock, print }, args))) process.exitCode = 1;
}

function explain(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException; // each field may be missing
  // Messages of the system and of DuckDB about a file need no stack.
  if (code !== undefined || /^(?:IO|Invalid Input) Error: /.test(message)) return message;
  if (error instanceof Error && error.name === 'DefinitionError') return message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
