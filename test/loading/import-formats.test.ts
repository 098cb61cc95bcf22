import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readCurrent } from '../../src/duckdb/replicas.ts';
import { parseSource } from '../../src/endpoints/parse-source.ts';
import { acceptRows } from '../../src/loading/accept-rows.ts';
import { rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import { openInput } from '../../src/loading/input/open-input.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';
import { askFile } from './ask-file.ts';

const orders = parseSource(
  'orders.yaml',
  `name: orders
key: id
columns:
  id: { type: INT64, required: true }
  price: NUMERIC
  at: TIMESTAMP
  day: DATE
  tags: { type: STRING, repeated: true }
  note: STRING
`,
  '/',
);

const page = await readFile(new URL('../../docs/loading.md', import.meta.url), 'utf8');

/** As the page has it. */
const access = parseSource(
  'access.yaml',
  `name: access
${/```yaml\n(load:[\s\S]*?)```/.exec(page)?.[1]}columns:
  time: TIMESTAMP
  project: STRING
  ip: STRING
  user: STRING
  status: INT64
  bytes: INT64
  referer: STRING
  agent: STRING
  request: { type: STRUCT, fields: { method: STRING, path: STRING } }
`,
  '/',
);

const logpush = parseSource(
  'logpush.yaml',
  `name: logpush
load:
  fields:
    time: EdgeStartTimestamp
    host: ClientRequestHost
    status: EdgeResponseStatus
    ratio: EdgeResponseCompressionRatio
columns:
  time: TIMESTAMP
  host: STRING
  status: INT64
  ratio: FLOAT64
  Cookies: JSON
  RequestHeaders: JSON
  SecurityRuleIDs: { type: STRING, repeated: true }
`,
  '/',
);

const sources = [orders, access, logpush];
let directory: string;
let databasePath: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'import-'));
  databasePath = join(directory, 'logs.duckdb');
});

afterAll(() => rm(directory, { recursive: true }));

/** Takes rows as the command does; they are stored together later. */
async function take(source: (typeof sources)[number], content: string | Buffer, isStream = false) {
  const file = join(directory, 'input');
  if (!isStream) await writeFile(file, content);
  const input = await openInput(isStream ? Readable.from([Buffer.from(content)]) : file, source);
  try {
    const taken = await acceptRows({ folder: rowsFolderOf(databasePath), source, lines: input.lines });
    return { format: input.format, ...taken };
  } finally {
    await input.close();
  }
}

async function rowsOf(sql: string) {
  while (await storeAccepted({ databasePath, sources, emit: () => undefined }));
  return askFile(readCurrent(databasePath).path, sql);
}

async function parquet(): Promise<string> {
  const file = join(directory, 'rows.parquet');
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  await connection.run(
    `COPY (SELECT 60 AS id, 0.1::DECIMAL(20,9) AS price, '2026-01-15 10:00:00.123456789'::TIMESTAMP_NS AS at, DATE '2026-01-15' AS day, ['a','b'] AS tags, 'parquet' AS note) TO '${file}'`,
  );
  connection.closeSync();
  instance.closeSync();
  return file;
}

const csv =
  '\uFEFFid;price;at;day;tags;note\n20;1,5;2026-01-15 10:00:00;2026-01-15;["x","y"];"a ""quoted""\nline"\n21;2;;;;\n22;3\n';
const object = (id: number, more: object) => `${JSON.stringify({ id, ...more })}\n`;

test.each([
  ['a unit that looks longer', [1768471200123, 1768471200], [1], 'at is 1768471200, which looks like seconds; allowed: milliseconds as before, unless `time` in `load` names the unit'],
  ['what can only be another', ['1768471200', '1768471200123456789', '2026-01-15'], [], undefined],
  ['no time at first', [0, 1768471200123, '0', '2026-01-15'], [], undefined],
  ['the end of time, as some programs write it', ['1768471200123456', '253402300799999999'], [], undefined],
  ['times before 1970', [1768471200123, -1e12], [], undefined],
])('counts in one file share their unit: %s', async (_, times, bad, reason) => {
  const lines = times.map(at => JSON.stringify({ id: 1, at }));
  const taken = await acceptRows({
    folder: directory,
    source: orders,
    isDryRun: true,
    lines: (async function* () {
      yield* lines;
    })(),
  });
  expect(taken.problems).toEqual(bad.map(at => ({ line: at + 1, reason })));
  expect(taken.rows).toBe(times.length - bad.length);
  if (times[1] === '1768471200123456789') expect(taken.epochUnits).toEqual({ at: ['s', 'ns'] });
}); // biome-ignore format: a table

