import { expect, test } from 'vitest';
import { createByteShares } from '../../src/base/byte-shares.ts';

const mb = 1024 * 1024;

test('contract 11.1: a caller that holds its share is refused, and no other', () => {
  const shares = createByteShares('written');
  const release = shares.take('a', 60 * mb);
  expect(() => shares.take('a', 5 * mb)).toThrow(expect.objectContaining({ code: 'too_many_requests' }));
  shares.take('b', 60 * mb);
  // There are too many by now, but not of this caller.
  shares.take('c', 60 * mb);
  expect(() => shares.take('c', mb)).toThrow(expect.objectContaining({ code: 'overloaded' }));
  release();
  shares.take('a', 60 * mb);
});

test('takes one body that is larger than a share', () => {
  const shares = createByteShares('written');
  const release = shares.take('a', 100 * mb);
  expect(() => shares.take('a', 1)).toThrow('Too many bytes of this access token are being written');
  release();
  shares.take('a', 1);
});
