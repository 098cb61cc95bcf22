import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Store, type StoreNews, versionBytes } from '../../src/store/store.ts';

type Opened = {
  /** Two users of one store. */
  readonly store: Store;
  readonly other: Store;
  /** Lets this much time pass for the store. */
  readonly pass: (ms: number) => Promise<void>;
};

/** A value whose version is `version` over and over. */
export const valueOfVersion = (version: string, text = '') =>
  Buffer.concat([Buffer.alloc(versionBytes, version), Buffer.from(text)]);

const claim = (token: string, knownVersion?: Buffer) => ({ token, leaseMs: 200, knownVersion });
const later = 60_000;

/** What every store must do; each adapter runs it. */
export function describeStoreContract(name: string, open: () => Promise<Opened>): void {
  describe(`${name} as a store`, () => {
    let store: Store;
    let other: Store;
    let pass: Opened['pass'];
    let news: StoreNews[];
    beforeEach(async () => {
      ({ store, other, pass } = await open());
      news = [];
      other.subscribe(item => news.push(item));
      await vi.waitFor(() => expect(news.at(-1)).toEqual({ type: 'listening' }));
      news.length = 0;
    });
    afterEach(async () => {
      await Promise.all([store.close(), other.close()]);
    });

    const read = async (...keys: string[]) =>
      (await store.read(keys, [])).values.map(value => value?.toString());
    async function put(key: string, value: Buffer, ttlMs = later): Promise<void> {
      await store.claim(key, claim(`put ${key}`, value.subarray(0, versionBytes)));
      expect(await store.publish(key, `put ${key}`, value, ttlMs)).toBe(true);
    }
    const heard = (...expected: StoreNews[]) => vi.waitFor(() => expect(news).toEqual(expected));

    test('has nothing under a key that was never set, and reads keys in their order', async () => {
      await put('one', valueOfVersion('1'));
      await put('two', valueOfVersion('2'));
      expect(await read('two', 'none', 'one')).toEqual([
        String(valueOfVersion('2')),
        undefined,
        String(valueOfVersion('1')),
      ]);
    });

    test('gives back every byte under any text as a key', async () => {
      const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      await put('a:b\r\nGET *\u0000 é', bytes);
      expect((await store.read(['a:b\r\nGET *\u0000 é'], [])).values).toEqual([bytes]);
    });

    test('drops a value when its time is over, and only then', async () => {
      await put('short', valueOfVersion('s'), 100);
      await put('long', valueOfVersion('l'));
      expect(await read('short')).not.toEqual([undefined]);
      await pass(101);
      expect(await read('short', 'long')).toEqual([undefined, String(valueOfVersion('l'))]);
    });

    test('gives a lease to one claimant, until it ends', async () => {
      expect(await store.claim('key', claim('a'))).toEqual({ state: 'granted' });
      const held = await other.claim('key', claim('b'));
      expect(held).toMatchObject({ state: 'held', forMs: expect.any(Number) });
      expect(held.state === 'held' && held.forMs).toBeGreaterThan(0);
      await pass(201);
      expect(await other.claim('key', claim('b'))).toEqual({ state: 'granted' });
      expect(await store.renew('key', 'a', 200)).toBe(false);
    });

    test('a lease that is renewed lasts longer', async () => {
      await store.claim('key', claim('a'));
      await pass(150);
      expect(await store.renew('key', 'a', 200)).toBe(true);
      await pass(100);
      expect(await other.claim('key', claim('b'))).toMatchObject({ state: 'held' });
    });

    test('publishing puts the value in place, ends the lease and tells everybody', async () => {
      await put('key', valueOfVersion('1'));
      await heard({ type: 'published', key: 'key' });
      expect(await other.claim('key', claim('b', valueOfVersion('1')))).toEqual({ state: 'granted' });
    });

    test('refuses the value of a late holder, and leaves everything as it is', async () => {
      await store.claim('key', claim('late'));
      await pass(201);
      await other.claim('key', claim('next'));
      expect(await store.publish('key', 'late', valueOfVersion('L'), later)).toBe(false);
      expect(await read('key')).toEqual([undefined]);
      expect(await other.publish('key', 'next', valueOfVersion('N'), later)).toBe(true);
      expect(await store.publish('key', 'late', valueOfVersion('L'), later)).toBe(false);
      expect(await read('key')).toEqual([String(valueOfVersion('N'))]);
    });

    test('shows a claimant the value that it has not seen, and takes no lease for it', async () => {
      await put('key', valueOfVersion('1', 'rows'));
      expect(await store.claim('key', claim('a'))).toEqual({
        state: 'changed',
        value: valueOfVersion('1', 'rows'),
      });
      expect(await store.claim('key', claim('a', valueOfVersion('0')))).toMatchObject({ state: 'changed' });
      expect(await store.claim('key', claim('a', valueOfVersion('1').subarray(0, versionBytes)))).toEqual({
        state: 'granted',
      });
    });

    test('a lease that is given back is free, and those who wait hear why', async () => {
      await store.claim('key', claim('a'));
      await store.release('key', 'somebody else', 'no');
      expect(await other.claim('key', claim('b'))).toMatchObject({ state: 'held' });
      await store.release('key', 'a', 'é "why"');
      expect(await other.claim('key', claim('b'))).toEqual({ state: 'granted' });
      await heard({ type: 'released', key: 'key', note: 'é "why"' });
    });

    test('removing leaves a mark that is no value of before, and stops what is being made', async () => {
      await put('key', valueOfVersion('1', 'rows'));
      await store.claim('key', claim('a', valueOfVersion('1').subarray(0, versionBytes)));
      await other.remove('key');
      expect(await store.publish('key', 'a', valueOfVersion('2'), later)).toBe(false);
      const [mark] = (await store.read(['key'], [])).values;
      expect(mark).toHaveLength(versionBytes);
      await heard({ type: 'published', key: 'key' }, { type: 'removed', key: 'key' });
    });

    test('a group has no generation until it gets one, and never the same again', async () => {
      expect((await store.read([], ['group'])).generations).toEqual(['']);
      await store.renewGroup('group');
      const [first] = (await other.read([], ['group', 'another'])).generations;
      await store.renewGroup('group');
      const { generations } = await other.read(['key'], ['another', 'group']);
      expect(generations[0]).toBe('');
      expect(new Set(['', first, generations[1]]).size).toBe(3);
      await heard(
        { type: 'group', group: 'group', generation: first! },
        { type: 'group', group: 'group', generation: generations[1]! },
      );
    });
  });
}
