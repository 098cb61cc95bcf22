import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { checkHistory } from '../fleet/check-history.ts';
import { recordHistory } from './record-history.ts';

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
const rounds = Number(process.env.ROUNDS ?? 2);

test(
  'three gateways keep the promises of the cache while Redis and they are paused, killed and restarted, and their clocks moved',
  async () => {
    const tell = (words: string) => process.stdout.write(`${words}\n`);
    tell(`SEED=${seed} ROUNDS=${rounds}`);
    const history = await recordHistory(seed, rounds, tell);
    if (process.env.HISTORY_FILE) await writeFile(process.env.HISTORY_FILE, JSON.stringify(history));
    const { checked, violations } = checkHistory(history);
    const { requests, runs, invalidations } = history;
    tell(
      `${requests.length} requests, ${runs.length} queries, ${invalidations.length} invalidations; checked: ${JSON.stringify(checked)}`,
    );
    expect(violations).toEqual([]);
    // What a fault excuses is not checked: most of it is to be left.
    for (const count of Object.values(checked)) expect(count).toBeGreaterThan(20 * rounds);
  },
  120_000 + 120_000 * rounds,
);
