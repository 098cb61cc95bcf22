import { once } from 'node:events';
import { systemClock } from '../base/clock.ts';
import { GatewayError } from '../base/errors.ts';
import { didYouMean } from '../base/nearest-name.ts';
import { SetupError } from '../base/setup-error.ts';
import { type Config, ConfigError, readConfig } from '../composition/config.ts';
import { DatabaseBusyError } from '../duckdb/data-folder/database-busy-error.ts';
import { UnreadableFileError } from '../duckdb/files/unreadable-file-error.ts';
import { parseCommand, UsageError } from './command-line.ts';
import { printableLines } from './printable.ts';

/** A command, and its line in `--help`. */
type Command = {
  readonly usage: string;
  /** Whether it answers `--help` itself. */
  readonly helpsItself?: boolean;
  /** Whether it takes no arguments. */
  readonly isAlone?: boolean;
  readonly run: (context: Context, args: string[]) => Promise<void>;
};

type Context = {
  readonly environment: NodeJS.ProcessEnv;
  /** @throws ConfigError */
  readonly config: () => Config;
};

/** Each command loads only the modules it needs: loading the whole service takes half a second. */
const commands: Record<string, Command> = {
  query: {
    usage: `query <endpoint> [--<parameter> <value>]... [--sql <text>] [--format table|chart|json|ndjson|csv|parquet|arrow]
      [--watch] [--every <seconds>] [--profile <name>] [--url <gateway>] [--token <token>]
                                      ask a gateway, or without --url the engine itself; print the rows`,
    run: ({ environment }, args) => queryCommand(environment, args),
  },
  mcp: {
    usage: `mcp [--profile <name>] [--url <gateway>] [--token <token>]
                                      pass an agent's messages from standard input to a gateway`,
    run: async ({ environment }, args) => {
      const { runMcpCommand } = await import('./client/mcp-command.ts');
      const text = { type: 'string' } as const;
      const { values, positionals } = parseCommand(args, { url: text, token: text, profile: text });
      refuseWords('mcp', positionals);
      await runMcpCommand(environment, values);
    },
  },
  start: {
    isAlone: true,
    usage: 'start                                 run the gateway',
    run: async ({ environment }) => (await import('./run-script.ts')).runScript('start', environment),
  },
  worker: {
    isAlone: true,
    usage: 'worker                                run a worker that warms the cache in Redis',
    run: async ({ environment }) => (await import('./run-script.ts')).runScript('worker', environment),
  },
  endpoint: {
    usage: 'endpoint new | lint | test | explain  write, check, test and explain saved queries',
    helpsItself: true,
    run: ({ config }, args) => endpointCommand(config(), args),
  },
  source: {
    usage: 'source add | list | check | drop      add sources by their files, list, check and remove them',
    helpsItself: true,
    run: ({ config }, args) => sourceCommand(config(), args),
  },
  token: {
    usage: `token issue --name <who> [options]    make a token; it is shown once
  token list                            show what was issued
  token show | rotate | revoke <id>     show one, give it a new secret, refuse it from now on
  token allow <id>                      take back the refusal`,
    helpsItself: true,
    run: ({ config }, args) => tokenCommand(config(), args),
  },
  import: {
    usage: 'import <source> <file | ->            load rows: NDJSON, JSON, CSV, Parquet, compressed or not',
    helpsItself: true,
    run: ({ config }, args) => importCommand(config(), args),
  },
  backup: {
    usage: `backup <folder>                       copy the rows of the embedded engine, while gateways run
  backup restore <folder>               put such a copy into an empty DATA_DIR`,
    helpsItself: true,
    run: async ({ config }, args) => (await import('./backup-command.ts')).runBackupCommand(config(), args),
  },
  cache: {
    usage: `cache invalidate <endpoint> [--param <name>=<value>]... [--sql <text>]
                                      invalidate stored answers, in all gateways over one Redis`,
    run: async ({ config }, args) => (await import('./cache-command.ts')).runCacheCommand(config(), args),
  },
  doctor: {
    usage: 'doctor [--json]                       print what is wrong with the set-up, and how to fix it',
    run: ({ config }, args) => doctorCommand(config(), args),
  },
  operations: {
    usage: 'operations <folder> [<file>]          list GraphQL documents, for GRAPHQL_OPERATIONS_FILE',
    run: ({ config }, args) => operationsCommand(config(), args),
  },
  schema: {
    isAlone: true,
    usage: 'schema                                write schema/schema.graphql and schema/openapi.json',
    run: async ({ config }) => (await import('./write-schemas.ts')).writeSchemas(config().SQL_DIR, 'schema'),
  },
  completion: {
    usage: 'completion bash | zsh | fish          print what completes these commands in a shell',
    run: async (_context, [shell, ...rest]) => {
      const { completionScript } = await import('./completion.ts');
      const script = completionScript(shell, Object.keys(commands));
      if (rest.length > 0)
        throw new UsageError(`completion takes a shell, but got ${JSON.stringify(rest[0])} too`);
      process.stdout.write(script);
    },
  },
};

