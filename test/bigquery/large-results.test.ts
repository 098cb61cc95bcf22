import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test, vi } from 'vitest';
import { type FleetGateway, startGatewayProcess } from '../support/fleet.ts';
import { bigqueryEnvironment } from './bigquery-environment.ts';
import { startGigabyteWarehouse } from './start-gigabyte-warehouse.ts';

let gateway: FleetGateway;
let warehouse: Awaited<ReturnType<typeof startGigabyteWarehouse>>;

beforeAll(async () => {
  warehouse = await startGigabyteWarehouse();
  const agent = new Agent({ keepAlive: true });
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'large-'));
  gateway = await startGatewayProcess({ ...bigqueryEnvironment(warehouse.url), DATA_DIR }, agent);
  return async () => {
    agent.destroy();
    await gateway.kill();
    await warehouse.stop();
    await rm(DATA_DIR, { recursive: true });
  };
});

const path = (sql: string) =>
  `/api/endpoints/query/logs.all?${new URLSearchParams({ project: 'ours', sql })}`;

/** Megabytes (2^20) that the gateway has had in memory at most (Linux). */
async function peakMb(): Promise<number> {
  const status = await readFile(`/proc/${gateway.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}

test.each([
  ['rows', 16_777_216],
  ['packed', 16_777_216],
  ['value', 16_777_216],
])(
  'contract 11.1, 11.3: four callers who ask for a gigabyte each (%s) are refused, and harm nobody',
  async (form, limit) => {
    const before = await warehouse.counts();
    const callers = [1, 2, 3, 4].map(n => gateway.get(path(`select 'x${n}' as x -- ${form}`)));
    let isOver = false;
    const over = Promise.all(callers).finally(() => {
      isOver = true;
    });
    let plainRequests = 0;
    while (!isOver) {
      const [plain, live] = [await gateway.get(path('select "1" as x')), await gateway.get('/health')];
      expect([plain.status, live.status]).toEqual([200, 200]);
      plainRequests += 1;
      await sleep(5);
    }
    for (const { status, text } of await over) {
      expect(status).toBe(400);
      expect(JSON.parse(text).error).toMatchObject({
        code: 'result_too_large',
        message: expect.stringContaining(`${limit} bytes`),
      });
    }
    // Each job is cancelled, a moment later, and none is run or read again.
    await vi.waitFor(async () => {
      const now = await warehouse.counts();
      const added = (what: string) => (now[what] ?? 0) - (before[what] ?? 0);
      const attacks = { insert: added('insert') - plainRequests, results: added('results') - plainRequests };
      expect({ ...attacks, cancel: added('cancel') }).toEqual({ insert: 4, results: 4, cancel: 4 });
    });
    expect(await peakMb()).toBeLessThan(600);
  },
);