test('rows of every format come out as they went in, whatever they are compressed with', async () => {
  const found = [
    await take(orders, object(1, { at: 1768471200123, note: 'ms' }) + object(2, { at: 1768471200124 })),
    await take(orders, gzipSync(object(3, { at: 1768471200, note: 's' })), true),
    await take(orders, zstdCompressSync(object(4, { at: '1768471200123456789', note: 'ns' }))),
    await take(
      orders,
      '[{"id":10,"price":0.1,"day":"2026-01-15T00:00:00.000"},\n {"id":11,"day":1768435200000}]',
    ),
    await take(orders, csv.replace('1,5', '1.5')),
  ];
  expect(found.map(({ format, rows, rejected, epochUnits }) => [format, rows, rejected, epochUnits])).toEqual(
    [
      ['ndjson', 2, 0, { at: ['ms'] }],
      ['ndjson', 1, 0, { at: ['s'] }],
      ['ndjson', 1, 0, { at: ['ns'] }],
      ['json', 2, 0, { day: ['ms'] }],
      ['csv', 2, 1, {}],
    ],
  );
  expect(found.at(-1)?.problems).toEqual([{ line: 5, reason: 'has 2 values; allowed: 6' }]);
  const file = await parquet();
  const input = await openInput(file, orders);
  await acceptRows({ folder: rowsFolderOf(databasePath), source: orders, lines: input.lines });
  await input.close();
  expect(
    await rowsOf(
      'SELECT id, price::VARCHAR, "at"::VARCHAR, day::VARCHAR, tags, note FROM orders ORDER BY id',
    ),
  ).toEqual([
    ['1', null, '2026-01-15 10:00:00.123+00', null, [], 'ms'],
    ['2', null, '2026-01-15 10:00:00.124+00', null, [], null],
    ['3', null, '2026-01-15 10:00:00+00', null, [], 's'],
    ['4', null, '2026-01-15 10:00:00.123456+00', null, [], 'ns'],
    ['10', '0.100000000', null, '2026-01-15', [], null],
    ['11', null, null, '2026-01-15', [], null],
    ['20', '1.500000000', '2026-01-15 10:00:00+00', '2026-01-15', ['x', 'y'], 'a "quoted"\nline'],
    ['21', '2.000000000', null, null, [], null],
    ['60', '0.100000000', '2026-01-15 10:00:00.123456+00', '2026-01-15', ['a', 'b'], 'parquet'],
  ]);
});

test('a CSV whose first letter beyond ASCII comes late has its encoding all the same', async () => {
  const ascii = `id,note\n${'300,plain\n'.repeat(20_000)}`;
  for (const [id, letters] of [
    [301, Buffer.from('301,Größe\n', 'latin1')],
    [302, Buffer.from('302,Größe €\n')],
  ] as const) {
    await take(orders, Buffer.concat([Buffer.from(ascii), letters]));
    expect(await rowsOf(`SELECT note FROM orders WHERE id = ${id}`)).toEqual([
      [id === 301 ? 'Größe' : 'Größe €'],
    ]);
  }
});

test('a file that ends too early leaves nothing where it was unpacked', async () => {
  const temporary = await mkdtemp(join(directory, 'tmp-'));
  vi.stubEnv('TMPDIR', temporary);
  try {
    const packed = gzipSync(JSON.stringify(Array.from({ length: 50_000 }, (_, id) => ({ id }))));
    const torn = Readable.from([packed.subarray(0, -100)]);
    await expect(openInput(torn, orders)).rejects.toThrow('unexpected end of file');
    expect(await readdir(temporary)).toEqual([]);
  } finally {
    vi.unstubAllEnvs();
  }
});

test('a line of CSV that is refused is handed back as it can be loaded again', async () => {
  const refused: string[] = [];
  const input = await openInput(Readable.from([Buffer.from('id,note\nx,"a, ""b""\nc"\n')]), orders);
  const onReject = (_line: number, _reason: string, text: string) => refused.push(text);
  await acceptRows({ folder: directory, source: orders, lines: input.lines, isDryRun: true, onReject });
  await input.close();
  expect(refused).toEqual(['x,"a, ""b""\nc"']);
});

