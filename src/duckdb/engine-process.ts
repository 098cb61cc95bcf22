import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { availableParallelism } from 'node:os';
import { setTimeout as delay, setImmediate } from 'node:timers/promises';
import {
  type DuckDBConnection,
  DuckDBInstance,
  type DuckDBPreparedStatement,
  DuckDBTimestampTZValue,
  LIST,
  StatementType,
  VARCHAR,
} from '@duckdb/node-api';
import { messageOf } from '../base/errors.ts';
import { bodyClosing, bodyOpening } from '../base/rows.ts';
import { resultTooLarge } from '../engine/result-too-large.ts';
import { finishRow } from '../googlesql/printer/finish-row.ts';
import { quoteText } from '../googlesql/tree/quote-text.ts';
import { isHeldElsewhere, readCatalog } from './database.ts';
import type {
  BoundValue,
  Catalog,
  EngineArguments,
  EngineCommand,
  EngineReport,
  EngineStatement,
} from './engine-protocol.ts';
import { foldersOf, makeSourceViews, type SourceViews } from './files/source-views.ts';
import { type KeptMemory, watchKeptMemory } from './kept-memory.ts';
import { declaredTypes } from './layout.ts';
import { materializeLate, prepareConnection } from './prepare-connection.ts';
import { readCurrent, readCurrentAsync, replicasOf } from './replicas.ts';
import { createStatements, type Statements } from './statements.ts';

/**
 * A process that reads the database. It runs one statement at a time, and can be killed at any moment: the file is attached
 * read-only, and no run leaves anything to the next one.
 */

const settings: EngineArguments = JSON.parse(process.argv[2] ?? '');

type Run = { readonly id: number; interrupting?: NodeJS.Timeout };
let current: Run | undefined;

/** Whether the first run could begin. */
let isReady = false;

/** Characters after which a part of a result is sent. */
const partLength = 1024 * 1024;

/** Milliseconds to wait for a writer of the only existing file: another starting gateway may be extending the sample rows. */
const writerTimeoutMs = 10_000;

/** Name of the database in DuckDB; the instance itself is an empty one in memory. */
const attachedName = 'data';

/** SQL of a digest of the names and types of all columns of the attached file, and of the number of rows of its longest table. */
const columnsSql = `SELECT md5(string_agg(concat_ws(' ', table_name, column_name, data_type), ',' ORDER BY table_name, column_index)),
  (SELECT max(estimated_size) FROM duckdb_tables() WHERE database_name = '${attachedName}')
  FROM duckdb_columns() WHERE database_name = '${attachedName}'`;

/** Milliseconds without a run after which free memory is released. */
const restMs = 1000;

/** Milliseconds between two checks which file is current. */
const followMs = 200;

await open();

async function open(): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:', {
    memory_limit: `${settings.memoryLimitMb}MB`,
    temp_directory: settings.spillDirectory,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    default_null_order: 'nulls_first_on_asc_last_on_desc',
  });
  const connection = await instance.connect();
  await prepareConnection(connection, settings.macros);
  const { sources } = settings;
  const files = replicasOf(settings.databasePath).flatMap(path => [path, `${path}.wal`]);
  await connection.run(`SET GLOBAL allowed_paths = [${files.map(quoteText).join(', ')}]`);
  await connection.run(`SET GLOBAL allowed_directories = [${foldersOf(sources).map(quoteText).join(', ')}]`);
  const views = await makeSourceViews(connection, sources);
  // As an option of opening the database it would be shown, but not enforced.
  await connection.run(`SET GLOBAL max_temp_directory_size = '${settings.spillLimitMb}MB'`);
  const statements = createStatements(connection);
  const reader = createReader(connection, views, statements);
  await reader.follow();
  await connection.run(`SET search_path = 'memory.main,${attachedName}.main'`);
  await connection.run("SET GLOBAL allowed_configs = ['threads', 'late_materialization_max_rows']");
  // From here on no statement can open another file, load code or undo these settings.
  await connection.run('SET GLOBAL enable_external_access = false');
  await connection.run('SET GLOBAL lock_configuration = true');

  // The files of a source that is read in place are found when a statement is prepared.
  const prepareNext = () => {
    if (!current && views.tables.length === 0) statements.prepareNext();
  };
  const residentBytes = process.memoryUsage.rss;
  const memory = watchKeptMemory({
    maxBytes: settings.keptLimitMb * 1024 * 1024,
    residentBytes,
    blockBytes: () => blockBytes(connection),
    release: () => releaseMemory(connection),
  });
  const work: Work = { connection, reader, statements, memory };
  const restLater = createRests(memory);
  process.on('message', (command: EngineCommand) => {
    if (command.type === 'run') void run(work, command).then(prepareNext).then(restLater);
    else interrupt(connection, command.id);
  });
  // The gateway is gone. A normal exit would wait for running queries.
  process.on('disconnect', () => {
    rmSync(settings.spillDirectory, { recursive: true, force: true });
    process.kill(process.pid, 'SIGKILL');
  });
  setInterval(() => {
    if (residentBytes() > settings.residentLimitMb * 1024 * 1024) report({ type: 'out of memory' });
  }, 100);
  setInterval(() => report({ type: 'alive' }), settings.aliveMs);
  // A writer waits until all readers have closed the file that is no longer current.
  setInterval(() => {
    if (!current) reader.follow().catch(fail);
  }, followMs);
  isReady = true;
  report({ type: 'ready', catalog: reader.catalog });
  // Saved now: the process ends by being killed, and could not save it then.
  flushCompileCache();
}

