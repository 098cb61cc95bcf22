import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { parseSource } from '../../src/endpoints/parse-source.ts';
import { acceptRows } from '../../src/loading/accept-rows.ts';
import { readBlocks } from '../../src/loading/accepted-rows.ts';
import { createLoader } from '../../src/loading/loader.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Takes lines for a source with these columns, and reads what was accepted as whoever stores it does. */
async function take(yaml: string, ...lines: string[]) {
  const folder = await temporaryDirectory();
  const source = parseSource('odd.yaml', `name: odd\n${yaml}\n`, '/');
  const taken = await acceptRows({
    folder,
    source,
    lines: (async function* () {
      yield* lines;
    })(),
  });
  const rows: unknown[] = [];
  for (const name of await readdir(folder)) {
    for await (const block of readBlocks(folder, name)) rows.push(...block.rows.map(row => JSON.parse(row)));
  }
  return { ...taken, rows };
}

test('a column that is named as what every object of JavaScript has is NULL where a row lacks it', async () => {
  const columns = `columns:
  constructor: STRING
  toString: INT64
  valueOf: { type: STRING, generated: true }
  inner: { type: STRUCT, fields: { hasOwnProperty: STRING } }`;
  const { rows, problems } = await take(columns, '{"inner":{}}', '{"constructor":"Ferrari","valueOf":"own"}');
  expect(problems).toEqual([]);
  expect(rows).toEqual([
    {
      constructor: null,
      toString: null,
      valueOf: expect.stringMatching(/^[\da-f-]{36}$/),
      inner: { hasOwnProperty: null },
    },
    { constructor: 'Ferrari', toString: null, valueOf: 'own', inner: null },
  ]);
});

test('nothing of a decimal number is rounded, and what the engine can not hold is a bad line', async () => {
  const columns = `columns:
  price: NUMERIC
  large: BIGNUMERIC
  ratio: FLOAT64
  whole: INT64
  text: STRING
  raw: JSON
  parts: { type: STRUCT, repeated: true, fields: { price: NUMERIC } }`;
  const { rows, problems } = await take(
    columns,
    '{"price":1234567890.123456789,"large":-12345678901234567890.5,"ratio":0.12345678901234567,"whole":9223372036854775807,"text":1.23456789012345678}',
    '{"raw":{"a":0.1234567890123456789,"b":12345678901234567},"parts":{"price":99999999999999.999999999}}',
    '{"price":0.1234567890123456789}',
    '{"large":"0.1234567890123456789"}',
    '{"large":"123456789012345678901234567890"}',
  );
  expect(rows).toMatchObject([
    {
      price: '1234567890.123456789',
      large: '-12345678901234567890.5',
      ratio: 0.12345678901234566,
      whole: '9223372036854775807',
      text: '1.23456789012345678',
    },
    {
      raw: '{"a":0.12345678901234568,"b":12345678901234567}',
      parts: [{ price: '99999999999999.999999999' }],
    },
  ]);
  expect(problems.map(({ line }) => line)).toEqual([3, 4, 5]);
  expect(problems[1]?.reason).toContain('29 digits before the point and 9 after it');
});

test('halves of surrogate pairs in JSON become what they become in text', async () => {
  const { rows } = await take(
    'columns: { raw: JSON }',
    '{"raw":{"k\\ud800":"\\udfff\\ud800x","pair":"\\ud83d\\ude00","text":"\\\\ud800"}}',
  );
  const [{ raw = '' } = {}] = rows as { raw?: string }[];
  expect(JSON.parse(raw)).toEqual({ 'k\ufffd': '\ufffd\ufffdx', pair: '😀', text: '\\ud800' });
});

test('a text that only begins as JSON does is a text in a JSON column, and one that is JSON is read as a value in the row is', async () => {
  const { rows, problems } = await take(
    'columns: { raw: JSON }',
    '{"raw":"[INFO] started"}',
    '{"raw":"{not json"}',
    '{"raw":" {\\"a\\":[1,1e2]}"}',
    '{"raw":" {\\"a\\":0.1234567890123456789}"}',
    '{"raw":"plain"}',
  );
  expect(problems).toEqual([]);
  expect(rows).toEqual([
    { raw: '"[INFO] started"' },
    { raw: '"{not json"' },
    { raw: '{"a":[1,100.0]}' },
    { raw: '{"a":0.12345678901234568}' },
    { raw: '"plain"' },
  ]);
});

