import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  access,
  copyFile,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  truncate,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBConnection, DuckDBInstance, DuckDBPreparedStatement } from '@duckdb/node-api';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { repairReplicas } from '../../src/duckdb/data-folder/repair-replicas.ts';
import { openForWriting } from '../../src/duckdb/database.ts';
import { pointerOf, readCurrent, replicasOf, spareOf } from '../../src/duckdb/replicas.ts';
import { parseSource } from '../../src/endpoints/parse-source.ts';
import type { Source, SourceFields } from '../../src/endpoints/source.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { acceptRows } from '../../src/loading/accept-rows.ts';
import { readBlocks, rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import { backUp, restore } from '../../src/loading/back-up.ts';
import { learn, readLearned } from '../../src/loading/events/learned-fields.ts';
import type { LoadingEvent } from '../../src/loading/loading-events.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';
import { createUpkeep } from '../../src/loading/upkeep.ts';
import { withTurn } from '../../src/loading/write-spare.ts';
import { endWithProcess } from '../support/end-with-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { askFile } from './ask-file.ts';
import { rowsFileOf } from './rows-file-of.ts';

const yaml = (name: string, more = '') =>
  parseSource(`${name}.yaml`, `name: ${name}\n${more}columns: { n: INT64, at: TIMESTAMP }\n`, '/');
const numbers = yaml('numbers');

/** A database of its own, and what a loader does with it. */
async function openDatabase(sources: readonly Source[] = [numbers]) {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  const events: LoadingEvent[] = [];
  const emit = (event: LoadingEvent) => void events.push(event);
  const folder = rowsFolderOf(databasePath);
  return {
    databasePath,
    events,
    spare: () => spareOf(databasePath, readCurrent(databasePath)),
    accept: (source: Source, rows: readonly object[], replaces = false) =>
      acceptRows({
        folder,
        source,
        replaces,
        lines: (async function* () {
          for (const row of rows) yield JSON.stringify(row);
        })(),
      }),
    turn: (more: Partial<Parameters<typeof storeAccepted>[0]> = {}) =>
      storeAccepted({ databasePath, sources, emit, ...more }),
    async ask(sql: string, path = readCurrent(databasePath).path) {
      return (await askFile(path, sql)).map(([value]) => String(value));
    },
    waiting: async () => (await readdir(folder)).filter(name => name.endsWith('.rows')).length,
  };
}

const all = 'SELECT n FROM numbers ORDER BY n';

/** Lets DuckDB break over rows that have a text, as over a fault of its own: it takes no statement from then on, until a database is opened again. */
function breakOver(text: string): void {
  const { bindVarchar } = DuckDBPreparedStatement.prototype;
  const { run } = DuckDBConnection.prototype;
  const { create } = DuckDBInstance;
  let isBroken = false;
  vi.spyOn(DuckDBPreparedStatement.prototype, 'bindVarchar').mockImplementation(function (
    this: DuckDBPreparedStatement,
    at,
    value,
  ) {
    if (value.includes(text)) isBroken = true;
    if (isBroken) throw new Error('INTERNAL Error: Attempted to access index 0 within vector of size 0');
    bindVarchar.call(this, at, value);
  });
  vi.spyOn(DuckDBConnection.prototype, 'run').mockImplementation(async function (
    this: DuckDBConnection,
    ...statement
  ) {
    if (isBroken)
      throw new Error('FATAL Error: Failed: database has been invalidated because of a previous fatal error');
    return run.apply(this, statement);
  });
  vi.spyOn(DuckDBInstance, 'create').mockImplementation((...of) => {
    isBroken = false;
    return create.apply(DuckDBInstance, of);
  });
  onTestFinished(() => void vi.restoreAllMocks());
}

/** Lets a process store all that was accepted, through turns in which DuckDB breaks. */
async function storeAll(database: Awaited<ReturnType<typeof openDatabase>>): Promise<void> {
  for (;;) {
    const goesOn = await database.turn().catch(error => {
      expect(String(error)).toContain('INTERNAL Error');
      return true;
    });
    if (!goesOn) return;
  }
}

test('rows that break DuckDB are set aside alone, and all others are stored', async () => {
  const database = await openDatabase();
  await database.accept(numbers, [{ n: 1 }]);
  while (await database.turn());
  for (const n of [2, 77_777, 3, 88_888, 4]) await database.accept(numbers, [{ n }]);
  breakOver('77777');
  await storeAll(database);
  expect(await database.ask(all)).toEqual(['1', '2', '3', '4', '88888']);
  expect(await database.waiting()).toBe(0);
  expect(database.events).toEqual([expect.objectContaining({ type: 'rows.failed' })]);
  expect(await readdir(join(rowsFolderOf(database.databasePath), 'failed'))).toHaveLength(1);
});

test('a file of the database over which DuckDB breaks is made again, and the rows that the other one has are not set aside', async () => {
  const database = await openDatabase();
  await database.accept(numbers, [{ n: 1 }]);
  while (await database.turn());
  await database.accept(numbers, [{ n: 77_777 }]);
  await database.turn();
  breakOver('77777');
  await storeAll(database);
  await database.accept(numbers, [{ n: 2 }]);
  await storeAll(database);
  for (const path of replicasOf(database.databasePath))
    expect(await database.ask(all, path)).toEqual(['1', '2', '77777']);
  expect([await database.waiting(), database.events]).toEqual([0, []]);
});

test('rows of a source whose file is wrong wait, in whichever file of the database they are, and those of others do not', async () => {
  const others = yaml('others');
  const database = await openDatabase([numbers, others]);
  const onlyNumbers = { sources: [numbers], leftOut: new Set(['others']) };
  const rowsOf = (name: string) => database.ask(`SELECT n FROM ${name} ORDER BY n`);
  await database.accept(others, [{ n: 1 }]);
  await database.turn();
  // In the current file, and not in the spare yet.
  await database.accept(others, [{ n: 2 }]);
  await database.accept(numbers, [{ n: 3 }]);
  while (await database.turn(onlyNumbers));
  expect([await rowsOf('numbers'), await rowsOf('others')]).toEqual([['3'], ['1']]);
  expect([await database.waiting(), database.events]).toEqual([1, []]);
  // The file has been mended.
  while (await database.turn());
  expect([await rowsOf('numbers'), await rowsOf('others')]).toEqual([['3'], ['1', '2']]);
  expect([await database.waiting(), database.events]).toEqual([0, []]);
});

test('rows are seen after one turn, in both files after the next, and only then their file goes', async () => {
  const database = await openDatabase();
  await database.accept(numbers, [{ n: 1 }, { n: 2 }]);
  expect(await database.turn()).toBe(true);
  expect(await database.ask(all)).toEqual(['1', '2']);
  expect(await database.waiting()).toBe(1);
  await database.accept(numbers, [{ n: 3 }]);
  await database.turn();
  expect(await database.ask(all)).toEqual(['1', '2', '3']);
  while (await database.turn());
  expect(await database.waiting()).toBe(0);
  expect(await database.ask(all, database.spare())).toEqual(['1', '2', '3']);
});

test('what was stored for wide sources is in the file before the next of them is stored', async () => {
  const wide = (name: string) => ({
    ...yaml(name),
    columns: Object.fromEntries(Array.from({ length: 90 }, (_none, n) => [`c${n}`, 'INT64' as const])),
  });
  const sources = [wide('one'), wide('other')];
  const database = await openDatabase(sources);
  for (let n = 0; n < 3; n++) for (const source of sources) await database.accept(source, [{ c0: n }]);
  const statements: string[] = [];
  const { run } = DuckDBConnection.prototype;
  const spy = vi.spyOn(DuckDBConnection.prototype, 'run').mockImplementation(async function (
    this: DuckDBConnection,
    ...statement
  ) {
    if (/^(?:COMMIT|CHECKPOINT)$/.test(statement[0])) statements.push(statement[0]);
    return run.apply(this, statement);
  });
  await database.turn();
  spy.mockRestore();
  expect(statements).toEqual(['COMMIT', 'CHECKPOINT', 'COMMIT', 'CHECKPOINT']);
  for (const { name } of sources)
    expect(await database.ask(`SELECT c0 FROM ${name} ORDER BY c0`)).toEqual(['0', '1', '2']);
});

test('pieces of a table are joined where few rows wait, and not while many do', async () => {
  const texts = parseSource('texts.yaml', 'name: texts\ncolumns: { text: STRING }\n', '/');
  const database = await openDatabase([texts]);
  const accept = () => database.accept(texts, [{ text: 'x'.repeat(4 * 1024 * 1024) }]);
  const pieces = async () =>
    Number((await database.ask("SELECT count(DISTINCT row_group_id) FROM pragma_storage_info('texts')"))[0]);
  for (let n = 0; n < 3; n++) await accept();
  await database.turn();
  // DuckDB itself may have put two of them together.
  expect(await pieces()).toBeGreaterThan(1);
  while (await database.turn());
  await accept();
  while (await database.turn());
  expect(await pieces()).toBe(1);
  expect(await database.ask('SELECT count(*) FROM texts')).toEqual(['4']);
});

test('memory that is free goes back after each INSERT and each CHECKPOINT', async () => {
  const database = await openDatabase([numbers, yaml('others')]);
  await database.accept(numbers, [{ n: 1 }]);
  await database.accept(yaml('others'), [{ n: 1 }]);
  const statements: string[] = [];
  const { run } = DuckDBConnection.prototype;
  const spy = vi.spyOn(DuckDBConnection.prototype, 'run').mockImplementation(async function (
    this: DuckDBConnection,
    ...statement
  ) {
    if (/^(?:COMMIT$|CHECKPOINT$|SET threads = 2)/.test(statement[0]))
      statements.push(statement[0].slice(0, 11));
    return run.apply(this, statement);
  });
  await database.turn();
  spy.mockRestore();
  const back = 'SET threads';
  expect(statements).toEqual([back, back, 'COMMIT', 'CHECKPOINT', back]);
});

test('a spare that lacks rows nobody has any more is made again', async () => {
  const database = await openDatabase();
  await database.accept(numbers, [{ n: 1 }]);
  while (await database.turn());
  const spare = database.spare();
  await copyFile(spare, `${spare}.old`);
  await database.accept(numbers, [{ n: 2 }]);
  while (await database.turn());
  // Rows 2 are in both files, and their own file is gone; now one of them is as it was before.
  await copyFile(`${spare}.old`, database.spare());
  await database.accept(numbers, [{ n: 3 }]);
  while (await database.turn());
  expect(await database.ask(all)).toEqual(['1', '2', '3']);
  expect(await database.ask(all, database.spare())).toEqual(['1', '2', '3']);
});

test('a spare that lacks nothing is never copied, however files come', async () => {
  const database = await openDatabase();
  const inodes = async () => {
    const paths = [database.databasePath, spareOf(database.databasePath, { path: database.databasePath })];
    return Promise.all(paths.map(async path => (await stat(path)).ino));
  };
  await database.accept(numbers, [{ n: 0 }]);
  await database.turn();
  const before = await inodes();
  // Rows come between the turns, so that files are removed while others wait.
  for (let n = 1; n < 5; n++) {
    await database.accept(numbers, [{ n }]);
    for (let turns = n % 3; turns >= 0; turns--) await database.turn();
  }
  while (await database.turn());
  expect(await database.ask(all)).toEqual(['0', '1', '2', '3', '4']);
  expect(await inodes()).toEqual(before);
});

test('--replace takes all earlier rows away in the same moment', async () => {
  const database = await openDatabase();
  await database.accept(numbers, [{ n: 1 }]);
  await database.accept(numbers, [{ n: 2 }, { n: 3 }], true);
  while (await database.turn());
  expect(await database.ask(all)).toEqual(['2', '3']);
});

test('rows whose source has gone are set aside after an hour, and others go on', async () => {
  const gone = yaml('gone');
  const database = await openDatabase();
  await database.accept(numbers, [{ n: 1 }]);
  const folder = rowsFolderOf(database.databasePath);
  const kept = await rowsFileOf(database.databasePath, () => database.accept(gone, [{ n: 5 }]));
  const hourAgo = new Date(Date.now() - 3_600_000);
  await utimes(join(folder, kept), hourAgo, hourAgo);
  await database.accept(numbers, [{ n: 2 }]);
  while (await database.turn());
  expect(await database.ask(all)).toEqual(['1', '2']);
  expect(database.events).toEqual([
    {
      type: 'rows.failed',
      file: expect.stringMatching(/\.rows$/),
      message: 'No source with a table is named gone',
    },
  ]);
});

/** A database whose table has earlier types than the source, and the rows that it refuses, by the file that keeps them. */
async function openOutgrown(before: string, after: string) {
  const declare = (columns: string) =>
    parseSource('outgrown.yaml', `name: outgrown\ncolumns: { n: INT64, ${columns} }\n`, '/');
  const database = await openDatabase([numbers, declare(before)]);
  await database.accept(declare(before), [{ n: 0 }]);
  while (await database.turn());
  return {
    ...database,
    source: declare(after),
    turn: () => database.turn({ sources: [numbers, declare(after)] }),
    async failed() {
      const folder = join(rowsFolderOf(database.databasePath), 'failed');
      const rows: string[] = [];
      for (const name of await readdir(folder))
        for await (const block of readBlocks(folder, name)) rows.push(...block.rows);
      return rows.map(row => JSON.parse(row));
    },
  };
}

test.each(['text', 'the openfile', 'out of quota', 'Out of Memory', 'IO Error: No space left on device'])(
  'a row that its table can not hold goes away alone, and keeps up nobody: %s',
  async text => {
    const database = await openOutgrown('v: INT64', 'v: STRING');
    await database.accept(database.source, [
      { n: 1, v: '5' },
      { n: 2, v: text },
      { n: 3, v: '7' },
    ]);
    await database.accept(numbers, [{ n: 1 }]);
    for (let turns = 0; turns < 5 && (await database.turn()); turns++);
    for (const path of replicasOf(database.databasePath)) {
      expect(await database.ask('SELECT v FROM outgrown WHERE n > 0 ORDER BY n', path)).toEqual(['5', '7']);
      expect(await database.ask(all, path)).toEqual(['1']);
    }
    expect(await database.waiting()).toBe(0);
    expect(await database.failed()).toEqual([{ n: '2', v: text }]);
    const message = expect.stringMatching(/^1 rows, such as: Conversion Error/);
    expect(database.events).toEqual([{ type: 'rows.failed', file: expect.any(String), message }]);
  },
);

test('rows none of which their table can hold go away, and the others of the turn stay', async () => {
  const database = await openOutgrown('v: INT64', 'v: STRING');
  await database.accept(database.source, [{ n: 1, v: 'text' }]);
  await database.accept(numbers, [{ n: 1 }]);
  while (await database.turn());
  expect(await database.ask(all)).toEqual(['1']);
  expect(await database.failed()).toEqual([{ n: '1', v: 'text' }]);
  const message = expect.stringMatching(/^1 rows, such as: Conversion Error/);
  expect(database.events).toEqual([{ type: 'rows.failed', file: expect.any(String), message }]);
});

test.each([
  ['v: NUMERIC', 'v: FLOAT64', [0.5, 0.1234567890123, null]],
  ['v: INT64', 'v: STRING', ['5', '1.5', null]],
  ['v: BOOL', 'v: INT64', ['1', '2', null]],
  ['v: FLOAT64', 'v: INT64', ['9007199254740992', '9007199254740993', null]],
  ['v: FLOAT64', 'v: NUMERIC', ['0.5', '12345678901234567.5', null]],
  ['v: { type: NUMERIC, repeated: true }', 'v: { type: FLOAT64, repeated: true }', [[0.5], [0.5, 0.1234567890123], []]],
  ['v: { type: STRUCT, repeated: true, fields: { a: NUMERIC } }', 'v: { type: STRUCT, repeated: true, fields: { a: FLOAT64 } }', [[{ a: 0.5 }], [{ a: 0.1234567890123 }], []]],
])('a value that a table of %s would round for %s is in no row', async (before, after, values) => {
  const database = await openOutgrown(before, after);
  const rows = values.map((v, n) => ({ n: n + 1, v }));
  await database.accept(database.source, rows);
  while (await database.turn());
  expect(await database.ask('SELECT n FROM outgrown WHERE n > 0 ORDER BY n')).toEqual(['1', '3']);
  expect(await database.failed()).toEqual([{ n: '2', v: values[1] }]);
}); // biome-ignore format: a table

test('rows of a source that only a later process knows wait for it, and are in both files then', async () => {
  const others = yaml('others');
  const database = await openDatabase();
  await database.accept(numbers, [{ n: 1 }]);
  await database.accept(others, [{ n: 5 }]);
  await database.accept(numbers, [{ n: 2 }]);
  while (await database.turn());
  expect(await database.ask(all)).toEqual(['1', '2']);
  expect([await database.waiting(), database.events]).toEqual([1, []]);
  await database.turn({ sources: [numbers, others] });
  // The earlier one goes on, and has the rows in the file that is not current.
  while (await database.turn());
  for (const path of replicasOf(database.databasePath)) {
    expect(await database.ask('SELECT n FROM others', path)).toEqual(['5']);
    expect(await database.ask(all, path)).toEqual(['1', '2']);
  }
  expect(await database.waiting()).toBe(0);
});

test('rows that are older than their source keeps them go with the next load', async () => {
  const kept = yaml('numbers', 'time: at\nretentionDays: 2\n');
  const database = await openDatabase([kept]);
  const daysAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  await database.accept(kept, [{ n: 1, at: daysAgo(3) }, { n: 2, at: daysAgo(1) }, { n: 3 }]);
  while (await database.turn());
  expect(await database.ask(all)).toEqual(['2', '3']);
});

test('rows that grow too old go without a load, from both files, and only the first turn shows something new', async () => {
  const kept = yaml('numbers', 'time: at\nretentionDays: 2\n');
  const database = await openDatabase([kept]);
  const nowMs = Date.now();
  await database.accept(kept, [{ n: 1, at: new Date(nowMs).toISOString() }, { n: 2 }]);
  while (await database.turn());
  const before = readCurrent(database.databasePath);
  await database.turn({ retains: true, nowMs: nowMs + 86_400_000 });
  expect(readCurrent(database.databasePath)).toEqual(before);
  const later = nowMs + 3 * 86_400_000;
  await database.turn({ retains: true, nowMs: later });
  const after = readCurrent(database.databasePath);
  expect([await database.ask(all), after.loads.numbers]).toEqual([['2'], before.loads.numbers! + 1]);
  await database.turn({ retains: true, nowMs: later });
  expect(await database.ask(all, database.spare())).toEqual(['2']);
  expect(readCurrent(database.databasePath)).toEqual(after);
});

test('the sample goes on in both files, and no load sets it back', async () => {
  const sources = [...readSources(), numbers];
  const database = await openDatabase(sources);
  const startMs = Date.parse('2026-01-15T12:00:00Z');
  const newest = 'SELECT epoch_ms(max(timestamp)) FROM "cloudflare.logs.prod"';
  await database.turn({ sample: { rows: 2000, nowMs: startMs } });
  const before = Number(await database.ask(newest));
  await database.turn({ sample: { rows: 2000, nowMs: startMs + 3_600_000 } });
  const after = Number(await database.ask(newest));
  // Some five minutes lie between two rows of this sample.
  expect([startMs - before, startMs + 3_600_000 - after].every(ms => ms >= 0 && ms < 900_000)).toBe(true);
  await database.accept(numbers, [{ n: 1 }]);
  await database.turn();
  expect(Number(await database.ask(newest))).toBe(after);
  expect(await database.ask(all)).toEqual(['1']);
});

test('rows beyond the megabytes of their source go, the oldest first, and nobody looks for them while nothing grows', async () => {
  const kept = parseSource(
    'shop.numbers.yaml',
    'name: shop.numbers\ntime: at\nretentionMb: 2\ncolumns: { n: INT64, at: TIMESTAMP, text: STRING }\n',
    '/',
  );
  // One without rows has no size.
  const empty = yaml('empty', 'time: at\nretentionMb: 1\n');
  const database = await openDatabase([kept, empty]);
  const startMs = Date.parse('2026-01-15T12:00:00Z');
  const [rounds, rowsOfRound] = [4, 15_000];
  const upkeep = createUpkeep(() => undefined);
  for (let round = 0; round < rounds; round++) {
    const rows = Array.from({ length: rowsOfRound }, (_, at) => {
      const n = round * rowsOfRound + at;
      // Texts that no compression makes smaller.
      return { n, at: new Date(startMs + n * 1000).toISOString(), text: randomBytes(60).toString('base64') };
    });
    await database.accept(kept, rows);
    while (await database.turn({ upkeep }));
  }
  const read = vi.spyOn(DuckDBConnection.prototype, 'runAndReadAll');
  onTestFinished(() => void vi.restoreAllMocks());
  const looks = () => read.mock.calls.filter(([sql]) => sql.includes('pragma_storage_info')).length;
  // Each file is looked at once more after its rows went.
  for (let turn = 0; turn < 4; turn++) await database.turn({ upkeep, retains: true, nowMs: startMs });
  const before = looks();
  for (let turn = 0; turn < 4; turn++) await database.turn({ upkeep, retains: true, nowMs: startMs });
  expect(looks()).toBe(before);
  const [count, oldest, newest] = await Promise.all(
    ['count(*)', 'min(n)', 'max(n)'].map(async what =>
      Number(await database.ask(`SELECT ${what} FROM "shop.numbers"`)),
    ),
  );
  expect(newest).toBe(rounds * rowsOfRound - 1);
  expect(count).toBe(newest! - oldest! + 1);
  // Some 80 bytes a row.
  expect(count).toBeLessThan(35_000);
  expect(count).toBeGreaterThan(19_000);
});

test('rows that went for their megabytes do not come back with the other file, whatever the first column is', async () => {
  const record = '{ type: STRUCT, fields: { a: INT64, b: INT64, c: INT64, d: INT64 } }';
  const kept = parseSource(
    'numbers.yaml',
    `name: numbers\ntime: at\nretentionMb: 1\ncolumns: { pair: ${record}, n: INT64, at: TIMESTAMP, text: STRING }\n`,
    '/',
  );
  const database = await openDatabase([kept]);
  const startMs = Date.parse('2026-01-15T12:00:00Z');
  const [rounds, rowsOfRound] = [16, 2000];
  const upkeep = createUpkeep(() => undefined);
  const oldest: number[] = [];
  const take = async (from: number, length: number) => {
    const rows = Array.from({ length }, (_, at) => {
      const n = from + at;
      const text = randomBytes(60).toString('base64');
      return { pair: { a: n }, n, at: new Date(startMs + n * 1000).toISOString(), text };
    });
    await database.accept(kept, rows);
    for (let goesOn = true; goesOn; oldest.push(Number(await database.ask('SELECT min(n) FROM numbers')))) {
      goesOn = await database.turn({ upkeep });
    }
  };
  for (let round = 0; round < rounds; round++) {
    await take(round * rowsOfRound, rowsOfRound);
    // Too little for another look at the size: the other file becomes current as it is.
    await take((round + 1) * rowsOfRound - 1, 1);
  }
  expect(oldest).toEqual(oldest.toSorted((one, other) => one - other));
  // Some 90 bytes a row.
  expect(rounds * rowsOfRound - oldest.at(-1)!).toBeLessThan(15_000);
  expect(oldest.at(-1)).toBeGreaterThan(rowsOfRound);
});

test.each([
  ['within a row', 5],
  ['after a row', 0],
])(
  'a file of rows that ends too early, %s, is set aside by its name, and the others are stored',
  async (_where, more) => {
    const database = await openDatabase();
    await database.accept(numbers, [{ n: 1 }]);
    const folder = rowsFolderOf(database.databasePath);
    const torn = await rowsFileOf(database.databasePath, () =>
      database.accept(numbers, [{ n: 2 }, { n: 3 }]),
    );
    const text = await readFile(join(folder, torn), 'utf8');
    await truncate(join(folder, torn), text.trimEnd().lastIndexOf('\n') + 1 + more);
    await database.accept(numbers, [{ n: 4 }]);
    while (await database.turn());
    expect(await database.ask(all)).toEqual(['1', '4']);
    expect(database.events).toEqual([{ type: 'rows.failed', file: torn, message: expect.any(String) }]);
  },
);

test.each([0, 5])(
  'rows whose file is torn (%i) when one file of the database has them come to the other',
  async left => {
    const database = await openDatabase();
    await database.accept(numbers, [{ n: 1 }, { n: 2 }]);
    await database.turn();
    const folder = rowsFolderOf(database.databasePath);
    const [torn = ''] = (await readdir(folder)).filter(name => name.endsWith('.rows'));
    await truncate(join(folder, torn), left === 0 ? 0 : (await stat(join(folder, torn))).size - left);
    await database.accept(numbers, [{ n: 3 }]);
    while (await database.turn());
    for (const path of replicasOf(database.databasePath)) {
      expect(await database.ask(all, path)).toEqual(['1', '2', '3']);
    }
    expect(database.events).toEqual([{ type: 'rows.delayed', message: expect.any(String) }]);
    expect(await database.waiting()).toBe(0);
  },
);

test('a spare is made again whose writer was killed after it had learned a field', async () => {
  const database = await openDatabase();
  await database.accept(numbers, [{ n: 1 }]);
  while (await database.turn());
  await leaveLog(database.spare(), `${database.spare()}.wal`);
  await database.accept(numbers, [{ n: 2 }]);
  while (await database.turn());
  expect(await database.ask(all)).toEqual(['1', '2']);
  expect(await database.ask(all, database.spare())).toEqual(['1', '2']);
});

/** Changes the type of a column, and leaves the log of that, as a kill does. */
async function leaveLog(path: string, log: string): Promise<void> {
  const instance = await DuckDBInstance.create(path);
  const connection = await instance.connect();
  await connection.run("ALTER TABLE numbers ALTER n SET DATA TYPE STRUCT(a BIGINT) USING {'a': n}");
  await copyFile(log, `${log}.left`);
  await copyFile(path, `${path}.left`);
  connection.closeSync();
  instance.closeSync();
  await rename(`${path}.left`, path);
  await rename(`${log}.left`, log);
}

test('rows that are put into a clock which was set back are there', async () => {
  const database = await openDatabase();
  const clock = vi.spyOn(Date, 'now');
  for (const [n, hours] of [
    [1, 0],
    [2, -30],
    [3, 24 * 400],
    [4, -1],
  ]) {
    clock.mockReturnValue(Date.parse('2026-01-15T12:00:00Z') + hours! * 3_600_000);
    await database.accept(numbers, [{ n }]);
    await database.turn();
  }
  clock.mockRestore();
  while (await database.turn());
  expect(await database.ask(all)).toEqual(['1', '2', '3', '4']);
  expect(await database.ask(all, database.spare())).toEqual(['1', '2', '3', '4']);
});

test('a source that learns all the fields that it may is stored on', async () => {
  const database = await openDatabase();
  await database.accept(numbers, [{ n: 1 }]);
  while (await database.turn());
  const wide: SourceFields = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`f${n}`, 'INT64']));
  await learn(database.databasePath, 'numbers', { wide });
  const learned = { ...numbers, columns: { ...numbers.columns, wide } };
  for (const n of [2, 3]) {
    await database.accept(learned, [{ n, wide: { f0: n, f499: n } }]);
    while (await database.turn());
  }
  expect(database.events).toEqual([]);
  for (const path of replicasOf(database.databasePath)) {
    expect(await database.ask('SELECT wide.f499 FROM numbers WHERE n = 3', path)).toEqual(['3']);
  }
});

