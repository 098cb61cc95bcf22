import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { digestBytes, joinBytes } from '../../src/base/bytes.ts';
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
