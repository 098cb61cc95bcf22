import { mkdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProgressBar } from '../../src/composition/progress-bar.ts';
import { openForWriting } from '../../src/duckdb/database.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { writeSample } from '../../src/sample/write-sample.ts';
import { currentFile } from '../bench-data.ts';

const table = '"cloudflare.logs.prod"';

/** Rows of the sample that longer tables are made of. */
export const seedRows = 1_000_000;

/** Rows that are written at a time: five of DuckDB's groups. With a part of a group at the end of each step, every checkpoint would put groups together anew. */
const stepRows = 5 * 122_880;

/** The folder of the seed, made once: a gateway may have read it since. */
let seedFolder: Promise<string> | undefined;

/**
 * Makes a data folder whose edge table has so many rows in the seven days up to now: up to a million are the sample's, more are each of these
 * several times, moments apart. It is in the system's folder for temporary files, in place of an older one, whose last hour would be empty.
 * @returns the data folder
 */
export function manyRows(rows: number): Promise<string> {
  if (rows !== seedRows) return makeRows(rows);
  seedFolder ??= makeRows(rows);
  return seedFolder;
}

async function makeRows(rows: number): Promise<string> {
  const directory = join(tmpdir(), `saved-query-gateway-edge-${rows}`);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const databasePath = join(directory, 'logs.duckdb');
  if (rows > seedRows) await copySeed(databasePath, rows);
  else
    await writeSample({
      databasePath,
      sources: readSources(),
      rows,
      nowMs: Date.now(),
      onProgress: createProgressBar(process.stderr, 'Writing sample data'),
    });
  return directory;
}

async function copySeed(databasePath: string, rows: number): Promise<void> {
  const seed = currentFile(await manyRows(seedRows));
  const copies = rows / seedRows;
  const step = Math.ceil(stepRows / copies);
  const onProgress = createProgressBar(process.stderr, 'Copying rows');
  const { connection, close } = await openForWriting(databasePath, readSources());
  try {
    await connection.run(`ATTACH '${seed}' AS seed (READ_ONLY)`);
    const counted = await connection.runAndReadAll(`SELECT count(*) FROM seed.main.${table}`);
    const seeded = Number(counted.getRows()[0]?.[0]);
    for (let at = 0; at < seeded; at += step) {
      await connection.run(`INSERT INTO ${table} BY NAME
        SELECT * EXCLUDE (n) REPLACE (timestamp + to_microseconds(n * ${Math.floor((7 * 86_400_000_000) / rows)}) AS timestamp, id || '-' || n AS id)
        FROM seed.main.${table}, range(${copies}) copies(n) WHERE seed.main.${table}.rowid >= ${at} AND seed.main.${table}.rowid < ${at + step}
        ORDER BY timestamp`);
      onProgress({ done: Math.min(at + step, seeded) * copies, total: seeded * copies });
    }
  } finally {
    close();
  }
}
