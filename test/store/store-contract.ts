import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Store, type StoreMessage, versionBytes } from '../../src/store/store.ts';

type Opened = {
  readonly store: Store;
  /** Another gateway's access to the same store. */
  readonly other: Store;
  /** Lets this much time pass for the store. */
  readonly pass: (ms: number) => Promise<void>;
};

const minuteMs = 60_000;
/** A lease or value that is to end in a test, which itself takes less. */
const shortMs = minuteMs / 2;
const afterShort = shortMs + 50;

/** A value as the store wants it: a version, then the content. */
const valueWith = (version: string, body = '') => Buffer.from(version.padEnd(versionBytes, '.') + body);
const versionOf = (value: Buffer) => value.subarray(0, versionBytes);

const claim = (store: Store, key: string, token: string, knownVersion?: Buffer, leaseMs = minuteMs) =>
  store.claim(key, { token, leaseMs, knownVersion });

async function read(store: Store, key: string): Promise<Buffer | undefined> {
  return (await store.read([key], [])).values[0];
}

async function put(store: Store, key: string, value: Buffer, ttlMs = minuteMs): Promise<void> {
  const seen = await read(store, key);
  expect(await claim(store, key, 'put', seen && versionOf(seen))).toEqual({ state: 'granted' });
  expect(await store.publish(key, 'put', value, ttlMs)).toBe(true);
}

/** Records the store's messages about this key or group; those of earlier tests, about other keys, may still arrive. */
function record(store: Store, subject: string): StoreMessage[] {
  const received: StoreMessage[] = [];
  store.subscribe(message => {
    if (('key' in message && message.key === subject) || ('group' in message && message.group === subject))
      received.push(message);
  });
  return received;
}

