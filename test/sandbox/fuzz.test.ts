import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { compileForDuckDb } from '../../src/googlesql/compile-duckdb.ts';
import { propertySeed } from '../support/seed-properties.ts';
import { compileCaller, parameterNames } from './compile-caller.ts';
import { fuzzSandbox } from './fuzz.ts';
import { type MarkedDatabase, marker, openMarkedDatabase, otherValues } from './marked-database.ts';
import { readPrinted } from './read-printed.ts';

let marked: MarkedDatabase;
let other: MarkedDatabase;
let plain: MarkedDatabase;

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'sandbox-'));
  marked = await openMarkedDatabase(join(directory, 'marked.duckdb'), { hidden: true });
  other = await openMarkedDatabase(join(directory, 'other.duckdb'), { hidden: true, values: otherValues });
  plain = await openMarkedDatabase(join(directory, 'plain.duckdb'), { hidden: false });
  return () => rm(directory, { recursive: true });
});

test('every source holds rows that a leak would show', async () => {
  for (const name of marked.catalog.keys()) {
    const sql = `select * from \`${name}\``;
    const leaking = compileForDuckDb({ sql, catalog: marked.catalog, parameterNames, maxRows: 1000 });
    expect(await marked.run(leaking)).toMatchObject({ rows: { length: 21 } });
    expect(await other.run(leaking)).toMatchObject({ rows: { length: 21 } });
    expect(JSON.stringify(await marked.run(leaking))).toContain(marker);
    expect(JSON.stringify(await plain.run(leaking))).not.toContain(marker);
  }
});

test('a subset answers our rows of the time range, and them alone', async () => {
  const compiled = compileCaller('select id from auth_logs order by id', marked.catalog);
  const ours = ['a', 'b', 'c', 'd', 'e', 'f'].map(id => `{"id":"${id}"}`);
  expect(await marked.run(compiled)).toEqual({ rows: ours });
});

test('what a statement reads is reported by a parser that is not ours', async () => {
  const { connection } = marked;
  const [inner, shown] = await readPrinted(connection, [
    `with w1 as (select 1) select (select count(*) from "postgres.logs") from w1 join memory.main.t on true`,
    `select getenv('PATH') from read_text('x')`,
  ]);
  expect(inner).toEqual({ tables: ['postgres.logs', 'memory.main.t'], strangers: [] });
  expect(shown?.strangers).toEqual(['getenv', expect.stringContaining('TABLE_FUNCTION'), 'read_text']);
});

test('contract 4.11: no mutant of an attack reads or shows what the saved query hides', async () => {
  const seed = propertySeed;
  const { counts, escapes } = await fuzzSandbox({ seed, mutants: 2500, runEvery: 5, marked, other, plain });
  expect({ seed, escapes }).toEqual({ seed, escapes: [] });
  expect(counts.accepted).toBeGreaterThan(250);
  expect(counts.executed).toBeGreaterThan(50);
});
