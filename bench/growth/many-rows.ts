import { mkdir, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openForWriting } from '../../src/duckdb/database.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { writeSample } from '../../src/sample/write-sample.ts';

const table = '"cloudflare.logs.prod"';

/** Rows of the sample that longer tables are made of. */
const seedRows = 1_000_000;

/** Rows of the seed that are copied at a time. */
const stepRows = 10_000;

/**
 * Makes a data folder whose edge table has so many rows in seven days, where it is not there yet: up to a million are the sample's, more are
 * each of these several times, moments apart. It is kept in the system's folder for temporary files; what was interrupted goes on.
 * @returns the data folder
 */
export async function manyRows(rows: number): Promise<string> {
  const directory = join(tmpdir(), `saved-query-gateway-edge-${rows}`);
  await mkdir(directory, { recursive: true });
  const databasePath = join(directory, 'logs.duckdb');
  if (rows > seedRows) await copySeed(databasePath, rows);
  else if (!(await stat(databasePath).catch(() => undefined))) {
    await writeSample({ databasePath, sources: readSources(), rows, nowMs: Date.now() });
  }
  return directory;
}

async function copySeed(databasePath: string, rows: number): Promise<void> {
  const seed = join(await manyRows(seedRows), 'logs.duckdb');
  const copies = rows / seedRows;
  const { connection, close } = await openForWriting(databasePath, readSources());
  try {
    await connection.run(`ATTACH '${seed}' AS seed (READ_ONLY)`);
    const count = async (from: string) =>
      Number((await connection.runAndReadAll(`SELECT count(*) FROM ${from}`)).getRows()[0]?.[0]);
    const seeded = await count(`seed.main.${table}`);
    for (let at = (await count(table)) / copies; at < seeded; at += stepRows) {
      await connection.run(`INSERT INTO ${table} BY NAME
        SELECT * REPLACE (timestamp + to_microseconds(n * ${Math.floor((7 * 86_400_000_000) / rows)}) AS timestamp, id || '-' || n AS id)
        FROM seed.main.${table}, range(${copies}) copies(n) WHERE seed.main.${table}.rowid >= ${at} AND seed.main.${table}.rowid < ${at + stepRows}
        ORDER BY timestamp`);
    }
  } finally {
    close();
  }
}