/** What every store must do; each adapter runs it. Both stores are connected when they are opened. */
export function describeStoreContract(name: string, open: () => Promise<Opened>): void {
  describe(`${name} as a store`, () => {
    let store: Store;
    let other: Store;
    let pass: Opened['pass'];
    beforeEach(async () => {
      ({ store, other, pass } = await open());
    });
    afterEach(() => Promise.all([store.close(), other.close()]));

    describe('values', () => {
      test('has nothing under a key, and no generation of a group, that was never there', async () => {
        expect(await store.read(['never'], ['never'])).toEqual({ values: [undefined], generations: [''] });
        expect(await store.read([], [])).toEqual({ values: [], generations: [] });
      });

      test('gives back every byte, also those that are no text', async () => {
        const bytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
        await put(store, 'bytes', bytes);
        expect(await read(other, 'bytes')).toEqual(bytes);
      });

      test('reads many keys and groups in the order they were asked for', async () => {
        for (const key of ['a', 'b', 'c']) await put(store, key, valueWith(key));
        await store.bumpGeneration('g');
        const { values, generations } = await other.read(['c', 'none', 'a', 'b', 'a'], ['none', 'g']);
        expect(values).toEqual(['c', undefined, 'a', 'b', 'a'].map(key => key && valueWith(key)));
        expect(generations).toEqual(['', expect.stringMatching(/./)]);
      });

      test('takes any text as a key, and keeps keys apart', async () => {
        const keys = ['a:b\r\nGET *\u0000 é', 'one', 'one ', 'a{b}c', 'a}b'];
        for (const key of keys) await put(store, key, valueWith('v', key));
        for (const key of keys) expect(await read(store, key)).toEqual(valueWith('v', key));
      });

      test('drops a value when its time is over, and only then', async () => {
        await put(store, 'short', valueWith('x'), shortMs);
        await put(store, 'long', valueWith('y'));
        expect(await read(store, 'short')).toEqual(valueWith('x'));
        await pass(afterShort);
        expect(await read(store, 'short')).toBeUndefined();
        expect(await read(store, 'long')).toEqual(valueWith('y'));
      });

      test('restarts the time with each publication', async () => {
        await put(store, 'replaced', valueWith('x'), shortMs);
        await put(store, 'replaced', valueWith('y'));
        await pass(afterShort);
        expect(await read(store, 'replaced')).toEqual(valueWith('y'));
      });
    });

    describe('claims', () => {
      test('shows a value to a claimant who has not seen it, and takes no lease', async () => {
        await put(store, 'k', valueWith('1', 'body'));
        const changed = { state: 'changed', value: valueWith('1', 'body') };
        expect(await claim(other, 'k', 'a')).toEqual(changed);
        expect(await claim(other, 'k', 'a', valueWith('0'))).toEqual(changed);
        expect(await claim(other, 'k', 'b', valueWith('1'))).toEqual({ state: 'granted' });
      });

      test('grants a lease to a claimant whose value is gone', async () => {
        expect(await claim(store, 'k', 'a', valueWith('1'))).toEqual({ state: 'granted' });
        expect((await claim(other, 'k', 'b')).state).toBe('held');
        expect(await store.publish('k', 'a', valueWith('2'), minuteMs)).toBe(true);
      });

      test('takes times that are no whole milliseconds, or none at all', async () => {
        expect(await claim(store, 'k', 'a', undefined, minuteMs + 0.4)).toEqual({ state: 'granted' });
        expect(await store.extend('k', 'a', minuteMs + 0.4)).toBe(true);
        expect(await store.publish('k', 'a', valueWith('1'), 0.2)).toBe(true);
        await claim(store, 'another', 'a');
        expect(await store.publish('another', 'a', valueWith('1'), 0)).toBe(true);
      });

      test('grants a lease to one of many who ask together; the others learn how long it lasts', async () => {
        const asked = Array.from({ length: 20 }, (_, at) =>
          claim(at % 2 ? store : other, 'k', `token ${at}`),
        );
        const claims = await Promise.all(asked);
        expect(claims.filter(({ state }) => state === 'granted')).toHaveLength(1);
        for (const answer of claims) {
          if (answer.state === 'granted') continue;
          if (answer.state !== 'held') throw new Error(answer.state);
          expect(answer.forMs).toBeGreaterThan(minuteMs / 2);
          expect(answer.forMs).toBeLessThanOrEqual(minuteMs);
        }
        expect(await claim(store, 'another', 'b')).toEqual({ state: 'granted' });
      });
    });

    describe('leases', () => {
      test('end by themselves', async () => {
        await claim(store, 'k', 'dead', undefined, shortMs);
        expect((await claim(other, 'k', 'b')).state).toBe('held');
        await pass(afterShort);
        expect(await claim(other, 'k', 'b')).toEqual({ state: 'granted' });
      });

      test('last as long as they are extended', async () => {
        await claim(store, 'k', 'a', undefined, shortMs);
        expect(await store.extend('k', 'a', minuteMs)).toBe(true);
        await pass(afterShort);
        expect((await claim(other, 'k', 'b')).state).toBe('held');
        expect(await store.publish('k', 'a', valueWith('1'), minuteMs)).toBe(true);
      });

      test('are not extended for another token, nor when they are over', async () => {
        await claim(store, 'k', 'a', undefined, shortMs);
        expect(await other.extend('k', 'b', minuteMs)).toBe(false);
        await pass(afterShort);
        expect(await store.extend('k', 'a', minuteMs)).toBe(false);
        expect(await claim(other, 'k', 'b')).toEqual({ state: 'granted' });
      });

      test('refuse a late holder, whose value changes nothing', async () => {
        await claim(store, 'k', 'late', undefined, shortMs);
        await pass(afterShort);
        expect(await store.publish('k', 'late', valueWith('late'), minuteMs)).toBe(false);
        expect(await read(store, 'k')).toBeUndefined();
        await claim(other, 'k', 'next');
        expect(await store.publish('k', 'late', valueWith('late'), minuteMs)).toBe(false);
        expect(await other.publish('k', 'next', valueWith('next'), minuteMs)).toBe(true);
        expect(await store.publish('k', 'late', valueWith('late'), minuteMs)).toBe(false);
        expect(await read(store, 'k')).toEqual(valueWith('next'));
      });

      test('end with the publication', async () => {
        await put(store, 'k', valueWith('1'));
        expect(await store.publish('k', 'put', valueWith('2'), minuteMs)).toBe(false);
        expect(await claim(other, 'k', 'b', valueWith('1'))).toEqual({ state: 'granted' });
      });

      test('are given back by their holder alone', async () => {
        await claim(store, 'k', 'a');
        await other.release('k', 'b', 'not mine');
        expect((await claim(other, 'k', 'b')).state).toBe('held');
        await store.release('k', 'a', 'failed');
        expect(await claim(other, 'k', 'b')).toEqual({ state: 'granted' });
      });
    });

    describe('removal', () => {
      test('puts a new tombstone in place of a value, and none like another', async () => {
        await put(store, 'k', valueWith('1', 'body'));
        await other.remove('k');
        const tombstone = await read(store, 'k');
        expect(tombstone).toHaveLength(versionBytes);
        expect(await claim(store, 'k', 'a', valueWith('1'))).toEqual({ state: 'changed', value: tombstone });
        expect(await claim(store, 'k', 'a', tombstone)).toEqual({ state: 'granted' });
        await other.remove('k');
        expect(await read(store, 'k')).not.toEqual(tombstone);
      });

      test('is remembered for longer than a moment', async () => {
        await store.remove('k');
        await store.bumpGeneration('g');
        const before = await other.read(['k'], ['g']);
        await pass(afterShort);
        expect(await other.read(['k'], ['g'])).toEqual(before);
        expect(before).toEqual({ values: [expect.any(Buffer)], generations: [expect.stringMatching(/./)] });
      });

      test('refuses what was being made meanwhile', async () => {
        await claim(store, 'k', 'a');
        await other.remove('k');
        expect(await store.extend('k', 'a', minuteMs)).toBe(false);
        expect(await store.publish('k', 'a', valueWith('old'), minuteMs)).toBe(false);
        expect(await read(store, 'k')).toHaveLength(versionBytes);
      });
    });

    test('never gives a group a generation twice', async () => {
      const seen = new Set(['']);
      for (let round = 0; round < 20; round++) {
        await (round % 2 ? store : other).bumpGeneration('g');
        seen.add((await store.read([], ['g'])).generations[0]!);
      }
      expect(seen.size).toBe(21);
    });

    describe('messages', () => {
      test('begin with one that says they arrive', () => {
        const received: StoreMessage[] = [];
        store.subscribe(message => received.push(message));
        expect(received).toEqual([{ type: 'connected' }]);
      });

      test('about a key reach all subscribers of all gateways, in order', async () => {
        const subscribers = [record(store, 'é'), record(other, 'é'), record(other, 'é')];
        await put(store, 'é', valueWith('1'));
        await claim(store, 'é', 'a', valueWith('1'));
        await store.release('é', 'a', 'BAD_USER_INPUT');
        await store.remove('é');
        for (const received of subscribers) {
          await vi.waitFor(() => expect(received).toHaveLength(3));
          expect(received).toEqual([
            { type: 'published', key: 'é' },
            { type: 'released', key: 'é', failurePayload: 'BAD_USER_INPUT' },
            { type: 'removed', key: 'é' },
          ]);
        }
      });

      // On a Cluster another node may publish it than those of the key, so that it comes in no order with them.
      test('about callers who join reach all subscribers of all gateways', async () => {
        const subscribers = [record(store, 'joined'), record(other, 'joined'), record(other, 'joined')];
        await store.join('joined', 'ü');
        for (const received of subscribers)
          await vi.waitFor(() => expect(received).toEqual([{ type: 'joined', key: 'joined', caller: 'ü' }]));
      });

      test('about a group carry its new generation', async () => {
        const subscribers = [record(store, 'bumped'), record(other, 'bumped')];
        await store.bumpGeneration('bumped');
        const [generation] = (await store.read([], ['bumped'])).generations;
        for (const received of subscribers) {
          await vi.waitFor(() => expect(received).toEqual([{ type: 'group', group: 'bumped', generation }]));
        }
      });

      test('are not published for what was refused', async () => {
        const received = record(other, 'refused');
        await claim(store, 'refused', 'a');
        await other.publish('refused', 'b', valueWith('1'), minuteMs);
        await other.release('refused', 'b', 'not mine');
        await store.remove('refused');
        await vi.waitFor(() => expect(received).toHaveLength(1));
        expect(received).toEqual([{ type: 'removed', key: 'refused' }]);
      });
    });

    test('answers a ping', async () => {
      await store.ping();
    });
  });
}
