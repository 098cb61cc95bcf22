import { expect, test } from 'vitest';
import { createByteShares } from '../../src/base/byte-shares.ts';

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
