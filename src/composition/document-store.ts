import { randomBytes, randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import { type DocumentStore, sha256 } from '../graphql/persisted-operations.ts';
import { type Store, versionBytes } from '../store/store.ts';

/** Maximum characters of a document that is kept, and of all documents in this process. */
const maxLength = 64 * 1024;
const maxTotalLength = 2 * 1024 * 1024;

/** Milliseconds for which the store keeps a document after it was sent in full. */
const ttlMs = 7 * 86_400_000;

/** Maximum bytes of new documents that go to the store in a minute: they displace cache entries of all callers, and cost their sender nothing. */
const maxMinuteBytes = 1024 * 1024;

/** Bytes that a document takes in the store beside its text. */
const overheadBytes = 500;

/**
 * Keeps the documents of automatic persisted queries in this process, and in the store for all gateways. While the store does not answer, or
 * too many new documents come, a client is asked for the whole document again.
 */
export function createDocumentStore(
  store: Pick<Store, 'read' | 'claim' | 'publish'>,
  clock: Clock,
): DocumentStore {
  const own = new LRUCache<string, string>({
    maxSize: maxTotalLength,
    sizeCalculation: text => text.length + 100,
  });
  const keyOf = (hash: string) => `document:${hash}`;
  let minute = 0;
  let minuteBytes = 0;

  /** Whether the store has room for a new document in this minute. */
  function takesNew(text: string): boolean {
    const now = Math.floor(clock.now() / 60_000);
    if (now !== minute) [minute, minuteBytes] = [now, 0];
    minuteBytes += Buffer.byteLength(text) + overheadBytes;
    return minuteBytes <= maxMinuteBytes;
  }

  async function publish(hash: string, text: string): Promise<void> {
    const token = randomUUID();
    const claim = await store.claim(keyOf(hash), { token, leaseMs: 1000, knownVersion: undefined });
    if (claim.state !== 'granted') return;
    const value = Buffer.concat([randomBytes(versionBytes), Buffer.from(text)]);
    await store.publish(keyOf(hash), token, value, ttlMs);
  }

  return {
    async find(hash) {
      const known = own.get(hash);
      if (known !== undefined) return known;
      const found = await store.read([keyOf(hash)], []).catch(() => undefined);
      const text = found?.values[0]?.subarray(versionBytes).toString();
      // Not trusted: others may be able to write to the store.
      if (text === undefined || sha256(text) !== hash) return undefined;
      own.set(hash, text);
      return text;
    },
    keep(hash, text) {
      if (text.length > maxLength || own.has(hash)) return;
      own.set(hash, text);
      if (takesNew(text)) publish(hash, text).catch(() => undefined);
    },
  };
}
