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

/** Milliseconds to wait for other gateways: the next exchange comes soon, and a stopping gateway must not wait long. */
const lockMs = 1000;

/** Keeps bytes and last uses of tokens in a file beside the records. Gateways that share the file add up bytes; each counts its own requests. */
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
  // Bytes that another gateway used just before midnight count for the day that has begun meanwhile, as they do in Redis.
  const isLate = usedOn < known.day && Date.parse(known.day) - Date.parse(usedOn) <= dayMs;
  const day = isLate ? known.day : usedOn;
  const isSameMonth = known.day.slice(0, 7) === day.slice(0, 7);
  const bytesOfDay = (known.day === day ? known.bytesOfDay : 0) + bytes;
  const bytesOfMonth = (isSameMonth ? known.bytesOfMonth : 0) + bytes;
  const usedAt = Math.max(known.usedAtMs, Math.floor(usedAtMs / minuteMs) * minuteMs);
  entries[tokenId] = { day, bytesOfDay, bytesOfMonth, usedAtMs: usedAt };
  return { bytesOfDay, bytesOfMonth };
}

/** Reads the file. A missing or damaged one counts as empty: that is no reason to refuse callers. */
async function read(file: string): Promise<Entries> {
  try {
    return z.record(z.string(), entry).parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return {};
  }
}
