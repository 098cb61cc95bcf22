import { createHash } from 'node:crypto';
import { messageOf } from '../base/errors.ts';
import { takeTurns } from '../base/turns.ts';
import { batchGroupOf, type EndpointQuery } from '../batch/run-queries.ts';
import type { WarmKey, WarmSchedule } from './schedule.ts';
import type { WarmEvent } from './warm-events.ts';

/** Collects the keys that are read, and reports them to the schedule periodically: a request costs one write to a map. */
export type HotKeys = {
  /** Records that a key was read; dropped when too many are pending. */
  recordRead(digest: string, query: EndpointQuery): void;
  /** Reports the pending keys to the schedule. */
  flush(): Promise<void>;
  close(): Promise<void>;
};

type HotKeysOptions = {
  readonly schedule: WarmSchedule;
  readonly emit: (event: WarmEvent) => void;
  /** Maximum keys between two flushes; further ones are dropped. Default 10,000. */
  readonly maxPending?: number;
  /** Milliseconds between two flushes. Default 1000. */
  readonly flushMs?: number;
};

/**
 * Maximum characters of a key's parameters and SQL; more than the 8 KB of SQL that callers put into a URL. Longer ones are not kept warm:
 * twenty thousand of 64 KiB would fill the schedule's memory.
 */
const maxPayloadLength = 12 * 1024;

/** Starts to collect reads. */
export function createHotKeys(options: HotKeysOptions): HotKeys {
  const { schedule, emit, maxPending = 10_000, flushMs = 1000 } = options;
  let pending = new Map<string, EndpointQuery>();
  let flushing: Promise<void> | undefined;
  const timer = setInterval(() => void flush(), flushMs).unref();

  async function send(read: ReadonlyMap<string, EndpointQuery>): Promise<void> {
    try {
      const turns = takeTurns();
      const keys: WarmKey[] = [];
      for (const [digest, query] of read) {
        while (turns.isOver()) await turns.next();
        const key = toWarmKey(digest, query);
        if (key.payload.length <= maxPayloadLength) keys.push(key);
      }
      await schedule.recordReads(keys);
    } catch (error) {
      emit({ type: 'warm.schedule_failed', message: messageOf(error) });
    }
  }

  function flush(): Promise<void> {
    if (pending.size === 0) return flushing ?? Promise.resolve();
    // One at a time: if the schedule is slow, reads are dropped rather than piled up.
    if (flushing) return flushing;
    const read = pending;
    pending = new Map();
    flushing = send(read).finally(() => {
      flushing = undefined;
    });
    return flushing;
  }

  return {
    recordRead(digest, query) {
      if (pending.size < maxPending) pending.set(digest, query);
    },
    flush,
    async close() {
      clearInterval(timer);
      await flushing;
      await flush();
    },
  };
}

function toWarmKey(digest: string, query: EndpointQuery): WarmKey {
  const { definition, parameters, callerSql } = query;
  const group = batchGroupOf(query);
  const values = Object.fromEntries(parameters.map(({ name, value }) => [name, value]));
  return {
    digest,
    // A key that no batch can answer is a group of its own.
    group: group === undefined ? digest : createHash('sha256').update(group).digest('hex'),
    endpoint: definition.name,
    payload: JSON.stringify({ endpoint: definition.id, parameters: { ...values, sql: callerSql } }),
    periodMs: definition.warmSeconds * 1000,
    lifetimeMs: definition.cacheSeconds * 1000,
  };
}