test('rows whose fields are learned while a turn begins are stored with them', async () => {
  const database = await openDatabase();
  await database.accept(numbers, [{ n: 1 }]);
  while (await database.turn());
  await database.accept(numbers, [{ n: 2 }]);
  const turning = database.turn();
  // It has read what was learned, and opens the spare now.
  await learn(database.databasePath, 'numbers', { x: 'FLOAT64' });
  await database.accept({ ...numbers, columns: { ...numbers.columns, x: 'FLOAT64' } }, [{ n: 3, x: 1.5 }]);
  await turning;
  while (await database.turn());
  for (const path of replicasOf(database.databasePath)) {
    expect(await database.ask('SELECT x FROM numbers WHERE n = 3', path)).toEqual(['1.5']);
  }
});

test('the other file of the database becomes current where the current one is gone', async () => {
  const database = await openDatabase();
  await database.accept(numbers, [{ n: 1 }]);
  while (await database.turn());
  await rm(readCurrent(database.databasePath).path);
  await database.accept(numbers, [{ n: 2 }]);
  while (await database.turn());
  for (const path of replicasOf(database.databasePath))
    expect(await database.ask(all, path)).toEqual(['1', '2']);
});

test('a start over a database whose current file is gone goes on with the other one', async () => {
  const database = await openDatabase();
  await database.accept(numbers, [{ n: 1 }]);
  while (await database.turn());
  const spare = database.spare();
  await rm(readCurrent(database.databasePath).path);
  await repairReplicas(database.databasePath, 7);
  expect(readCurrent(database.databasePath).path).toBe(spare);
  expect(await database.ask(all)).toEqual(['1']);
});

