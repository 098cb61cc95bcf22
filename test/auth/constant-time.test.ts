import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { issueToken } from '../../src/auth/manage-tokens.ts';
import { tokenFile } from '../../src/auth/token-file.ts';
import { createTokens } from '../../src/auth/tokens.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const comparisons = vi.hoisted(() => ({ count: 0 }));
vi.mock('node:crypto', async importOriginal => {
  const crypto = await importOriginal<typeof import('node:crypto')>();
  const timingSafeEqual: typeof crypto.timingSafeEqual = (a, b) => {
    comparisons.count++;
    return crypto.timingSafeEqual(a, b);
  };
  return { ...crypto, timingSafeEqual };
});

beforeEach(() => {
  comparisons.count = 0;
});

test('contract 8.2: a token is compared with one hash in constant time, whichever it is and if it is none', async () => {
  const file = join(await temporaryDirectory(), 'tokens.json');
  const clock = createStandingClock();
  const issued: string[] = [];
  for (const name of ['a', 'b', 'c']) issued.push(await issueToken(tokenFile(file), { name, clock }));
  const tokens = await createTokens({
    records: tokenFile(file),
    meters: { of: () => ({ admit: () => 0, addBytes: () => undefined, quota: undefined }) },
    hashes: [],
    accessToken: undefined,
    clock,
    emit: () => undefined,
  });
  onTestFinished(() => tokens.close());
  const costOf = (presented: string) => {
    const before = comparisons.count;
    try {
      tokens.authenticate(presented);
    } catch {
      // It need not be accepted.
    }
    return comparisons.count - before;
  };
  expect([...issued, 'none', `${issued[0]}x`].map(costOf)).toEqual([1, 1, 1, 1, 1]);
});
