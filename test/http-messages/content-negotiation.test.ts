import { expect, test } from 'vitest';
import { acceptsJson } from '../../src/http-messages/content-negotiation.ts';

test.each([
  [undefined, true],
  ['', true],
  ['*/*', true],
  ['application/json', true],
  ['application/json; charset=utf-8', true],
  ['text/html,application/xhtml+xml,*/*;q=0.8', true],
  ['application/*', true],
  ['text/html', false],
  ['text/csv, application/xml', false],
  ['application/json;q=0', false],
  ['*/*;q=0', false],
  ['*/*, application/json;q=0', false],
  ['application/json, */*;q=0', true],
])('Accept %j allows JSON: %s', (accept, expected) => {
  expect(acceptsJson(accept)).toBe(expected);
});
