import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { vectorBatches, vectorSources } from '../../examples/supabase/vector-events.ts';
import { readCurrent, replicasOf } from '../../src/duckdb/replicas.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import { acceptEvents } from '../../src/loading/events/accept-events.ts';
import type { LoadingEvent } from '../../src/loading/loading-events.ts';
import { withRetention } from '../../src/loading/retention.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';
import { createUpkeep } from '../../src/loading/upkeep.ts';
import { askFile } from '../loading/ask-file.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const dayMs = 86_400_000;
const [days, keptDays, eventsOfDay] = [365, 14, 400];

/** By how much the disk may ever take more than in the first weeks after rows began to go. */
const growth = 1.15;

test('a year of a small installation: old rows go, disk usage stays flat, and nothing is reported', async () => {
  const directory = await temporaryDirectory();
  const databasePath = join(directory, 'logs.duckdb');
  const folder = rowsFolderOf(databasePath);
  const sources = withRetention(readSources(), { days: keptDays });
  const events: LoadingEvent[] = [];
  const emit = (event: LoadingEvent) => void events.push(event);
  const upkeep = createUpkeep(emit);
  const startMs = Date.parse('2025-03-01T00:00:00Z');
  const [taken, disk]: [number[], number[]] = [[], []];
  for (let day = 0; day < days; day++) {
    const fromMs = startMs + day * dayMs;
    const nowMs = fromMs + dayMs;
    const batches = [
      ...vectorBatches({ startMs: fromMs, endMs: nowMs, perSecond: eventsOfDay / 86_400, seed: day }),
    ];
    taken.push(0);
    for (const source of sources) {
      const own = batches.filter(batch => batch.source === source.name).flatMap(batch => batch.events);
      if (own.length === 0) continue;
      const body = Buffer.from(JSON.stringify(own));
      taken[day]! += (await acceptEvents({ databasePath, folder, source, body, nowMs })).events;
    }
    while (await storeAccepted({ databasePath, sources, emit, upkeep, nowMs, retains: true }));
    disk.push(await bytesOf(databasePath));
    if (day % 30 < 29 && day !== days - 1) continue;
    const kept = vectorSources.map(name => `SELECT timestamp AS t FROM "${name}"`).join(' UNION ALL ');
    const sql = `SELECT count(*)::INT, epoch_ms(min(t))::DOUBLE FROM (${kept})`;
    const [[count, oldestMs] = []] = await askFile(readCurrent(databasePath).path, sql);
    expect(Number(oldestMs)).toBeGreaterThanOrEqual(nowMs - keptDays * dayMs);
    expect(count).toBe(taken.slice(-keptDays).reduce((sum, n) => sum + n));
    process.stdout.write(`day ${day}: ${count} rows, ${(disk[day]! / 1024 ** 2).toFixed(1)} MB on disk\n`);
  }
  expect(events).toEqual([]);
  const first = Math.max(...disk.slice(keptDays, 3 * keptDays));
  expect(Math.max(...disk.slice(3 * keptDays))).toBeLessThan(growth * first);
}, 1_800_000);

/** Bytes of the database's files and of rows that wait. */
async function bytesOf(databasePath: string): Promise<number> {
  const folder = rowsFolderOf(databasePath);
  const waiting = (await readdir(folder)).map(name => join(folder, name));
  const found = await Promise.all([...replicasOf(databasePath), ...waiting].map(path => stat(path)));
  return found.reduce((sum, { size }) => sum + size, 0);
}
