import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { digestBytes, joinBytes, releaseBytes } from '../../src/base/bytes.ts';
import { longestTurn } from '../support/longest-turn.ts';

const parts = [Buffer.from('['), Buffer.alloc(5_000_001, 'ab'), Buffer.alloc(0), Buffer.from(']')];
const whole = Buffer.concat(parts);

test('joins bytes and hashes them as if it were done at once', async () => {
  const joined = await joinBytes(parts);
  expect(joined.equals(whole)).toBe(true);
  expect(joined.buffer.byteLength).toBe(whole.length);
  expect(await joinBytes([])).toEqual(Buffer.alloc(0));
  for (const bytes of [whole, parts[0]!, Buffer.alloc(0)])
    expect(await digestBytes(bytes)).toBe(
      createHash('sha256').update(bytes).digest().toString('base64url', 0, 16),
    );
});

test('contract 11.2: lets the event loop turn while long bytes are joined and hashed', async () => {
  const long = Buffer.alloc(100 * 1024 * 1024, 'x');
  const { turnMs: wholeMs } = await longestTurn(async () => createHash('sha256').update(long).digest());
  for (const act of [() => joinBytes([long]), () => digestBytes(long)]) {
    const { turnMs } = await longestTurn<unknown>(act);
    expect(turnMs).toBeLessThan(wholeMs / 2);
  }
});

test('frees long bytes that have memory of their own, and no others', () => {
  const long = 64 * 1024;
  const [own, shared] = [Buffer.allocUnsafeSlow(long), Buffer.from(new SharedArrayBuffer(long))];
  const slice = Buffer.allocUnsafeSlow(2 * long).subarray(0, long);
  const short = Buffer.allocUnsafeSlow(1000);
  const all = [own, shared, slice, short];
  for (const bytes of all) releaseBytes(bytes);
  expect(all.map(bytes => bytes.length)).toEqual([0, long, long, 1000]);
});
