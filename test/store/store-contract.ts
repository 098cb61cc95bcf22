import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Store } from '../../src/store/store.ts';

type Opened = {
  readonly store: Store;
  /** Lets this much time pass for the store's entries. */
  readonly pass: (ms: number) => Promise<void>;
};

/** What every store must do; each adapter runs it. */
export function describeStoreContract(name: string, open: () => Promise<Opened>): void {
  describe(`${name} as a store`, () => {
    let opened: Opened;
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.store.close());

    test('has nothing under a key that was never set', async () => {
      expect(await opened.store.get('never-set')).toBeUndefined();
    });

    test('gives back every byte, also those that are no text', async () => {
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      await opened.store.set('bytes', bytes, 60_000);
      expect(await opened.store.get('bytes')).toEqual(bytes);
    });

    test('gives back an empty value as empty, not as absent', async () => {
      await opened.store.set('empty', Buffer.alloc(0), 60_000);
      expect(await opened.store.get('empty')).toEqual(Buffer.alloc(0));
    });

    test('keeps the last value of a key, and keys apart', async () => {
      await opened.store.set('one', Buffer.from('old'), 60_000);
      await opened.store.set('one', Buffer.from('new'), 60_000);
      await opened.store.set('one ', Buffer.from('other'), 60_000);
      expect(String(await opened.store.get('one'))).toBe('new');
      expect(String(await opened.store.get('one '))).toBe('other');
    });

    test('takes any text as a key', async () => {
      const key = 'a:b\r\nGET *\u0000 é';
      await opened.store.set(key, Buffer.from('value'), 60_000);
      expect(String(await opened.store.get(key))).toBe('value');
    });

    test('drops a value when its time is over, and only then', async () => {
      await opened.store.set('short', Buffer.from('x'), 100);
      await opened.store.set('long', Buffer.from('y'), 60_000);
      expect(String(await opened.store.get('short'))).toBe('x');
      await opened.pass(101);
      expect(await opened.store.get('short')).toBeUndefined();
      expect(String(await opened.store.get('long'))).toBe('y');
    });

    test('starts the time anew with each set', async () => {
      await opened.store.set('renewed', Buffer.from('x'), 100);
      await opened.store.set('renewed', Buffer.from('x'), 60_000);
      await opened.pass(101);
      expect(String(await opened.store.get('renewed'))).toBe('x');
    });
  });
}
