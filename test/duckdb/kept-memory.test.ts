import { expect, test } from 'vitest';
import { watchKeptMemory } from '../../src/duckdb/kept-memory.ts';

const mb = 1024 * 1024;

/** A process that had 100 MB before its first run. */
function openMemory() {
  const now = { residentMb: 100, blocksMb: 0, freeMb: 0, asked: 0, releases: 0 };
  const memory = watchKeptMemory({
    maxBytes: 128 * mb,
    residentBytes: () => now.residentMb * mb,
    blockBytes: async () => {
      now.asked++;
      if (now.blocksMb < 0) throw new Error('Out of Memory');
      return now.blocksMb * mb;
    },
    async release() {
      now.releases++;
      now.residentMb -= now.freeMb;
    },
  });
  const after = (residentMb: number, blocksMb: number, hasFailed = false, freeMb = 0) => {
    Object.assign(now, { residentMb, blocksMb, freeMb });
    return memory.isMuch({ hasFailed });
  };
  const rest = async (residentMb: number, freeMb: number, blocksMb = 0) => {
    Object.assign(now, { residentMb, freeMb, blocksMb });
    const isMuch = await memory.rest();
    return [now.residentMb, now.releases, isMuch];
  };
  return { now, after, rest };
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

test('what is free is released before it counts as much', async () => {
  const { now, after } = openMemory();
  expect(await after(400, 100, false, 80)).toBe(false);
  expect(now.releases).toBe(1);
  // Nothing has changed since.
  expect(await after(320, 100)).toBe(false);
  expect(now).toMatchObject({ asked: 1, releases: 1 });
  expect(await after(400, 100, false, 60)).toBe(true);
  expect(await after(400, 100, true, 80)).toBe(false);
});

test('a process that rests releases what is free, once', async () => {
  const { rest } = openMemory();
  expect(await rest(131, 20)).toEqual([131, 0, false]);
  expect(await rest(180, 40)).toEqual([140, 1, false]);
  // It has what it had when it last rested, and little more.
  expect(await rest(147, 20)).toEqual([147, 1, false]);
  expect(await rest(149, 9)).toEqual([140, 2, false]);
});

test('a process that still keeps half as much when it has rested is to be replaced', async () => {
  const { now, rest } = openMemory();
  expect(await rest(300, 136)).toEqual([164, 1, false]);
  expect(now.asked).toBe(0);
  expect(await rest(200, 35)).toEqual([165, 2, true]);
  // Nothing new, and still much.
  expect(await rest(165, 0)).toEqual([165, 2, true]);
  expect(await rest(165, 0, 10)).toEqual([165, 2, false]);
});
