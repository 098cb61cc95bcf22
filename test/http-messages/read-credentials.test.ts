import { expect, test } from 'vitest';
import { readCredentials } from '../../src/http-messages/read-credentials.ts';

test.each([
  ['X-API-KEY', { 'x-api-key': 'key' }, 'key'],
  ['Bearer', { authorization: 'Bearer token' }, 'token'],
  ['Bearer before X-API-KEY', { authorization: 'Bearer token', 'x-api-key': 'key' }, 'token'],
  ['any letter case of the scheme', { authorization: 'bEARER token' }, 'token'],
  ['X-API-KEY beside another scheme', { authorization: 'Basic dTpw', 'x-api-key': 'key' }, 'key'],
])('reads %s', (_, headers, expected) => {
  expect(readCredentials(headers)).toBe(expected);
});

test.each(['Bearer', 'Bearer ', 'bearer \t'])(
  'an empty Bearer (%j) does not fall back to X-API-KEY',
  authorization => {
    expect(readCredentials({ authorization, 'x-api-key': 'key' })).toBe('');
  },
);

test('finds nothing where no header carries a token', () => {
  expect(readCredentials({})).toBeUndefined();
  expect(readCredentials({ authorization: 'Bearertoken' })).toBeUndefined();
});
