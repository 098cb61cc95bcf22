import { expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { chooseFormat } from '../../src/formats/choose-format.ts';

function chosen(given: unknown, accept?: string): string {
  try {
    return chooseFormat(given, accept);
  } catch (error) {
    if (error instanceof GatewayError) return error.code;
    throw error;
  }
}

test.each([
  [undefined, 'json'],
  ['', 'json'],
  ['*/*', 'json'],
  ['application/json', 'json'],
  ['application/json; charset=utf-8', 'json'],
  ['text/html,application/xhtml+xml,*/*;q=0.8', 'json'],
  ['application/*', 'json'],
  ['text/csv', 'csv'],
  ['TEXT/CSV; header=present', 'csv'],
  ['text/*', 'csv'],
  ['text/csv, application/json', 'json'],
  [`text/csv, ${'x/y, '.repeat(300)}`, 'csv'],
  [`${'x/y, '.repeat(300)}text/csv`, 'not_acceptable'],
  ['text/csv, application/json;q=0.9', 'csv'],
  ['text/csv, */*;q=0.1', 'csv'],
  ['application/x-ndjson', 'ndjson'],
  ['application/jsonl', 'ndjson'],
  ['application/vnd.apache.parquet', 'parquet'],
  ['application/vnd.apache.arrow.stream, application/vnd.apache.parquet;q=0.5', 'arrow'],
  ['text/html', 'not_acceptable'],
  ['application/json;q=0', 'not_acceptable'],
  ['*/*;q=0', 'not_acceptable'],
  ['text/csv;q=high', 'not_acceptable'],
  ['*/*, application/json;q=0', 'ndjson'],
  ['application/json, */*;q=0', 'json'],
])('Accept %j asks for %s', (accept, expected) => {
  expect(chosen(undefined, accept)).toBe(expected);
});

test.each([
  ['csv', 'text/html', 'csv'],
  ['', 'text/csv', 'csv'],
  [null, 'text/csv', 'csv'],
  ['CSV', '*/*', 'invalid_parameter'],
  ['xlsx', 'text/csv', 'invalid_parameter'],
  ['constructor', '*/*', 'invalid_parameter'],
  [['csv'], '*/*', 'invalid_parameter'],
])('format=%j wins over Accept %j: %s', (given, accept, expected) => {
  expect(chosen(given, accept)).toBe(expected);
});

test('a refusal says what is offered', () => {
  expect(() => chooseFormat('xlsx', undefined)).toThrow(
    'Parameter "format" is "xlsx"; allowed: json, ndjson, csv, parquet, arrow',
  );
  expect(() => chooseFormat(undefined, 'text/html')).toThrow('offered: application/json, ');
});