test('a turn waits for that of another process', async () => {
  const { databasePath } = await openDatabase();
  const program = `import { withTurn } from '${new URL('../../src/loading/write-spare.ts', import.meta.url)}';
    await withTurn(process.argv[1], async () => {
      process.stdout.write('has it');
      await new Promise(end => process.stdin.once('end', end).resume());
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, databasePath]);
  endWithProcess(child);
  await once(child.stdout, 'data');
  const attach = vi.spyOn(DuckDBConnection.prototype, 'run');
  onTestFinished(() => void vi.restoreAllMocks());
  let isOwn = false;
  const own = withTurn(databasePath, async () => {
    isOwn = true;
  });
  await expect.poll(() => attach.mock.calls.length).toBeGreaterThan(2);
  expect(isOwn).toBe(false);
  child.stdin.end();
  await own;
  expect(isOwn).toBe(true);
});

test('turns of one process follow each other', async () => {
  const { databasePath } = await openDatabase();
  const order: string[] = [];
  const turn = (name: string) =>
    withTurn(databasePath, async () => {
      order.push(`${name} begins`);
      await new Promise(setImmediate);
      order.push(`${name} ends`);
    });
  const failing = withTurn(databasePath, () => Promise.reject(new Error('full')));
  await Promise.all([turn('one'), turn('two'), expect(failing).rejects.toThrow('full')]);
  expect(order).toEqual(['one begins', 'one ends', 'two begins', 'two ends']);
});

test.each([0, 1024, 12_288])(
  'rows are stored where a full disk left %i bytes of the lock that writers have',
  async bytes => {
    const database = await openDatabase();
    await database.accept(numbers, [{ n: 1 }]);
    const lock = join(rowsFolderOf(database.databasePath), 'writer.duckdb');
    await writeFile(lock, Buffer.alloc(bytes));
    await Promise.all([database.turn(), database.turn()]);
    while (await database.turn());
    expect(await database.ask(all)).toEqual(['1']);
  },
);

test('a start that was killed at its very beginning does not keep the next one from starting', async () => {
  const database = await openDatabase();
  await writeFile(database.databasePath, '');
  expect(await repairReplicas(database.databasePath, 7)).toEqual([]);
  (await openForWriting(database.databasePath, [numbers])).close();
  expect(await database.ask(all)).toEqual([]);
});

test('what a killed writer left of a copy goes with the next turn', async () => {
  const database = await openDatabase();
  await database.accept(numbers, [{ n: 1 }]);
  while (await database.turn());
  const copy = `${database.spare()}.copy`;
  await writeFile(copy, 'half of it');
  await database.accept(numbers, [{ n: 2 }]);
  await database.turn();
  await expect(access(copy)).rejects.toThrow('ENOENT');
});

describe('a database of which one file is damaged', () => {
  const damages: Record<string, (path: string) => Promise<void>> = {
    'ends too early': path => truncate(path, 20_000),
    'begins with something else': path => writeFile(path, 'no database'.repeat(10_000)),
    'is of zeros': path => writeFile(path, Buffer.alloc(100_000)),
  };
  const cases = Object.keys(damages).flatMap(damage =>
    ['current', 'spare'].map(which => [which, damage] as const),
  );

  test.each(cases)('the %s one %s: it is named and kept, and all rows are there', async (which, damage) => {
    const database = await openDatabase();
    await database.accept(numbers, [{ n: 1 }]);
    while (await database.turn());
    await database.accept(numbers, [{ n: 2 }]);
    await database.turn();
    const path = which === 'spare' ? database.spare() : readCurrent(database.databasePath).path;
    await damages[damage]!(path);
    expect(await repairReplicas(database.databasePath, 7)).toEqual([
      { file: path, keptAs: `${path}.damaged-7` },
    ]);
    await database.accept(numbers, [{ n: 3 }]);
    while (await database.turn());
    expect(await database.ask(all)).toEqual(['1', '2', '3']);
    expect(await database.ask(all, database.spare())).toEqual(['1', '2', '3']);
    expect(await repairReplicas(database.databasePath, 8)).toEqual([]);
  });

  test.each(Object.keys(damages))('both: %s, nothing is moved, and no gateway starts', async damage => {
    const database = await openDatabase();
    await database.accept(numbers, [{ n: 1 }]);
    while (await database.turn());
    const paths = replicasOf(database.databasePath);
    for (const path of paths) await damages[damage]!(path);
    await expect(repairReplicas(database.databasePath, 7)).rejects.toThrow(`${paths[1]} is damaged`);
    await Promise.all(paths.map(path => access(path)));
  });

  test.each(['{"file":', '', 'null', '{}', '{"file":"logs.duckdb"}', '{"file":"others.duckdb","loads":{}}'])(
    'its pointer is %j: a file is chosen, and rows go on',
    async text => {
      const database = await openDatabase();
      await database.accept(numbers, [{ n: 1 }]);
      while (await database.turn());
      const pointer = pointerOf(database.databasePath);
      await writeFile(pointer, text);
      expect(await repairReplicas(database.databasePath, 7)).toEqual([
        { file: pointer, keptAs: `${pointer}.damaged-7` },
      ]);
      await database.accept(numbers, [{ n: 2 }]);
      while (await database.turn());
      expect(await database.ask(all)).toEqual(['1', '2']);
    },
  );
});

test('a start says that both files are gone, and makes no empty ones in their place', async () => {
  const database = await openDatabase();
  await database.accept(numbers, [{ n: 1 }]);
  while (await database.turn());
  for (const path of replicasOf(database.databasePath)) await rm(path);
  await expect(repairReplicas(database.databasePath, 7)).rejects.toMatchObject({
    problems: [{ found: expect.stringContaining('are gone'), fix: expect.stringContaining('restore') }],
  });
  await rm(pointerOf(database.databasePath));
  expect(await repairReplicas(database.databasePath, 7)).toEqual([]);
});

test('a backup has what was accepted before it, stored or not, and goes into an empty folder alone', async () => {
  const database = await openDatabase();
  await database.accept(numbers, [{ n: 1 }]);
  while (await database.turn());
  await database.accept(numbers, [{ n: 2 }]);
  await database.turn();
  await database.accept(numbers, [{ n: 3 }]);
  await learn(database.databasePath, 'numbers', { extra: 'STRING' });
  const target = join(await temporaryDirectory(), 'backup');
  // With the slash that some end folders with.
  await backUp(database.databasePath, `${target}/`);
  await expect(backUp(database.databasePath, target)).rejects.toThrow('exists already');
  const other = await openDatabase();
  await restore(other.databasePath, target);
  while (await other.turn());
  expect(await other.ask(all)).toEqual(['1', '2', '3']);
  expect(await other.ask(all, other.spare())).toEqual(['1', '2', '3']);
  expect(readLearned(other.databasePath)).toEqual({ numbers: { extra: 'STRING' } });
  await expect(restore(other.databasePath, target)).rejects.toThrow('There is a database');
  // Even one file of it: it would be taken for the restored one's other file.
  const third = await openDatabase();
  await copyFile(join(target, 'logs.duckdb'), replicasOf(third.databasePath)[1]);
  await expect(restore(third.databasePath, target)).rejects.toThrow('There is a database');
  await expect(restore(other.databasePath, '/nowhere')).rejects.toThrow('is not a backup');
});

test('a backup has what a killed writer left in the log of a file', async () => {
  const [killed, other] = [await openDatabase(), await openDatabase()];
  const { connection, close } = await openForWriting(other.databasePath, [numbers]);
  await connection.run('INSERT INTO numbers VALUES (1, NULL)');
  for (const ending of ['', '.wal'])
    await copyFile(`${other.databasePath}${ending}`, `${killed.databasePath}${ending}`);
  close();
  const [target, restored] = [join(await temporaryDirectory(), 'backup'), await openDatabase()];
  await backUp(killed.databasePath, target);
  await restore(restored.databasePath, target);
  while (await restored.turn());
  expect(await restored.ask(all)).toEqual(['1']);
});
