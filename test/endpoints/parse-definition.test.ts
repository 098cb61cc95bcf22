import { expect, test } from 'vitest';
import { DefinitionError, headerLine, parseDefinition } from '../../src/endpoints/parse-definition.ts';

const valid = `/*
id: 11111111-2222-3333-4444-555555555555
name: one
description: The number one.
parameters:
  size:
    type: enum
    values: [small, large]
    description: How large.
columns:
  n:
    type: INT64
    required: true
    description: One.
cacheSeconds: 60
*/
select 1 as n
`;

function problemsOf(text: string, file = 'one.sql') {
  try {
    parseDefinition(file, text);
  } catch (error) {
    if (error instanceof DefinitionError) return error;
    throw error;
  }
  throw new Error('the definition was accepted');
}

test('reads parameters and columns in the order of the header, with defaults', () => {
  const definition = parseDefinition('one.sql', valid);
  expect(definition).toMatchObject({
    id: '11111111-2222-3333-4444-555555555555',
    name: 'one',
    parameters: [{ name: 'size', type: 'enum', values: ['small', 'large'], required: false }],
    columns: [{ name: 'n', type: 'INT64', repeated: false, required: true }],
    maxRows: 1000,
    cacheSeconds: 60,
    warmSeconds: 0,
    sandbox: false,
    redactPii: false,
    sql: valid,
  });
});

test('a mark U+FEFF at the beginning, as some editors write it, is none of the text', () => {
  const batched = valid
    .replace('type: enum\n    values: [small, large]', 'type: STRING\n    required: true')
    .replace('cacheSeconds: 60', 'batch: { parameter: size, key: size }');
  const marked = parseDefinition('one.sql', `\ufeff${batched}`, '\ufeffselect 1');
  expect(marked).toEqual(parseDefinition('one.sql', batched, 'select 1'));
});

const windowed = (lines: string) =>
  valid.replace(
    'columns:',
    `  since: { type: timestamp, description: From. }
  until: { type: timestamp, description: To. }
window:
${lines}
columns:`,
  );
const wholeWindow = '  start: since\n  end: until\n  default: 90m\n  max: 7d';

test('reads a window, which is part of what names the rows', () => {
  const { window, hash } = parseDefinition('one.sql', windowed(wholeWindow));
  expect(window).toEqual({
    start: 'since',
    end: 'until',
    default: { text: '90m', ms: 5_400_000 },
    max: { text: '7d', ms: 604_800_000 },
  });
  const longer = parseDefinition('one.sql', windowed(wholeWindow.replace('90m', '91m')));
  expect(longer.hash).not.toBe(hash);
});

test.each([
  ['a bound that is no parameter', 'start: since', 'start: sinze', '13: window.start: must be a declared parameter of type timestamp'],
  ['a bound of another type', 'end: until', 'end: size', '14: window.end: must be a declared parameter of type timestamp'],
  ['one bound twice', 'end: until', 'end: since', '14: window.end: must be another parameter than start'],
  ['a length without a unit', '90m', '90', '15: window.default: Invalid input'],
  ['a length in words', '7d', 'a week', '16: window.max: must be a number of s, m, h or d, such as 90s, 30m, 24h or 7d'],
  ['no length', '7d', '0d', '16: window.max: must be a number of s, m, h or d'],
  ['a default beyond the limit', '90m', '8d', '15: window.default: must not be longer than max'],
  ['a missing limit', '\n  max: 7d', '', '12: window.max: is missing'],
])('refuses a window with %s', (_, from, to, message) => {
  const { message: found } = problemsOf(windowed(wholeWindow.replace(from, to)));
  expect(found).toMatch(new RegExp(`^one.sql:${message}[^\\n]*$`));
}); // biome-ignore format: a table

