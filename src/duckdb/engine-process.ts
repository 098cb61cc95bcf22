import { flushCompileCache } from 'node:module';
import { setTimeout } from 'node:timers/promises';
import {
  type DuckDBConnection,
  DuckDBInstance,
  type DuckDBPreparedStatement,
  DuckDBTimestampTZValue,
  LIST,
  VARCHAR,
} from '@duckdb/node-api';
import { LRUCache } from 'lru-cache';
import { resultTooLarge } from '../engine/result-too-large.ts';
import { finishRow } from '../googlesql/finish-row.ts';
import { isHeldElsewhere, prepareConnection, readCatalog } from './database.ts';
import type {
  BoundValue,
  EngineCommand,
  EngineReport,
  EngineSettings,
  EngineStatement,
} from './engine-protocol.ts';

/**
 * The process that owns the database file. It runs what it is told, one statement a connection, and is made to be killed:
 * the file is opened read-only, and nothing is kept between two statements.
 */

const settings: EngineSettings = JSON.parse(process.argv[2] ?? '');
const idle: Session[] = [];
const running = new Map<number, Run>();

/** A connection with the statements it has prepared: planning takes longer than many a query. */
type Session = {
  readonly connection: DuckDBConnection;
  readonly prepared: LRUCache<string, DuckDBPreparedStatement>;
};

type Run = { readonly connection: DuckDBConnection; interrupting?: NodeJS.Timeout };

/** Prepared statements that a connection keeps. */
const maxPrepared = 50;

/** Milliseconds to wait for a writer: another gateway that starts brings the sample rows up to now. */
const writerPatienceMs = 10_000;

await open();

async function openDatabase(): Promise<DuckDBInstance> {
  const giveUpMs = performance.now() + writerPatienceMs;
  for (;;) {
    try {
      return await DuckDBInstance.create(settings.databasePath, {
        access_mode: 'READ_ONLY',
        memory_limit: `${settings.memoryLimitMb}MB`,
        autoinstall_known_extensions: 'false',
        autoload_known_extensions: 'false',
        allow_community_extensions: 'false',
        default_null_order: 'nulls_first_on_asc_last_on_desc',
      });
    } catch (error) {
      if (!isHeldElsewhere(error) || performance.now() > giveUpMs) throw error;
      await setTimeout(50);
    }
  }
}

async function open(): Promise<void> {
  const instance = await openDatabase();
  for (let n = 0; n < settings.connections; n++) {
    const connection = await instance.connect();
    await prepareConnection(connection, settings.macros);
    idle.push({
      connection,
      prepared: new LRUCache({ max: maxPrepared, dispose: statement => statement.destroySync() }),
    });
  }
  const first = idle[0]!.connection;
  const catalog = await readCatalog(first);
  // No statement can open a file, load code or take these back.
  await first.run('SET GLOBAL enable_external_access = false');
  await first.run('SET GLOBAL lock_configuration = true');

  process.on('message', (command: EngineCommand) => {
    if (command.type === 'run') void run(command);
    else interrupt(command.id);
  });
  // The gateway is gone. An orderly exit would wait for the queries that run.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  setInterval(() => {
    if (process.memoryUsage.rss() > settings.residentLimitMb * 1024 * 1024) report({ type: 'out of memory' });
  }, 100);
  report({ type: 'ready', catalog });
  // At its end it is killed, and could not keep them.
  flushCompileCache();
}

async function run({ id, ...statement }: Extract<EngineCommand, { type: 'run' }>): Promise<void> {
  const session = idle.pop();
  if (!session) {
    report({ type: 'failed', id, message: 'Internal Error: no connection is free' });
    return;
  }
  const current: Run = { connection: session.connection };
  running.set(id, current);
  try {
    const rows = await readRows(session, statement);
    report({ type: 'rows', id, rowsJson: Buffer.from(`[${rows.join(',')}]`), rowCount: rows.length });
  } catch (error) {
    report({ type: 'failed', id, message: error instanceof Error ? error.message : String(error) });
  } finally {
    clearInterval(current.interrupting);
    running.delete(id);
    idle.push(session);
  }
}

/** DuckDB forgets an interrupt that comes while a statement is being prepared: it is told until it listens. */
function interrupt(id: number): void {
  const run = running.get(id);
  if (!run || run.interrupting) return;
  run.connection.interrupt();
  run.interrupting = setInterval(() => run.connection.interrupt(), 10);
}

/** The rows of a statement, each in its wire form. */
async function readRows(session: Session, { sql, values, shape }: EngineStatement): Promise<string[]> {
  const statement = session.prepared.get(sql) ?? (await session.connection.prepare(sql));
  bind(statement, values);
  session.prepared.set(sql, statement);
  // Not stream(): it runs the last step on one thread, and the statement's LIMIT bounds the rows anyway.
  const result = await statement.run();
  const rows: string[] = [];
  let bytes = 0;
  for (;;) {
    const chunk = await result.fetchChunk();
    if (!chunk || chunk.rowCount === 0) return rows;
    const column = chunk.getColumnVector(0);
    for (let at = 0; at < chunk.rowCount; at++) {
      const text = String(column.getItem(at));
      const row = shape ? finishRow(text, shape) : text;
      bytes += row.length;
      if (bytes > settings.maxResultBytes) {
        throw new Error(`Result Error: ${resultTooLarge(settings.maxResultBytes).message}`);
      }
      rows.push(row);
    }
  }
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
