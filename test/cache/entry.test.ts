import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { cacheKey, decodeEntry, type Entry, encodeEntry, makeEntry } from '../../src/cache/entry.ts';
import { decodeFailure, encodeFailure } from '../../src/cache/failure-payload.ts';

const columns = [{ name: 'n', type: 'INT64', mode: 'NULLABLE' } as const];
const facts = { canonical: 'the key', generation: 'g', createdAtMs: 1, loadMs: 2, isWarmed: true };

/** An entry with about this many bytes of rows, which repeat themselves. */
async function entryOf(bytes: number): Promise<{ entry: Entry; value: Buffer }> {
  const rowCount = Math.ceil(bytes / 10);
  const rowsJson = Buffer.from(`[${'{"n":1234},'.repeat(rowCount).slice(0, -1)}]`);
  const { entry, value } = await makeEntry(facts, { columns, rowsJson, rowCount }, 10_000_000);
  return { entry, value: value! }; // it is shorter
}

describe('a stored entry', () => {
  test.each([0, 1000, 100_000, 1_000_000])('of %d bytes comes back as it was', async bytes => {
    const { entry, value } = await entryOf(bytes);
    expect(await decodeEntry(value, 'the key')).toEqual(entry);
    expect(await decodeEntry(await encodeEntry(entry), 'the key')).toEqual(entry);
  });

  test('is compressed from 16 KB on', async () => {
    expect((await entryOf(14_000)).value.length).toBeGreaterThan(14_000);
    expect((await entryOf(17_000)).value.length).toBeLessThan(5000);
  });

  test('contract 5.2: of another key, of another layout, or damaged, is none', async () => {
    const { value } = await entryOf(1000);
    expect(await decodeEntry(value, 'another key')).toBeUndefined();
    const other = (await entryOf(1000)).value.toString('latin1').replace(/"layout":\d/, '"layout":0');
    expect(await decodeEntry(Buffer.from(other, 'latin1'), 'the key')).toBeUndefined();
    for (const length of [0, 10, 18, 100]) {
      expect(await decodeEntry((await entryOf(1000)).value.subarray(0, length), 'the key')).toBeUndefined();
    }
  });

  test('contract 11.2: is compressed and decompressed in the thread pool if it is long', async () => {
    const isDoneAtOnce = async (work: Promise<unknown>) => {
      let isDone = false;
      const working = work.then(() => {
        isDone = true;
      });
      // Microtasks alone run here: what the thread pool has made arrives after them.
      for (let turns = 0; turns < 100; turns++) await Promise.resolve();
      const wasDone = isDone;
      await working;
      return wasDone;
    };
    const atOnce = async ({ entry, value }: Awaited<ReturnType<typeof entryOf>>) => [
      await isDoneAtOnce(encodeEntry(entry)),
      await isDoneAtOnce(decodeEntry(value, 'the key')),
    ];
    expect(await atOnce(await entryOf(100_000))).toEqual([true, true]);
    expect(await atOnce(await entryOf(900_000))).toEqual([false, false]);
  });

  test('contract 11.2: is decompressed one at a time if it is long, whoever asks', async () => {
    const [long, short] = [await entryOf(9_000_000), await entryOf(300_000)];
    const ended: string[] = [];
    const decode = async (caller: string, { value }: typeof long) => {
      await decodeEntry(value, 'the key', { caller });
      ended.push(caller);
    };
    // On two threads the second, a thirtieth of the work, would end long before the first.
    await Promise.all([decode('first', long), decode('second', short)]);
    expect(ended).toEqual(['first', 'second']);
  });

  test.each([1000, 17_000])('of %d bytes keeps alive no larger buffer that it came in', async bytes => {
    const { entry, value } = await entryOf(bytes);
    const received = Buffer.concat([value, Buffer.alloc(1_000_000)]).subarray(0, value.length);
    const decoded = await decodeEntry(received, 'the key');
    expect(decoded?.body).toEqual(entry.body);
    expect(decoded?.body.buffer.byteLength).toBe(entry.body.length);
  });

  test('keeps alive no SQL that is far longer than its rows', async () => {
    const canonical = 'select '.repeat(9000);
    const result = { columns, rowsJson: Buffer.from('[{"n":1}]'), rowCount: 1 };
    const { entry, value } = await makeEntry({ ...facts, canonical }, result, 10_000_000);
    expect(entry.body.buffer.byteLength).toBeLessThan(100);
    const decoded = await decodeEntry(value!, canonical);
    expect(decoded?.body).toEqual(entry.body);
    expect(decoded?.body.buffer.byteLength).toBeLessThan(100);
  });
});

test('entries of two layouts have two keys: versions that run at the same time do not replace those of each other', async () => {
  const { digest, canonical } = cacheKey('group', '["ours"]');
  const [, layout] = /"layout":(\d+)/.exec((await entryOf(1000)).value.toString('latin1')) ?? [];
  const digestOf = (text: string) => createHash('sha256').update(text).digest('hex');
  expect(digest).toBe(digestOf(`${layout} ${canonical}`));
});

describe('a failure that is shared with other gateways', () => {
  test('comes back with its code and message', () => {
    const read = decodeFailure(encodeFailure(new GatewayError('invalid_query', 'No'), 'miss'), undefined);
    expect([read?.code, read?.message]).toEqual(['invalid_query', 'No']);
  });

  test('is not shared if it names a place in the text of one caller', () => {
    const error = new GatewayError('invalid_query', 'No such column', { position: { line: 3, column: 7 } });
    expect(encodeFailure(error, 'miss')).toBe('');
  });

  test.each(['', 'no JSON', '{}', 'null', '{"code":"of_a_newer_gateway","message":"x"}'])(
    'that can not be understood is none: %j',
    failurePayload => {
      expect(decodeFailure(failurePayload, undefined)).toBeUndefined();
    },
  );

  test.each(['cancelled', 'overloaded', 'unavailable', 'internal'] as const)(
    'is not shared if another gateway may succeed: %s',
    code => {
      expect(encodeFailure(new GatewayError(code, 'x'), 'miss')).toBe('');
    },
  );
});
