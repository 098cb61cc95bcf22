import { existsSync } from 'node:fs';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { openGateway } from '../support/open-gateway.ts';
import { startRedisServer } from '../support/redis-server.ts';

const path = '/api/endpoints/query/usage.api-counts?interval=hourly&project=ours';
const row = edgeRow({ id: 'a', timestamp: '2026-01-15T11:59:00Z', project: 'ours' });

test('a gateway that starts takes entries in Redis from before the last load for stale', async () => {
  const redis = await startRedisServer();
  onTestFinished(() => redis.stop());
  const environment = { REDIS_URL: redis.url };
  // Loads are dated by the system's clock.
  const first = await openGateway({ now: new Date().toISOString(), environment });
  const stateOf = async ({ get }: typeof first) => (await get(path)).headers.get('x-cache');
  expect(await stateOf(first)).toBe('MISS');
  const id = await readFile(join(first.directory, 'folder-id'));
  await first.close();

  const loader = await openGateway({});
  await loader.send('/api/sources/cloudflare.logs.prod/rows', { method: 'POST', body: JSON.stringify(row) });
  await expect.poll(() => existsSync(join(loader.directory, 'current.json')), { timeout: 60_000 }).toBe(true);

  const fill = async (directory: string) => {
    await cp(loader.directory, directory, { recursive: true });
    // The same folder, after the load.
    await writeFile(join(directory, 'folder-id'), id);
  };
  const now = new Date(Date.now() + 60_000).toISOString();
  const second = await openGateway({ now, environment, fill });
  onTestFinished(second.close);
  onTestFinished(loader.close);
  expect(await stateOf(second)).toBe('STALE');
  await expect.poll(() => stateOf(second)).toBe('HIT');
}, 120_000);