/** Makes a function that has the process rest a second after its last call, unless a run has begun by then. */
function createRests(memory: KeptMemory): () => void {
  let timer: NodeJS.Timeout | undefined;
  const rest = async () => {
    if (current) return;
    // The interrupt of a run that starts meanwhile may hit this; what is kept then is released another time.
    const isMuch = await memory.rest().catch(() => false);
    if (isMuch && !current) report({ type: 'worn' });
  };
  return () => {
    clearTimeout(timer);
    timer = setTimeout(rest, restMs);
  };
}

/** Ends the process with a reason. */
function fail(error: unknown): void {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exit(1);
}

type Reader = {
  /** The tables of the attached file. */
  readonly catalog: Catalog;
  /** Attaches the current file, if another one is attached. */
  follow(): Promise<void>;
  /** The same for a run, whose answer waits for it: which file is current is read without the thread pool. */
  followAtOnce(): Promise<void>;
};

function createReader(connection: DuckDBConnection, views: SourceViews, statements: Statements): Reader {
  const { databasePath, sources } = settings;
  let attached: string | undefined;
  let columns: unknown;
  let catalog: Catalog = { version: '', tables: [], problems: views.problems };
  let following = Promise.resolve();

  async function follow(): Promise<void> {
    const giveUpMs = performance.now() + writerTimeoutMs;
    for (;;) {
      const next = await readCurrentAsync(databasePath);
      if (next.version === attached) return;
      await statements.drop();
      if (attached !== undefined) await connection.run(`DETACH ${attachedName}`);
      attached = undefined;
      try {
        await connection.run(`ATTACH ${quoteText(next.path)} AS ${attachedName} (READ_ONLY)`);
      } catch (error) {
        // A first start writes into the only file; later, the file may have just ceased to be current.
        if (!isHeldElsewhere(error) || performance.now() > giveUpMs) throw error;
        await delay(50);
        continue;
      }
      attached = next.version;
      await readTables();
    }
  }

  function followNext(): Promise<void> {
    following = following.then(follow);
    return following;
  }

  async function readTables(): Promise<void> {
    // Reading all tables takes 11 ms of processor time, comparing their columns 3; each load switches files, but hardly ever changes columns.
    const [[found, rows] = []] = (await connection.runAndReadAll(columnsSql)).getRows();
    await materializeLate(connection, Number(rows));
    if (found === columns) return;
    columns = found;
    const stored = (await readCatalog(connection, attachedName)).map(({ name, columns }) => {
      const declared = sources.find(source => source.name === name)?.columns ?? {};
      return { name, columns: declaredTypes(columns, declared) };
    });
    // A source that now reads files in place hides its earlier table.
    const isView = (name: string) => sources.some(source => source.name === name && source.files);
    const tables = [...stored.filter(({ name }) => !isView(name)), ...views.tables];
    const version = createHash('sha256').update(JSON.stringify(tables)).digest('base64');
    if (version === catalog.version) return;
    catalog = { ...catalog, version, tables };
    if (isReady) report({ type: 'catalog', catalog });
  }

  return {
    get catalog() {
      return catalog;
    },
    follow: followNext,
    async followAtOnce() {
      await following;
      if (readCurrent(databasePath).version !== attached) await followNext();
    },
  };
}

type Work = {
  readonly connection: DuckDBConnection;
  readonly reader: Reader;
  readonly statements: Statements;
  readonly memory: KeptMemory;
};

async function run(work: Work, { id, ...statement }: Extract<EngineCommand, { type: 'run' }>): Promise<void> {
  if (current) {
    report({ type: 'failed', id, isWorn: false, message: 'Internal Error: another statement is running' });
    return;
  }
  const own: Run = { id };
  current = own;
  const end = await answer(work, { id, ...statement }).catch(failureOf);
  clearInterval(own.interrupting);
  const isWorn = await work.memory.isMuch({ hasFailed: end.type === 'failed' });
  // An interrupt may have arrived meanwhile, and would hit the next statement.
  clearInterval(own.interrupting);
  current = undefined;
  report({ ...end, id, isWorn });
}

async function answer(
  { connection, reader, statements }: Work,
  { id, ...statement }: Extract<EngineCommand, { type: 'run' }>,
) {
  await reader.followAtOnce().catch(fail);
  if ((statement.catalog ?? reader.catalog.version) !== reader.catalog.version)
    return { type: 'outdated' } as const;
  await shareProcessors(connection, statements, statement);
  return sendRows(statements, id, statement);
}

