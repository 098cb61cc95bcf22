import { expect, test } from 'vitest';
import { createByteShares, openClaims } from '../../src/base/byte-shares.ts';

const mb = 1024 * 1024;

test('contract 11.1: a caller that holds its share is refused, and no other', () => {
  const shares = createByteShares('written');
  const release = shares.take('a', 30 * mb);
  expect(() => shares.take('a', 3 * mb)).toThrow(expect.objectContaining({ code: 'too_many_requests' }));
  for (const other of 'bcd') shares.take(other, 32 * mb);
  // There are too many by now, but not of this caller.
  shares.take('e', 30 * mb);
  expect(() => shares.take('e', mb)).toThrow(expect.objectContaining({ code: 'overloaded' }));
  release();
  shares.take('a', 30 * mb);
});

test('takes one body that is larger than a share', () => {
  const shares = createByteShares('written');
  const release = shares.take('a', 100 * mb);
  expect(() => shares.take('a', 1)).toThrow('Too many bytes of this access token are being written');
  release();
  shares.take('a', 1);
});

test('a request holds each of its claims once, until its rows are there, and none afterwards', () => {
  const [one, other] = [createByteShares('redacted'), createByteShares('written')];
  const release = other.take('a', 30 * mb);
  const { claim, end } = openClaims([one, other].map(shares => bytes => shares.claim('a', bytes)));
  expect(() => claim(8 * mb)).toThrow('being written');
  release();
  claim(8 * mb);
  claim(8 * mb);
  const isFull = (shares: typeof one, bytes: number) => {
    try {
      shares.claim('a', bytes)();
      return false;
    } catch {
      return true;
    }
  };
  for (const shares of [one, other])
    expect([isFull(shares, 24 * mb), isFull(shares, 25 * mb)]).toEqual([false, true]);
  end();
  // Its caller had left before the rows were found.
  const left = openClaims([one, other].map(shares => bytes => shares.claim('a', bytes)));
  left.end();
  left.claim(8 * mb);
  for (const shares of [one, other]) expect(isFull(shares, 32 * mb)).toBe(false);
});