const usageOf = ({ usage }: Command) => `  ${usage}`;

const usage =
  () => `sqg <command>, by npx sqg or node src/cli.ts; most are npm scripts too: npm run token -- issue --name <who>

${Object.values(commands).map(usageOf).join('\n')}

sqg --help shows this, sqg <command> --help says more. Settings are environment variables; a file .env is read too, and what is set already wins.
Exit codes: 0 done, 1 it failed, 2 it was not typed as it is above.
`;

const briefUsage = (command: Command) => `${usageOf(command)}\n\nsqg --help lists all commands.\n`;

/** The text for a missing or unknown command: the list of commands, or the one that was probably meant. */
function usageAfter(name: string, command: Command | undefined): string {
  if (command) return briefUsage(command);
  return name === '' ? usage() : 'sqg --help lists all commands.\n';
}

/** @param at position of the word; a bare `help` after the first may be the value of an option */
const isHelp = (word: string | undefined, at: number) =>
  word === '--help' || word === '-h' || (word === 'help' && at === 0);

const asksForHelp = (words: readonly string[]) => words.some(isHelp);

/**
 * Runs one command to its end. A failure is explained on standard error, with exit code 1, or 2 for wrong usage.
 * @param args the name of the command, then its arguments
 */
export async function runCommand(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<void> {
  const [name = '', ...rest] = args;
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  // A command is not ended half-way because its reader, such as `head`, has left.
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', error => {
      if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
    });
  }
  try {
    if (isHelp(name, 0)) return void process.stdout.write(usage());
    if (!command) {
      const near = didYouMean(name, Object.keys(commands));
      throw new UsageError(
        name === '' ? 'No command is given' : `No command is named ${JSON.stringify(name)}${near}`,
      );
    }
    const isAskedForHelp = asksForHelp(rest);
    if (isAskedForHelp && !command.helpsItself) return void process.stdout.write(`${usageOf(command)}\n`);
    if (command.isAlone) refuseWords(name, rest);
    const args = rest.map((word, at) => (isAskedForHelp && isHelp(word, at) ? '--help' : word));
    // Help must work even with wrong settings.
    const config = () => readConfig(isAskedForHelp ? {} : environment);
    await command.run({ environment, config }, args);
  } catch (error) {
    // An AggregateError has the problems of several broken files.
    const isExpected = [
      UsageError,
      ConfigError,
      DatabaseBusyError,
      GatewayError,
      AggregateError,
      UnreadableFileError,
      SetupError,
    ].some(type => error instanceof type);
    const message = isExpected && error instanceof Error ? error.message : explain(error);
    // It may quote rows or files with text from strangers.
    process.stderr.write(`${printableLines(message)}\n`);
    if (error instanceof UsageError) process.stderr.write(`\n${usageAfter(name, command)}`);
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}

