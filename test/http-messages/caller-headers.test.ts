import { expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { callerHeadersKey, readCallerHeaders } from '../../src/http-messages/caller-headers.ts';

const readCredentials = (headers: Parameters<typeof readCallerHeaders>[0]) =>
  readCallerHeaders(headers).credentials;

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
  expect(readCallerHeaders({ 'cache-control': header }).noCache).toBe(asks);
});

test.each([
  ['true', true],
  [' TRUE ', true],
  ['False', false],
  [undefined, undefined],
])('LF-ENDPOINT-REDACT-PII: %j is read as %s', (header, expected) => {
  expect(readCallerHeaders({ 'lf-endpoint-redact-pii': header }).redactPii).toBe(expected);
});

test('another LF-ENDPOINT-REDACT-PII is an error to be thrown in its turn', () => {
  const { redactPii } = readCallerHeaders({ 'lf-endpoint-redact-pii': 'yes' });
  expect(redactPii).toBeInstanceOf(GatewayError);
  expect(redactPii).toMatchObject({ code: 'invalid_header' });
});

test.each([
  'authorization', 'x-api-key', 'accept', 'cache-control', 'lf-endpoint-redact-pii', 'lf-endpoint-labels',
])('requests that differ in %s alone have different keys; absent is not empty', name => {
  const keys = [{}, { [name]: '' }, { [name]: 'a' }, { [name]: 'b' }].map(callerHeadersKey);
  expect(new Set(keys).size).toBe(4);
}); // biome-ignore format: one list
