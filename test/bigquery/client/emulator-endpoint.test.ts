import { expect, test } from 'vitest';
import { isEmulator } from '../../../src/bigquery/client/emulator-endpoint.ts';

test.each([
  ['http://bigquery.internal:9050', true],
  ['http://10.1.2.3', true],
  ['https://localhost:9050', true],
  ['https://127.0.0.1', true],
  ['https://127.8.9.10:1/', true],
  ['https://[::1]:9050', true],
  ['https://bigquery.europe-west3.rep.googleapis.com', false],
  ['https://bigquery-acme.p.googleapis.com', false],
  ['https://10.1.2.3', false],
  ['https://127.0.0.1.example.com', false],
  ['https://localhost.example.com', false],
  [undefined, false],
])('%s is an emulator: %s', (endpoint, expected) => {
  expect(isEmulator(endpoint)).toBe(expected);
});
