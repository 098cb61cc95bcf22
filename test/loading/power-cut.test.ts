import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBConnection } from '@duckdb/node-api';
import { expect, test, vi } from 'vitest';
import { exists } from '../../src/base/missing-file.ts';
import { readCurrent } from '../../src/duckdb/replicas.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import { acceptEvents } from '../../src/loading/events/accept-events.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { watchFlushes } from '../support/watch-flushes.ts';
import { askFile } from './ask-file.ts';

const source = { ...readSources().find(({ name }) => name === 'gotrue.logs.prod')!, retentionDays: 1 };
const sources = [source];

/** DuckDB flushes its own files, in a way that is not seen here. */
const isDuckDbs = (name: string) => /\.duckdb(?:\.wal)?$/.test(name);

const hourMs = 3_600_000;
const startMs = Date.now();

async function accept(databasePath: string, name: string, ageHours: number): Promise<void> {
  const timestamp = new Date(startMs - ageHours * hourMs).toISOString();
  // The old one brings no field: nothing is written into the folder above that of its rows.
  const metadata = name === 'old' ? {} : { [`of_${name}`]: name };
  const event = { event_message: name, timestamp, metadata };
  const body = Buffer.from(JSON.stringify([event]));
  await acceptEvents({ databasePath, folder: rowsFolderOf(databasePath), source, body, nowMs: startMs });
}

/** Cuts the power before some of DuckDB's statements, too. */
function cutBefore(statements: RegExp, cut: () => void): void {
  const { run } = DuckDBConnection.prototype;
  vi.spyOn(DuckDBConnection.prototype, 'run').mockImplementation(function (
    this: DuckDBConnection,
    ...statement
  ) {
    if (statements.test(statement[0])) cut();
    return run.apply(this, statement);
  });
}

/** Stores what waits, and removes the rows that are a day old by then. */
const turn = (databasePath: string, afterHours = 0) =>
  storeAccepted({
    databasePath,
    sources,
    emit: () => undefined,
    nowMs: startMs + afterHours * hourMs,
    retains: afterHours > 0,
  });

/** Messages of the rows in a folder, once all that waits there is stored. */
async function messagesOf(folder: string): Promise<string[]> {
  const databasePath = join(folder, 'logs.duckdb');
  while (await turn(databasePath));
  const { path } = readCurrent(databasePath);
  if (!(await exists(path))) return [];
  const rows = await askFile(
    path,
    'SELECT event_message, to_json(metadata)::VARCHAR FROM "gotrue.logs.prod"',
  );
  return rows.map(([name, metadata]) => {
    if (name !== 'old') expect(String(metadata)).toContain(`"of_${name}":"${name}"`);
    return String(name);
  });
}

test('whenever the power is cut, each acknowledged event is there once, with its new fields', async () => {
  const [directory, cuts] = [join(await temporaryDirectory(), 'data'), await temporaryDirectory()];
  await mkdir(directory);
  const databasePath = join(directory, 'logs.duckdb');
  const disk = await watchFlushes(directory, isDuckDbs);
  const left: { readonly folder: string; readonly acknowledged: readonly string[] }[] = [];
  let acknowledged: readonly string[] = [];
  const cut = () => {
    const folder = join(cuts, String(left.length));
    disk.copyTo(folder);
    left.push({ folder, acknowledged });
  };
  disk.onFlush(cut);
  cutBefore(/^(?:COMMIT|CHECKPOINT|(?:INSERT INTO|DELETE FROM) _stored)/, cut);
  for (const [name, ageHours] of [
    ['old', 20],
    ['older', 21],
    ['new', 0],
  ] as const) {
    await accept(databasePath, name, ageHours);
    acknowledged = [...acknowledged, name];
    cut();
    await turn(databasePath);
    cut();
  }
  while (await turn(databasePath)) cut();
  // Both files forget the names of what they have stored.
  acknowledged = ['new'];
  for (let each = 0; each < 3; each++) {
    await turn(databasePath, 5);
    cut();
  }
  vi.restoreAllMocks();

  expect(left.length).toBeGreaterThan(35);
  const wrong: object[] = [];
  for (const [at, { folder, acknowledged }] of left.entries()) {
    const messages = await messagesOf(folder);
    const lost = acknowledged.filter(name => !messages.includes(name));
    const doubled = messages.filter((name, place) => messages.indexOf(name) !== place);
    if (lost.length + doubled.length > 0) wrong.push({ at, lost, doubled });
  }
  expect(wrong).toEqual([]);
});
