import { expect, test } from 'vitest';
import { readsNoCache } from '../../src/http-messages/reads-no-cache.ts';

test.each([
  ['no-cache', true],
  ['No-Cache', true],
  ['max-age=0, no-cache', true],
  ['no-cache,no-transform', true],
  ['no-store', false],
  ['x-no-cache', false],
  ['no-cache-at-all', false],
  ['max-age=0', false],
  [undefined, false],
])('Cache-Control: %s asks for rows of a new query: %s', (header, asks) => {
  expect(readsNoCache({ 'cache-control': header })).toBe(asks);
});