let hasOneThread = false;

const ownThreads = () => (hasOneThread ? 'SET threads = 1' : 'RESET threads');

/** Sets the number of threads: one for each statement if more run than there are processors, since several cost more processor time (decision 135). */
async function shareProcessors(
  connection: DuckDBConnection,
  statements: Statements,
  { isCrowded = false }: EngineStatement,
): Promise<void> {
  if (isCrowded === hasOneThread) return;
  await statements.drop();
  hasOneThread = isCrowded;
  await connection.run(ownThreads());
}

/**
 * Rows of a result are DuckDB's memory, which is freed when V8 collects the objects for them: its heap is too small to do so by itself. A
 * change of the number of threads makes DuckDB's allocator flush, which no statement does by itself.
 */
async function releaseMemory(connection: DuckDBConnection): Promise<void> {
  globalThis.gc?.();
  await connection.run(`SET threads = ${availableParallelism() + 1}`);
  await connection.run(ownThreads());
}

function failureOf(error: unknown) {
  return { type: 'failed', message: messageOf(error) } as const;
}

/** Bytes of blocks of the file that DuckDB has in memory. */
async function blockBytes(connection: DuckDBConnection): Promise<number> {
  const sql = "select sum(memory_usage_bytes)::double from duckdb_memory() where tag = 'BASE_TABLE'";
  const [[bytes] = []] = (await connection.runAndReadAll(sql)).getRows();
  return Number(bytes);
}

/** Interrupts a statement, repeatedly until it ends: DuckDB forgets an interrupt that arrives while a statement is being prepared. */
function interrupt(connection: DuckDBConnection, id: number): void {
  if (current?.id !== id || current.interrupting) return;
  connection.interrupt();
  current.interrupting = setInterval(() => connection.interrupt(), 10);
}

/** Runs a statement and sends its rows in their wire form, except the last part. @returns that part */
async function sendRows(
  statements: Statements,
  id: number,
  { sql, values, shape, maxRows }: EngineStatement,
) {
  const prepared = await statements.take(sql);
  try {
    // The empty in-memory database is writable; a read-only transaction would take two more statements.
    if (prepared.statementType !== StatementType.SELECT) throw new Error('Internal Error: not a SELECT');
    bind(prepared, values);
    // Not stream(), which runs the last step on one thread; the statement's LIMIT bounds the rows anyway.
    const result = await prepared.run();
    const body = createBody(id);
    for (let n = 0; n < result.chunkCount; n++) {
      // Lets heartbeats and interrupts be handled.
      if (n > 0) await setImmediate();
      const chunk = result.getChunk(n);
      const column = chunk.getColumnVector(0);
      for (let at = 0; at < chunk.rowCount; at++) {
        if (body.rowCount === maxRows) return body.end({ isTruncated: true });
        const text = String(column.getItem(at));
        body.add(shape ? finishRow(text, shape) : text);
      }
    }
    return body.end({ isTruncated: false });
  } finally {
    prepared.destroySync();
  }
}

/** Writes `{"result":[…]}` with the rows of a run, and sends each part that is full. */
function createBody(id: number) {
  let part = `${bodyOpening}[`;
  let rowCount = 0;
  let bytes = 0;

  function takePart(): Buffer {
    const json = Buffer.from(part);
    part = '';
    bytes += json.length;
    if (bytes <= settings.maxResultBytes) return json;
    throw new Error(`Result Error: ${resultTooLarge(settings.maxResultBytes).message}`);
  }

  return {
    get rowCount() {
      return rowCount;
    },
    /** @throws Error if the parts have too many bytes */
    add(row: string): void {
      part += rowCount === 0 ? row : `,${row}`;
      rowCount++;
      if (part.length >= partLength) report({ type: 'part', id, json: takePart() });
    },
    /** @returns the last part. @throws as `add` does */
    end({ isTruncated }: { readonly isTruncated: boolean }) {
      part += `]${bodyClosing}`;
      return { type: 'rows', json: takePart(), rowCount, isTruncated } as const;
    },
  };
}

function bind(statement: DuckDBPreparedStatement, values: readonly BoundValue[]): void {
  for (let at = 1; at <= statement.parameterCount; at++) {
    const name = statement.parameterName(at);
    const value = values.find(({ placeholder }) => placeholder === name);
    if (!value) throw new Error(`Internal Error: no value for ${name}`);
    if ('micros' in value) statement.bindTimestampTZ(at, new DuckDBTimestampTZValue(value.micros));
    else if (value.text === null) statement.bindNull(at);
    else if (typeof value.text === 'string') statement.bindVarchar(at, value.text);
    else statement.bindList(at, [...value.text], LIST(VARCHAR));
  }
}

function report(message: EngineReport): void {
  process.send?.(message);
}
