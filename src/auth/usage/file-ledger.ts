import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { replaceFile } from '../../base/replace-file.ts';
import { withFileLock } from '../../base/with-file-lock.ts';
import type { TotalUsage, Usage, UsageLedger } from './usage-ledger.ts';

const entry = z.object({
  day: z.string(),
  bytesOfDay: z.number(),
  bytesOfMonth: z.number(),
  usedAtMs: z.number(),
});

type Entries = Record<string, z.infer<typeof entry>>;

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Milliseconds to wait for other gateways: the next exchange is soon, and the end of a gateway must not wait. */
const lockMs = 1000;

/** Keeps bytes and last uses of tokens in a file beside theirs. Gateways over one file add up bytes; requests are each one's own. */
export function createFileLedger(file: string): UsageLedger {
  return {
    intervalMs: 10_000,
    isShared: false,
    async exchange(used) {
      let totals: readonly TotalUsage[] = [];
      await withFileLock(
        file,
        async () => {
          const entries = await read(file);
          totals = used.map(usage => add(entries, usage));
          await replaceFile(file, `${JSON.stringify(entries)}\n`);
        },
        lockMs,
      );
      return totals;
    },
    async lastUses(tokenIds) {
      const entries = await read(file);
      return new Map(tokenIds.flatMap(id => (entries[id] ? [[id, entries[id].usedAtMs]] : [])));
    },
    close: async () => undefined,
  };
}

function add(entries: Entries, { tokenId, bytes, day: usedOn, usedAtMs }: Usage): TotalUsage {
  const known = entries[tokenId] ?? { day: usedOn, bytesOfDay: 0, bytesOfMonth: 0, usedAtMs: 0 };
  // What another gateway has used just before midnight counts for the day that has begun meanwhile, as it does in Redis.
  const isLate = usedOn < known.day && Date.parse(known.day) - Date.parse(usedOn) <= dayMs;
  const day = isLate ? known.day : usedOn;
  const isSameMonth = known.day.slice(0, 7) === day.slice(0, 7);
  const bytesOfDay = (known.day === day ? known.bytesOfDay : 0) + bytes;
  const bytesOfMonth = (isSameMonth ? known.bytesOfMonth : 0) + bytes;
  const usedAt = Math.max(known.usedAtMs, Math.floor(usedAtMs / minuteMs) * minuteMs);
  entries[tokenId] = { day, bytesOfDay, bytesOfMonth, usedAtMs: usedAt };
  return { bytesOfDay, bytesOfMonth };
}

/** A file that is not there, or that somebody has spoilt, is an empty one: it is no reason to refuse anybody. */
async function read(file: string): Promise<Entries> {
  try {
    return z.record(z.string(), entry).parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return {};
  }
}
