import { expect, test } from 'vitest';
import { watchKeptMemory } from '../../src/duckdb/kept-memory.ts';

const mb = 1024 * 1024;

/** A process that had 100 MB before its first run. */
function openMemory() {
  const now = { residentMb: 100, blocksMb: 0, asked: 0 };
  const memory = watchKeptMemory({
    residentBytes: () => now.residentMb * mb,
    blockBytes: async () => {
      now.asked++;
      if (now.blocksMb < 0) throw new Error('Out of Memory');
      return now.blocksMb * mb;
    },
  });
  const after = (residentMb: number, blocksMb: number, hasFailed = false) => {
    Object.assign(now, { residentMb, blocksMb });
    return memory.isMuch({ hasFailed });
  };
  return { now, after };
}

test('what runs leave behind is much from 128 MB on, without the blocks of the file', async () => {
  const { after } = openMemory();
  expect(await after(227, 0)).toBe(false);
  expect(await after(400, 173)).toBe(false);
  expect(await after(530, 173)).toBe(true);
  expect(await after(530, 173)).toBe(true);
});

test('asks for blocks only when memory has changed since they were enough', async () => {
  const { now, after } = openMemory();
  expect(await after(227, 100)).toBe(false);
  expect(now.asked).toBe(0);
  for (let run = 0; run < 3; run++) expect(await after(300, 150)).toBe(false);
  expect(now.asked).toBe(1);
  expect(await after(307, 150)).toBe(false);
  expect(await after(293, 150)).toBe(false);
  expect(now.asked).toBe(1);
  expect(await after(308, 150)).toBe(false);
  expect(now.asked).toBe(2);
  expect(await after(299, 50)).toBe(true);
  expect(now.asked).toBe(3);
});

test('asks after each failed run: what it has left may be in the place of blocks', async () => {
  const { now, after } = openMemory();
  expect(await after(500, 400)).toBe(false);
  expect(await after(500, 100, true)).toBe(true);
  expect(await after(500, -1, true)).toBe(true);
  expect(now.asked).toBe(3);
});
