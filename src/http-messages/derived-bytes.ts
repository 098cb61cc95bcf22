import { LRUCache } from 'lru-cache';

/** Bytes that were made from a body, such as its encodings, kept for later requests. */
export type DerivedBytes = {
  /** A key for a form of a body. Equal bodies have different keys: what is made of them may depend on more than their bytes. */
  keyOf(body: Buffer, form: string): string;
  get(key: string): Buffer | undefined;
  set(key: string, derived: Buffer): void;
};

/** Maximum bytes kept: three encodings of bodies that hardly compress would otherwise take more than the cache itself. */
const maxBytes = 32 * 1024 * 1024;

/** Bytes of memory of kept bytes besides their own. */
const overhead = 256;

/** Makes an empty store of derived bytes. */
export function keepDerivedBytes(): DerivedBytes {
  const kept = new LRUCache<string, Buffer>({
    maxSize: maxBytes,
    sizeCalculation: derived => derived.length + overhead,
  });
  const ids = new WeakMap<Buffer, number>();
  let lastId = 0;
  return {
    keyOf(body, form) {
      const id = ids.get(body) ?? ++lastId;
      ids.set(body, id);
      return `${id} ${form}`;
    },
    get: key => kept.get(key),
    set: (key, derived) => void kept.set(key, derived),
  };
}
