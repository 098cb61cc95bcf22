import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { variables } from '../../src/config.ts';
import { errorCodes } from '../../src/errors.ts';

/** The rows of the first table of a page, each as its cells. */
function tableOf(page: string): string[][] {
  const lines = readFileSync(new URL(`../../docs/${page}`, import.meta.url), 'utf8').split('\n');
  const start = lines.findIndex(line => line.startsWith('|---'));
  const end = lines.findIndex((line, at) => at > start && !line.startsWith('|'));
  return lines.slice(start + 1, end).map(line =>
    line
      .slice(1, -1)
      .split(' | ')
      .map(cell => cell.trim()),
  );
}

const code = (text: string) => (text === '' ? '' : `\`${text}\``);

const defaultOf = (schema: { safeParse(value: undefined): { data?: unknown } }) =>
  String(schema.safeParse(undefined).data ?? '');

test('docs/errors.md lists the error codes of the code, row for row', () => {
  expect(tableOf('errors.md')).toEqual(
    Object.entries(errorCodes).map(([name, row]) => [
      code(name),
      String(row.status),
      code(row.reason),
      'retryAfterSeconds' in row ? String(row.retryAfterSeconds) : '',
      row.meaning,
    ]),
  );
});

test('docs/configuration.md lists the variables of the code with their defaults, row for row', () => {
  expect(tableOf('configuration.md')).toEqual(
    Object.entries(variables).map(([name, { schema, meaning }]) => [
      code(name),
      code(defaultOf(schema)),
      meaning,
    ]),
  );
});

test('.env.example sets every variable to its default', () => {
  const lines = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8').split('\n');
  const settings = lines
    .map(line => line.replace(/^# (?=[A-Z_]+=$)/, ''))
    .filter(line => /^[A-Z_]+=/.test(line));
  expect(settings).toEqual(
    Object.entries(variables).map(([name, { schema }]) => `${name}=${defaultOf(schema)}`),
  );
});
