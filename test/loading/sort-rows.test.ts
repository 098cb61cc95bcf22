import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { openForWriting } from '../../src/duckdb/database.ts';
import { readCurrent, replicasOf } from '../../src/duckdb/replicas.ts';
import { parseSource } from '../../src/endpoints/parse-source.ts';
import type { Source } from '../../src/endpoints/source.ts';
import { acceptRows } from '../../src/loading/accept-rows.ts';
import { rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import { sortRows } from '../../src/loading/sort-rows.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';
import { endWithProcess } from '../support/end-with-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { askFile } from './ask-file.ts';

const callsYaml = `name: calls
time: seen
project: metadata.project
columns:
  n: INT64
  seen: TIMESTAMP
  metadata: { type: STRUCT, repeated: true, fields: { project: STRING, path: STRING } }
`;
const calls = parseSource('calls.yaml', callsYaml, '/');

const startMs = Date.parse('2026-01-15T12:00:00Z');
const hourMs = 3_600_000;
/** All hours of the rows are over. */
const laterMs = startMs + 48 * hourMs;

/** Opens a database whose rows are those of a query of `n`, `at` and `project`. */
async function openCalls(sql: string, path?: string) {
  path ??= join(await temporaryDirectory(), 'logs.duckdb');
  const database = await openForWriting(path, [calls]);
  const { connection } = database;
  await connection.run(
    `INSERT INTO calls BY NAME SELECT n, seen, {_p: true, project: project, path: 'p'} AS metadata FROM (${sql})`,
  );
  const ask = async (question: string) => (await connection.runAndReadAll(question)).getRowsJson();
  return {
    ...database,
    path,
    ask,
    sort: (endMs = Number.POSITIVE_INFINITY, nowMs = laterMs, source: Source = calls) =>
      sortRows(connection, { sources: [source], nowMs, endMs }),
    /** Vectors that hold rows of a project, on average of all projects and hours. */
    async vectorsOfProject(): Promise<number> {
      const [[mean] = []] = await ask(
        `SELECT avg(v) FROM (SELECT count(DISTINCT rowid // 2048) AS v FROM calls GROUP BY date_trunc('hour', seen), metadata.project)`,
      );
      return Number(mean);
    },
    digest: () => ask('SELECT count(*), count(DISTINCT n), sum(hash(n, seen, metadata))::VARCHAR FROM calls'),
  };
}

/** Rows of fifty projects in turn, over some hours. */
const mixed = (rows: number, hours: number) =>
  `SELECT n, make_timestamptz((${startMs * 1000} + n * ${Math.floor((hours * hourMs * 1000) / rows)})::BIGINT) AS seen, 'p' || (n * 7919 % 50) AS project FROM range(${rows}) t(n)`;

test('rows of hours that are over lie by hour, project and time, and none is lost', async () => {
  const database = await openCalls(mixed(120_000, 3));
  const [before, spread] = [await database.digest(), await database.vectorsOfProject()];
  expect(spread).toBeGreaterThan(15);
  expect(await database.sort()).toEqual({ moved: 120_000, isDone: true });
  expect(await database.digest()).toEqual(before);
  expect(await database.vectorsOfProject()).toBeLessThan(4);
  const disorder = `SELECT count(*) FROM (SELECT date_trunc('minute', seen) AS minute, metadata.project AS project, seen, lag(metadata.project) OVER w AS p, lag(seen) OVER w AS before
    FROM calls WINDOW w AS (ORDER BY rowid)) WHERE p = project AND before > seen`;
  expect(await database.ask(disorder)).toEqual([['0']]);
  expect(await database.sort()).toEqual({ moved: 120_000, isDone: true });
  database.close();
});

test.each([
  ['one project, as its rows came', mixed(60_000, 3).replace(/'p' \|\| [^)]*\)/, `'p'`)],
  ['few rows an hour of many projects', mixed(2000, 40)],
])('%s: they stay where they are', async (_what, sql) => {
  const database = await openCalls(sql);
  const places = () => database.ask('SELECT sum(hash(rowid, n))::VARCHAR FROM calls');
  const before = await places();
  expect(await database.sort()).toEqual({ moved: 0, isDone: true });
  expect(await places()).toEqual(before);
  database.close();
});

test('a table with a column named as the number of each row loses none and stays as it is', async () => {
  const source = parseSource(
    'calls.yaml',
    'name: calls\ntime: seen\nproject: project\ncolumns: { RowID: INT64, seen: TIMESTAMP, project: STRING }\n',
    '/',
  );
  const path = join(await temporaryDirectory(), 'logs.duckdb');
  const { connection, close } = await openForWriting(path, [source]);
  await connection.run(
    `INSERT INTO calls SELECT (hash(n) % 1000000000)::BIGINT, seen, project FROM (${mixed(20_000, 1)})`,
  );
  const sorting = { sources: [source], nowMs: laterMs, endMs: Number.POSITIVE_INFINITY };
  const sorted = await sortRows(connection, sorting);
  const counted = await connection.runAndReadAll('SELECT count(*)::INT FROM calls');
  expect(counted.getRows()).toEqual([[20_000]]);
  expect(sorted).toEqual({ moved: 0, isDone: true });
  close();
});

test('an hour that goes on is left, and sorted when it is over', async () => {
  const database = await openCalls(mixed(60_000, 1));
  expect(await database.sort(undefined, startMs + hourMs)).toEqual({ moved: 0, isDone: true });
  expect(await database.sort(undefined, startMs + hourMs + 10 * 60_000)).toEqual({
    moved: 60_000,
    isDone: true,
  });
  database.close();
});