test.each([
  ['an unknown key', valid.replace('cacheSeconds', 'cacheSecond'), 'one.sql:15: cacheSecond: is not a known key; Did you mean cacheSeconds?'],
  ['a value of the wrong type', valid.replace('60', 'soon'), 'one.sql:15: cacheSeconds: Invalid input: expected number'],
  ['a nested value', valid.replace('[small, large]', '[]'), 'one.sql:8: parameters.size.values:'],
  ['a missing key, at the nearest line', valid.replace('    values: [small, large]\n', ''), 'one.sql:6: parameters.size.values:'],
  ['an id that is no UUID', valid.replace('11111111', '1'), 'one.sql:2: id: must be a UUID'],
  ['a name unlike the file', valid.replace('name: one', 'name: two'), 'one.sql:3: name: must match the file, which is one.sql: "two" belongs to two.sql'],
  ['a key given twice', valid.replace('cacheSeconds: 60', 'cacheSeconds: 60\ncacheSeconds: 61'), 'one.sql:16: Map keys must be unique'],
  ['YAML that does not parse', valid.replace('description: The number one.', 'description: "The'), 'one.sql:'],
  ['a missing header', 'select 1', 'one.sql:1: must start with its YAML header'],
  ['a header without an end', valid.replace('*/', ''), 'one.sql:1: has a header without an end: */ is missing'],
  ['a column without a description', valid.replace('    description: One.\n', ''), 'one.sql:11: columns.n.description: is missing'],
  ['a column without a type', valid.replace('    type: INT64\n', ''), 'one.sql:11: columns.n.type: is missing; allowed: STRING, '],
  ['a type of another database', valid.replace('INT64', 'integer'), 'TIME, JSON, STRUCT; Did you mean INT64?'],
  ['a mistyped type', valid.replace('INT64', 'INT46'), 'one.sql:12: columns.n.type: is "INT46"; allowed: STRING, BYTES, BOOL, INT64'],
  ['two unknown keys', valid.replace('cacheSeconds', 'nonsense: 1\ncacheSecond'), 'one.sql:15: nonsense: is not a known key\none.sql:16: cacheSecond: is not a known key; Did you mean cacheSeconds?'],
  ['warming after the entry is gone', valid.replace('cacheSeconds: 60', 'cacheSeconds: 60\nwarmSeconds: 61'), 'one.sql:16: warmSeconds: must not be longer'],
  ['a name that is a UUID', valid.replace('name: one', 'name: ABCDEFAB-1111-2222-3333-444444444444'), 'one.sql:3: name: must not be a UUID'],
  ['a parameter that hides sql=', valid.replace('  size:', '  sql:'), 'one.sql:5: parameters: must not be named "sql"'],
  ['a parameter that hides explain=', valid.replace('  size:', '  explain:'), 'one.sql:5: parameters: must not be named'],
  ['a parameter that hides format=', valid.replace('  size:', '  format:'), 'one.sql:5: parameters: must not be named'],
  ['a label that no warehouse takes', valid.replace('cacheSeconds: 60', 'labels: [Team]'), 'one.sql:15: labels.0: must be 1 to 63'],
  ['more labels than a query may have', valid.replace('cacheSeconds: 60', `labels: [${Array.from({ length: 61 }, (_, n) => `l${n}`)}]`), 'one.sql:15: labels: Too big: expected array to have <=60 items'],
  ['a label of the gateway itself', valid.replace('cacheSeconds: 60', 'labels: [token_id]'), 'one.sql:15: labels.0: is set by'],
  ['the label of a trace', valid.replace('cacheSeconds: 60', 'labels: [trace_id]'), 'one.sql:15: labels.0: is set by'],
  ['a column without GraphQL name', valid.replace('  n:', '  __n:'), 'one.sql:11: columns.__n'],
])('names file, line and key of %s', (_what, text, message) => {
  expect(problemsOf(text).message).toContain(message);
}); // biome-ignore format: a table

test('lists every problem of a file at once', () => {
  const error = problemsOf(valid.replace('60', 'soon').replace('INT64', 'INT65'));
  expect(error.problems.map(({ line, key }) => [line, key])).toEqual([
    [12, 'columns.n.type'],
    [15, 'cacheSeconds'],
  ]);
});

test('contract 5.1: the hash changes with the SQL and the row shape, not with descriptions', () => {
  const { hash } = parseDefinition('one.sql', valid);
  const hashOf = (text: string) => parseDefinition('one.sql', text).hash;
  expect(hashOf(valid.replace('The number one', 'A number'))).toBe(hash);
  expect(hashOf(valid.replace('cacheSeconds: 60', 'cacheSeconds: 30'))).toBe(hash);
  expect(hashOf(valid.replace('cacheSeconds: 60', 'labels: [team]\nmaxBytesBilled: 1'))).toBe(hash);
  expect(hashOf(valid.replace('select 1', 'select 2'))).not.toBe(hash);
  expect(hashOf(valid.replace('INT64', 'STRING'))).not.toBe(hash);
});

test('finds the line of a key', () => {
  expect(headerLine('one.sql', valid, ['columns', 'n'])).toBe(11);
  expect(headerLine('one.sql', valid, ['columns', 'missing'])).toBe(10);
});

test('a batch form needs its file, its header and a required parameter; its text is part of the hash', () => {
  const text = valid
    .replace('    description: How large.', '    required: true\n    description: How large.')
    .replace('cacheSeconds: 60', 'cacheSeconds: 60\nbatch: { parameter: size, key: size }');
  expect(parseDefinition('one.sql', text, 'select 2').batch).toEqual({
    parameter: 'size',
    key: 'size',
    sql: 'select 2',
  });
  expect(parseDefinition('one.sql', text, 'select 2').hash).not.toBe(
    parseDefinition('one.sql', text, 'select 3').hash,
  );
  const messageOf = (broken: string, batchSql?: string) => {
    try {
      parseDefinition('one.sql', broken, batchSql);
    } catch (error) {
      return String(error);
    }
    return 'accepted';
  };
  expect(messageOf(text)).toContain('one.sql:17: batch: needs the file one.batch.sql, which is not there');
  expect(messageOf(valid, 'select 2')).toContain('batch: is missing, but there is a file one.batch.sql');
  const optional = text.replace(
    '    required: true\n    description: How large.',
    '    description: How large.',
  );
  expect(messageOf(optional, 'select 2')).toContain(
    'batch.parameter: must be a declared parameter that is required',
  );
});
