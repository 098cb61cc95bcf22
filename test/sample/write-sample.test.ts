import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openForWriting } from '../../src/duckdb/database.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { sampleSources } from '../../src/sample/sample-sources.ts';
import { sampleProjects } from '../../src/sample/vocabulary.ts';
import { writeSample } from '../../src/sample/write-sample.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const sources = readSources();
const edge = 'cloudflare.logs.prod';
const now = Date.parse('2026-01-15T12:00:00Z');
const minute = 60_000;
const day = 24 * 60 * minute;

async function openSample() {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  const query = async (sql: string) => {
    const database = await openForWriting(databasePath, sources);
    try {
      return (await database.connection.runAndReadAll(sql)).getRowsJson();
    } finally {
      database.close();
    }
  };
  return {
    query,
    write: (rows: number, nowMs: number) => writeSample({ databasePath, sources, rows, nowMs }),
    /** For each source, numbers that any change of any of its rows changes. */
    checksums: (where = 'true') =>
      query(ofEach(sources, `count(*), sum(hash(to_json(t)::VARCHAR) % 1000000007)`, where)),
  };
}

/** One statement over all sources: opening a database takes longer than reading it. */
const ofEach = (all: typeof sources, values: string, where = 'true') =>
  all
    .map(({ name }) => `SELECT '${name}', ${values} FROM "${name}" t WHERE ${where}`)
    .join(' UNION ALL ')
    .concat(' ORDER BY 1');

test('every source has its rows, within the last seven days', async () => {
  const { query, write } = await openSample();
  await write(2000, now);
  const found = await query(ofEach(sources, 'count(*), min(epoch_ms(timestamp)), max(epoch_ms(timestamp))'));
  expect(found.map(([name]) => name)).toEqual(sources.map(({ name }) => name).sort());
  for (const [name, count, oldest, newest] of found) {
    const expected = 2000 * (sampleSources[String(name)]?.share ?? Number.NaN);
    expect(Math.abs(Number(count) - expected)).toBeLessThanOrEqual(2);
    expect(Number(oldest)).toBeGreaterThanOrEqual(now - 7 * day);
    expect(Number(newest)).toBeLessThanOrEqual(now);
    expect(Number(newest)).toBeGreaterThan(now - day);
  }
});

test('the same window has the same rows on any machine', async () => {
  const [one, two] = [await openSample(), await openSample()];
  await one.write(1000, now);
  await two.write(1000, now);
  expect(await one.checksums()).toEqual(await two.checksums());
});

test('a later call adds only the ticks since, and the rows are those of one call', async () => {
  const [steps, once] = [await openSample(), await openSample()];
  await steps.write(1000, now - 2 * day);
  const before = await steps.checksums();
  expect(await steps.write(1000, now - 2 * day)).toBe(0);
  expect(await steps.checksums()).toEqual(before);
  await steps.write(1000, now - 1 * day);
  await steps.write(1000, now);
  await once.write(1000, now);
  const window = `timestamp > TIMESTAMPTZ '2026-01-08 13:00:00+00'`;
  expect(await steps.checksums(window)).toEqual(await once.checksums(window));
});

test('a start after a long pause fills seven days, no more', async () => {
  const { query, write } = await openSample();
  await write(1000, now - 100 * day);
  await write(1000, now);
  const gap = `epoch_ms(timestamp) BETWEEN ${now - 99 * day} AND ${now - 7 * day}`;
  expect(await query(`SELECT count(*) FROM "${edge}" WHERE ${gap}`)).toEqual([['0']]);
});

test('another rate replaces the sample and leaves imported rows, and 0 takes it away', async () => {
  const { query, write } = await openSample();
  await write(1000, now);
  await query(`INSERT INTO "${edge}" BY NAME SELECT 'mine' AS id, TIMESTAMPTZ '2026-01-01' AS timestamp`);
  await write(3000, now);
  expect(await query(`SELECT count(*) FROM "${edge}"`)).toEqual([['3000']]); // 2,999 ticks are over, and the own row
  await write(0, now);
  expect(await query(`SELECT id FROM "${edge}"`)).toEqual([['mine']]);
});

test('rows look like logs: several projects with skewed traffic, paths of the four areas, errors, both kinds of IP', async () => {
  const { query, write } = await openSample();
  await write(5000, now);
  const projects = await query(`SELECT project FROM "${edge}" GROUP BY project ORDER BY count(*) DESC`);
  expect(projects.map(([project]) => project)).toEqual([...sampleProjects]);
  const shares = async (...conditions: string[]) => {
    const columns = conditions.map(condition => `count(*) FILTER (${condition}) / count(*)`);
    const [row = []] = await query(`SELECT ${columns.join(', ')} FROM "${edge}"`);
    return row.map(Number);
  };
  const areas = ['/rest', '/storage', '/auth', '/realtime'];
  const ofAreas = await shares(...areas.map(area => `contains(metadata.request.path, '${area}')`));
  expect(Math.min(...ofAreas)).toBeGreaterThan(0.03);
  const [failed, ipv6, withoutCf, named] = await shares(
    'metadata.response.status_code >= 500',
    "contains(metadata.request.headers.cf_connecting_ip, ':')",
    'metadata.request.cf IS NULL',
    "contains(metadata.request.url, project) AND starts_with(metadata.request.url, 'https://')",
  );
  expect(failed).toBeGreaterThan(0.002);
  expect(ipv6).toBeGreaterThan(0.05);
  expect(withoutCf).toBeGreaterThan(0.005);
  expect(named).toBe(1);
  expect(await query(`SELECT count(*) FROM (SELECT DISTINCT id FROM "${edge}")`)).toEqual([['4999']]);
});
