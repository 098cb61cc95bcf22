/**
 * Writes a small data folder as this version leaves it, for later versions to open: `node test/loading/make-data-folder.ts <folder>`. Two files of the
 * database of which one is ahead, learned fields, a list of two elements, and rows that wait. Each file is compressed.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { claimFolder } from '../../src/duckdb/data-folder/folder-format.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import { acceptEvents } from '../../src/loading/events/accept-events.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';

const [target = ''] = process.argv.slice(2);
const directory = await mkdtemp(join(tmpdir(), 'data-folder-'));
const databasePath = join(directory, 'logs.duckdb');
const sources = readSources();
const nowMs = Date.parse('2026-01-15T12:00:00Z');

const take = async (name: string, events: readonly object[]) => {
  const source = sources.find(each => each.name === name)!;
  const body = Buffer.from(JSON.stringify(events));
  await acceptEvents({ databasePath, folder: rowsFolderOf(databasePath), source, body, nowMs });
};
const turn = () =>
  storeAccepted({ databasePath, sources, emit: () => undefined, retains: true, nowMs: nowMs });

await claimFolder(databasePath);
await take('postgres.logs', [
  { id: 'p1', event_message: 'plain', metadata: { host: 'db', parsed: { error_severity: 'LOG' } } },
  {
    id: 'p2',
    event_message: 'two',
    metadata: { parsed: [{ error_severity: 'A' }, { error_severity: 'B' }] },
  },
]);
await take('gotrue.logs.prod', [
  { id: 'g1', event_message: 'learned', metadata: { level: 'info', extra: { depth: 1 } }, 'x-new': 1 },
]);
while (await turn());
await take('gotrue.logs.prod', [
  { id: 'g2', event_message: 'in one file', metadata: { extra: { depth: 1.5 } } },
]);
await turn();
await take('postgres.logs', [{ id: 'p3', event_message: 'waits', metadata: { host: ['teapot', {}] } }]);

await rm(target, { recursive: true, force: true });
for (const name of await readdir(directory, { recursive: true })) {
  const bytes = await readFile(join(directory, name)).catch(() => undefined);
  // The writer's lock holds nothing.
  if (!bytes || name.endsWith('writer.duckdb')) continue;
  await mkdir(dirname(join(target, name)), { recursive: true });
  await writeFile(join(target, `${name}.gz`), gzipSync(bytes, { level: 9 }));
}
await rm(directory, { recursive: true });