test('lines of an access log become rows by the pattern of docs/loading.md, requests that are none as well', async () => {
  const lines = [
    '203.0.113.7 - alice [15/Jan/2026:11:00:01 +0100] "GET /a?b=c HTTP/1.1" 200 512',
    '2001:db8::1 - - [09/Jun/2026:12:10:39 -0700] "GET /A%20b/x.mp4 HTTP/2.0" 206 7648063 "http://a.test/" "Mozilla/5.0 (X11; Linux) \\x22q\\x22"',
    // TLS on the port of HTTP, and a connection that sent nothing.
    '198.51.100.7 - - [09/Jun/2026:12:11:00 -0700] "\\x16\\x03\\x01" 400 157 "-" "-"',
    '198.51.100.8 - - [09/Jun/2026:12:11:01 -0700] "" 400 - "-" "-"',
    // Apache writes a quotation mark with a backslash.
    '198.51.100.9 - - [09/Jun/2026:12:11:02 -0700] "\\"nonsense\\"" 400 - "-" "Mozilla/5.0 (X11; \\"q\\")"',
    'nonsense',
    '203.0.113.7 - - [99/Foo/2026:10:00:00 +0000] "" 400 - "-" "-"',
    '203.0.113.7 - - [31/Feb/2026:10:00:00 +0000] "" 400 - "-" "-"',
  ];
  expect(await take(access, `${lines.join('\n')}\n`)).toMatchObject({
    format: 'lines',
    rows: 5,
    ignoredFields: [],
    problems: [
      { line: 6, reason: 'does not fit the pattern of the source' },
      { line: 7, reason: 'time is "99/Foo/2026:10:00:00 +0000"; allowed: ISO 8601 text or integer microseconds' },
      { line: 8, reason: 'time is "31/Feb/2026:10:00:00 +0000"; allowed: ISO 8601 text or integer microseconds' },
    ],
  });
  expect(
    await rowsOf(
      'SELECT time::VARCHAR, project, ip, user, status, bytes, referer, agent, request FROM access ORDER BY time, ip',
    ),
  ).toEqual([
    ['2026-01-15 10:00:01+00', 'shop', '203.0.113.7', 'alice', '200', '512', null, null, { method: 'GET', path: '/a?b=c' }],
    ['2026-06-09 19:10:39+00', 'shop', '2001:db8::1', null, '206', '7648063', 'http://a.test/', 'Mozilla/5.0 (X11; Linux) \\x22q\\x22', { method: 'GET', path: '/A%20b/x.mp4' }],
    ['2026-06-09 19:11:00+00', 'shop', '198.51.100.7', null, '400', '157', null, null, null],
    ['2026-06-09 19:11:01+00', 'shop', '198.51.100.8', null, '400', null, null, null, null],
    ['2026-06-09 19:11:02+00', 'shop', '198.51.100.9', null, '400', null, null, 'Mozilla/5.0 (X11; \\"q\\")', null],
  ]);
}); // biome-ignore format: a table

test.each([
  ['rfc3339', '"2026-01-15T10:00:00Z"', '2026-01-15 10:00:00+00'],
  ['unix', '1768471200', '2026-01-15 10:00:00+00'],
  ['unixnano', '1768471200123456789', '2026-01-15 10:00:00.123456+00'],
])('lines of Logpush have their time in each of its forms: %s', async (form, time, shown) => {
  const line = `{"ClientRequestHost":"${form}.test","EdgeStartTimestamp":${time},"EdgeResponseStatus":200,"EdgeResponseCompressionRatio":3.1,"Cookies":{"a":"b"},"RequestHeaders":{},"SecurityRuleIDs":[]}\n`;
  expect(await take(logpush, line)).toMatchObject({ rows: 1, rejected: 0 });
  expect(
    await rowsOf(
      `SELECT time::VARCHAR, status, ratio, "Cookies", "SecurityRuleIDs" FROM logpush WHERE host = '${form}.test'`,
    ),
  ).toEqual([[shown, '200', 3.1, '{"a":"b"}', []]]);
});

test('a row with a key that is there takes the place of the earlier one, in a load and between loads', async () => {
  await take(
    orders,
    object(1, { note: 'second' }) + object(70, { note: 'first' }) + object(70, { note: 'last' }),
  );
  expect(await rowsOf('SELECT id, note FROM orders WHERE id IN (1, 70) ORDER BY id')).toEqual([
    ['1', 'second'],
    ['70', 'last'],
  ]);
});