/** @throws UsageError */
function refuseWords(command: string, [word]: readonly string[]): void {
  if (word !== undefined) throw new UsageError(`${command} takes nothing, but got ${JSON.stringify(word)}`);
}

/** Writes to standard output; resolves when the reader has made room. */
async function writeOut(text: string | Uint8Array): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

const print = (line: string) => process.stdout.write(`${line}\n`);

async function queryCommand(environment: NodeJS.ProcessEnv, args: string[]): Promise<void> {
  const { runQueryCommand } = await import('./client/query-command.ts');
  const ended = new AbortController();
  let isInterrupted = false;
  process.once('SIGINT', () => {
    isInterrupted = true;
    ended.abort();
  });
  // The reader, such as `head`, has left: no more output is needed.
  process.stdout.once('error', () => ended.abort());
  const { isTTY, columns } = process.stdout;
  // no-color.org: any value but the empty one.
  const hasColour = !environment.NO_COLOR && environment.TERM !== 'dumb';
  const isDone = await runQueryCommand(
    {
      environment,
      out: { write: writeOut },
      note: line => process.stderr.write(`${line}\n`),
      // Some terminals report 0 columns.
      screen: isTTY ? { width: columns || 80, hasColour } : undefined,
      signal: ended.signal,
    },
    args,
  );
  // A shell ends its own loop only if the command was ended by the signal.
  if (isInterrupted && !isDone) process.kill(process.pid, 'SIGINT');
}

async function importCommand(config: Config, args: string[]): Promise<void> {
  const [{ runImportCommand }, { lowerPriority }] = await Promise.all([
    import('./import-command.ts'),
    import('../base/lower-priority.ts'),
  ]);
  // Gateways may serve on the same processors.
  lowerPriority(process.pid);
  if (!(await runImportCommand(config, args))) process.exitCode = 1;
}

async function tokenCommand(config: Config, args: string[]): Promise<void> {
  const [{ runTokenCommand }, { openCommandTokens }, { readDefinitions }] = await Promise.all([
    import('./token-command.ts'),
    import('../composition/compose-tokens.ts'),
    import('../endpoints/registry.ts'),
  ]);
  const note = (line: string) => process.stderr.write(`${line}\n`);
  const savedQueries = () =>
    readDefinitions(config.SQL_DIR).then(
      all => all.map(({ name }) => name),
      () => undefined, // `lint` says what is wrong
    );
  const { records, lastUses, close } = await openCommandTokens(config);
  try {
    await runTokenCommand({ records, lastUses, savedQueries, clock: systemClock, print, note }, args);
  } finally {
    close();
  }
}

async function operationsCommand(config: Config, args: string[]): Promise<void> {
  const [folder, file = 'operations.json', ...rest] = parseCommand(args, {}).positionals;
  if (folder === undefined || rest.length > 0) throw new UsageError('operations takes a folder and a file');
  const { writeOperations } = await import('./write-operations.ts');
  print(`${await writeOperations(config.SQL_DIR, folder, file)} documents are listed in ${file}`);
}

async function doctorCommand(config: Config, args: string[]): Promise<void> {
  const { values, positionals } = parseCommand(args, { json: { type: 'boolean' } });
  refuseWords('doctor', positionals);
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
  const { code, message, cause, path } = error as NodeJS.ErrnoException; // each field may be missing
  // Messages of the system and of DuckDB about a file need no stack.
  // Of the system: `ENOENT: no such file or directory, open 'rows.csv'`.
  const [, why] = /^E[A-Z]+: (.*?), \w+ '/.exec(message) ?? [];
  if (path !== undefined && why !== undefined) return `${path}: ${why}`;
  if (code !== undefined || (cause as NodeJS.ErrnoException | undefined)?.code !== undefined) return message;
  if (/^(?:IO|Invalid Input) Error: /.test(message)) return message;
  if (error instanceof Error && error.name === 'DefinitionError') return message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