test('a turn without time sorts one piece, and the next one goes on after it', async () => {
  const database = await openCalls(mixed(160_000, 2));
  const before = await database.digest();
  let turns = 1;
  while (!(await database.sort(0)).isDone) turns++;
  expect(turns).toBeGreaterThanOrEqual(3);
  expect(await database.digest()).toEqual(before);
  expect(await database.vectorsOfProject()).toBeLessThan(4);
  database.close();
});

test('rows that come late, in any order, are sorted as well', async () => {
  const database = await openCalls(mixed(40_000, 1));
  await database.sort();
  await database.connection.run(
    `INSERT INTO calls SELECT n + 1000000, seen - INTERVAL 9 HOUR, metadata FROM calls ORDER BY hash(n)`,
  );
  const before = await database.digest();
  expect(await database.sort(undefined, laterMs + hourMs)).toEqual({ moved: 90_000, isDone: true });
  expect(await database.digest()).toEqual(before);
  expect(await database.vectorsOfProject()).toBeLessThan(4);
  // A few late ones are not worth it.
  await database.connection.run('INSERT INTO calls SELECT * FROM calls LIMIT 100');
  expect(await database.sort(undefined, laterMs + 2 * hourMs)).toEqual({ moved: 90_000, isDone: true });
  database.close();
});

test('sorting again and again takes no more of the disk', async () => {
  const rows = 30_000;
  const database = await openCalls(mixed(rows, 2));
  const sizes: number[] = [];
  for (let round = 0; round < 5; round++) {
    expect(await database.sort()).toEqual({ moved: rows, isDone: true });
    await database.connection.run('CHECKPOINT');
    sizes.push((await stat(database.path)).size);
    await database.connection.run(
      `DELETE FROM _sorted; CREATE OR REPLACE TEMP TABLE shuffled AS FROM calls ORDER BY hash(n, ${round});
      DELETE FROM calls; INSERT INTO calls FROM shuffled`,
    );
  }
  expect(sizes.at(-1)).toBeLessThan(1.5 * sizes[1]!);
  database.close();
});

/** Loads rows of fifty projects over the accepted files, as a gateway does. */
async function acceptMixed(databasePath: string, rows: number): Promise<void> {
  await acceptRows({
    folder: rowsFolderOf(databasePath),
    source: calls,
    lines: (async function* () {
      for (let n = 0; n < rows; n++) {
        const seen = new Date(startMs + n).toISOString();
        yield JSON.stringify({ n, seen, metadata: [{ project: `p${(n * 7919) % 50}`, path: 'p' }] });
      }
    })(),
  });
}

const countSql = 'SELECT count(*), count(DISTINCT n) FROM calls';

const spreadSql = `SELECT max(v)::INT FROM (SELECT count(DISTINCT rowid // 2048) AS v FROM calls GROUP BY metadata.project)`;

test('turns sort both files, show each sorted one, and say that nothing was loaded', async () => {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  const turn = (goesOn = false) =>
    storeAccepted({ databasePath, sources: [calls], emit: () => undefined, goesOn });
  await acceptMixed(databasePath, 20_000);
  let goesOn = false;
  let loads: unknown;
  for (let turns = 0; turns < 10; turns++) {
    goesOn = await turn(goesOn);
    loads ??= readCurrent(databasePath).loads;
    if (!goesOn) break;
  }
  expect(goesOn).toBe(false);
  for (const path of replicasOf(databasePath)) {
    expect(await askFile(path, spreadSql), path).toEqual([[expect.toSatisfy(v => v <= 3)]]);
    expect(await askFile(path, countSql)).toEqual([['20000', '20000']]);
  }
  expect(readCurrent(databasePath).loads).toEqual(loads);
});

test('a writer that is killed between any two statements loses no row and doubles none, and the next one sorts on', async () => {
  const directory = await temporaryDirectory();
  const databasePath = join(directory, 'logs.duckdb');
  const sourcesDirectory = join(directory, 'sources');
  await mkdir(sourcesDirectory);
  await writeFile(join(sourcesDirectory, 'calls.yaml'), callsYaml);
  const rows = 14_000;
  await acceptMixed(databasePath, rows);
  // While the hour of the rows goes on, nothing is sorted.
  const options = { databasePath, sources: [calls], emit: () => undefined, retains: true, nowMs: startMs };
  while (await storeAccepted(options));
  const program = fileURLToPath(new URL('./sort-until-killed.ts', import.meta.url));
  const endings: (number | null)[] = [];
  for (let statement = 4; endings.at(-1) !== 0; statement += 9) {
    const child = spawn(process.execPath, [program, databasePath, String(statement), sourcesDirectory], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    endWithProcess(child);
    const [code] = await once(child, 'exit');
    endings.push(code);
    expect(await askFile(readCurrent(databasePath).path, countSql), `after ${statement}`).toEqual([
      [String(rows), String(rows)],
    ]);
  }
  // Otherwise nothing was killed.
  expect(endings.length).toBeGreaterThan(4);
  for (const path of replicasOf(databasePath)) {
    expect(await askFile(path, countSql)).toEqual([[String(rows), String(rows)]]);
    expect(await askFile(path, spreadSql)).toEqual([[expect.toSatisfy(v => v <= 2)]]);
  }
});