test('a row that becomes longer than a line may be, or holds too many values, is a bad line and harms no other', async () => {
  const columns = `columns:
  n: INT64
  numbers: { type: INT64, repeated: true }
  records: { type: STRUCT, repeated: true, fields: { first: STRING, second: STRING, third: STRING } }
  text: STRING`;
  const { rows, problems } = await take(
    columns,
    '{"n":1}',
    `{"n":2,"text":"${'x'.repeat(16 * 1024 * 1024 - 30)}"}`,
    `{"n":3,"records":[${Array(400_000).fill('{}').join()}]}`,
    `{"n":4,"numbers":[${Array(1_100_000).fill('1').join()}]}`,
    `{"n":5,"numbers":[${Array(100_000).fill('1').join()}]}`,
  );
  expect(rows).toMatchObject([{ n: '1' }, { n: '5' }]);
  expect(problems).toEqual([
    { line: 2, reason: 'takes more than 16777216 characters as a row of odd' },
    { line: 3, reason: 'has more than 1000000 values' },
    { line: 4, reason: 'has more than 1000000 values' },
  ]);
});

test('a mapping into an array of records leaves what came in it', async () => {
  const yaml = `load: { fields: { metadata.project: { value: shop }, metadata.at: { from: time } } }
columns:
  metadata: { type: STRUCT, repeated: true, fields: { project: STRING, at: STRING, level: STRING } }`;
  const { rows } = await take(
    yaml,
    '{"time":"noon","metadata":[{"level":"info"},{"level":"warn"}]}',
    '{"metadata":{"level":"info"}}',
    '{"metadata":[]}',
  );
  expect(rows).toEqual([
    {
      metadata: [
        { project: 'shop', at: 'noon', level: 'info' },
        { project: null, at: null, level: 'warn' },
      ],
    },
    { metadata: [{ project: 'shop', at: null, level: 'info' }] },
    { metadata: [{ project: 'shop', at: null, level: null }] },
  ]);
});

test('a pattern fits lines that end as Windows ends them', async () => {
  const yaml = `load: { pattern: '^(?<level>\\S+) (?<message>.*)$' }\ncolumns: { level: STRING, message: STRING }`;
  const { rows } = await take(yaml, 'info all is well\r', 'warn it is not');
  expect(rows).toEqual([
    { level: 'info', message: 'all is well' },
    { level: 'warn', message: 'it is not' },
  ]);
});

/** A loader over a folder of its own with one source, and what writes the file of that. */
async function openLoader(columns: string) {
  const directory = await temporaryDirectory();
  const sourcesDirectory = join(directory, 'sources');
  await mkdir(sourcesDirectory);
  const declare = (text: string) => writeFile(join(sourcesDirectory, 'calls.yaml'), `name: calls\n${text}\n`);
  await declare(columns);
  const databasePath = join(directory, 'logs.duckdb');
  const loader = createLoader({ databasePath, sourcesDirectory, emit: () => undefined });
  onTestFinished(() => loader.close());
  const load = (...lines: string[]) =>
    loader.load(
      'calls',
      (async function* () {
        yield Buffer.from(lines.join('\n'));
      })(),
    );
  return { declare, load };
}

test('a line on which the pattern of a source goes astray is a bad one, and the next one is read', async () => {
  const { load } = await openLoader(
    "load: { pattern: '^(?<text>(?:\\w+\\s?)*)$' }\ncolumns: { text: STRING }",
  );
  const taken = await load(`${'x'.repeat(100)}!`, 'all is well');
  expect(taken).toMatchObject({
    rows: 1,
    problems: [{ line: 1, reason: 'does not fit the pattern of the source' }],
  });
});

test('a source stays as it was read, whatever becomes of its file before its rows come', async () => {
  const { declare, load } = await openLoader('columns: { n: INT64 }');
  await declare('columns: { n: INT65 }');
  expect(await load('{"n":1}')).toMatchObject({ rows: 1 });
});
