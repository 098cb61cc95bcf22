import { expect, test } from 'vitest';
import { takeTurns } from '../../../src/base/turns.ts';
import type { Field } from '../../../src/bigquery/answers/bigquery-answers.ts';
import { longBytes } from '../../../src/bigquery/answers/json-reader.ts';
import { type Page, type PageRequest, readPage } from '../../../src/bigquery/answers/read-page.ts';
import { columnsOf } from '../../../src/bigquery/answers/render-value.ts';

/** A page of rows under a schema, as its bytes arrive: in chunks of this size. */
async function read(
  page: object,
  { chunkBytes = 7, ...options }: Partial<PageRequest> & { chunkBytes?: number } = {},
) {
  const text = Buffer.from(JSON.stringify(page));
  async function* chunks() {
    for (let at = 0; at < text.length; at += chunkBytes) yield text.subarray(at, at + chunkBytes);
  }
  const room = { maxRows: 1000, roomBytes: 1_000_000, maxResultBytes: 1_000_000 };
  return readPage(chunks(), { ours: [], ...room, ...options }, takeTurns());
}

const pageOf = (fields: readonly Field[], rows: readonly unknown[]) => ({
  kind: 'bigquery#getQueryResultsResponse',
  schema: { fields },
  totalRows: String(rows.length),
  rows,
  jobComplete: true,
});

const textOf = ({ rows }: Page) => Buffer.concat(rows?.pieces ?? []).toString();

/** The wire form of one value of a column. */
async function render(field: Omit<Field, 'name'>, value: unknown): Promise<string> {
  const page = await read(pageOf([{ name: 'x', ...field }], [{ f: [{ v: value }] }]));
  return textOf(page).slice('{"x":'.length, -1);
}

test.each([
  ['STRING', 'a "quoted"\n\u2028 text', JSON.stringify('a "quoted"\n\u2028 text')],
  ['INTEGER', '9223372036854775807', '9223372036854775807'],
  ['INT64', '-9223372036854775808', '-9223372036854775808'],
  ['BOOLEAN', 'true', 'true'],
  ['BOOL', 'false', 'false'],
  ['FLOAT', '0.1', '0.1'],
  ['FLOAT64', '1.0E22', '1.0E22'],
  ['FLOAT', '-0.0', '-0.0'],
  ['FLOAT', 'NaN', '"NaN"'],
  ['FLOAT', 'Infinity', '"Infinity"'],
  ['FLOAT', '-Infinity', '"-Infinity"'],
  ['FLOAT', '-inf', '"-Infinity"'],
  ['TIMESTAMP', '1768471319999999', '1768471319999999'],
  ['TIMESTAMP', '-1', '-1'],
  ['TIMESTAMP', '-62135596800000000', '-62135596800000000'],
  ['TIMESTAMP', '1.768471319999999E9', '1768471319999999'],
  ['TIMESTAMP', '-6.21355968E10', '-62135596800000000'],
  ['TIMESTAMP', '2.53402300799E11', '253402300799000000'],
  ['TIMESTAMP', '1.0E-6', '1'],
  ['TIMESTAMP', '0.0', '0'],
  ['TIMESTAMP', '1768471319.0120003', '1768471319012000'],
  ['TIMESTAMP', '1768471319.012', '1768471319012000'],
  ['TIMESTAMP', '253402300799.999999', '253402300799999999'],
  ['TIMESTAMP', '-0.5', '-500000'],
  ['TIMESTAMP', '2026-05-20T11:00:00Z', '1779274800000000'],
  ['TIMESTAMP', '0001-01-01 00:00:00.000001+00', '-62135596799999999'],
  ['TIMESTAMP', '9999-12-31 23:59:59.999999+00', '253402300799999999'],
  ['DATETIME', '2026-01-15T10:00:00', '"2026-01-15T10:00:00"'],
  ['DATE', '2026-01-15', '"2026-01-15"'],
  ['TIME', '10:00:00.5', '"10:00:00.5"'],
  ['NUMERIC', '99999999999999999999999999999.999999999', '"99999999999999999999999999999.999999999"'],
  ['BIGNUMERIC', '1.5', '"1.5"'],
  ['BYTES', 'AP8=', '"AP8="'],
  ['JSON', '{"a":[1,"b"]}', JSON.stringify('{"a":[1,"b"]}')],
  ['GEOGRAPHY', 'POINT(1 2)', '"POINT(1 2)"'],
  ['INTERVAL', '1-2 3 4:5:6.5', '"1-2 3 4:5:6.5"'],
  ['RANGE', '[2026-01-01, UNBOUNDED)', '"[2026-01-01, UNBOUNDED)"'],
  ['RANGE', '[2026-01-01T00:00:00, UNBOUNDED)', '"[2026-01-01T00:00:00, UNBOUNDED)"'],
  ['RANGE', '[1767225600000000, 1767225600500000)', '"[1767225600000000, 1767225600500000)"'],
])('contract 2.12: %s %s is %s', async (type, value, expected) => {
  expect(await render({ type }, value)).toBe(expected);
  expect(await render({ type }, null)).toBe('null');
  expect(await render({ type, mode: 'REPEATED' }, [{ v: value }, { v: value }])).toBe(
    `[${expected},${expected}]`,
  );
  expect(await render({ type, mode: 'REPEATED' }, [])).toBe('[]');
  expect(await render({ type, mode: 'REPEATED' }, null)).toBe('[]');
});

test('contract 2.11, 2.13: every record in its array, every column there', async () => {
  const request: Field = {
    name: 'request',
    type: 'RECORD',
    mode: 'REPEATED',
    fields: [
      { name: 'method', type: 'STRING' },
      { name: 'sizes', type: 'INTEGER', mode: 'REPEATED' },
    ],
  };
  const metadata = { type: 'RECORD', mode: 'REPEATED', fields: [request, { name: 'n', type: 'INTEGER' }] };
  const inner = { f: [{ v: 'GET' }, { v: [{ v: '1' }] }] };
  const value = [
    { v: { f: [{ v: [{ v: inner }] }, { v: null }] } },
    { v: { f: [{ v: [] }, { v: '9007199254740993' }] } },
  ];
  expect(await render(metadata, value)).toBe(
    '[{"request":[{"method":"GET","sizes":[1]}],"n":null},{"request":[],"n":9007199254740993}]',
  );
  expect(columnsOf([{ name: 'metadata', ...metadata }])).toMatchObject([
    { type: 'STRUCT', mode: 'REPEATED', fields: [{ name: 'request' }, { type: 'INT64', mode: 'NULLABLE' }] },
  ]);
});

test.each([
  ['plain', 'x'],
  ['with a DEL', '\u007f'],
  ['in UTF-8', 'é😀'],
  ['with escapes', '\\ " \n \u2028'],
])('contract 2.12: a long text, %s, is the same as a short one', async (_, part) => {
  const value = part.repeat(Math.ceil(longBytes / part.length));
  const field = { name: 'x' };
  const rows = [[value, 'a'], ['b', value]].map(cells => ({ f: cells.map(v => ({ v })) })); // biome-ignore format: a table
  for (const type of ['STRING', 'JSON', 'NUMERIC']) {
    const page = pageOf(
      [
        { ...field, type },
        { name: 'y', type, mode: 'NULLABLE' },
      ],
      rows,
    );
    const read8 = await read(page, { chunkBytes: 10_007 });
    expect(JSON.parse(`[${textOf(read8)}]`)).toEqual([
      { x: value, y: 'a' },
      { x: 'b', y: value },
    ]);
    expect(read8.rows?.byteCount).toBe(Buffer.byteLength(textOf(read8)));
  }
});

test.each([
  ['control characters that are not escaped', 0x09, '\t'],
  ['bytes that are not UTF-8', 0xff, '\ufffd'],
])('a long text with %s is JSON all the same', async (_, byte, character) => {
  const [head = '', tail = ''] = JSON.stringify(
    pageOf([{ name: 'x', type: 'STRING' }], [{ f: [{ v: '?' }] }]),
  ).split('?');
  async function* chunks() {
    yield Buffer.from(head);
    for (let at = 0; at < 8; at++) yield Buffer.alloc(longBytes / 8, byte);
    yield Buffer.from(tail);
  }
  const room = { maxRows: 1000, roomBytes: 1_000_000, maxResultBytes: 1_000_000 };
  const page = await readPage(chunks(), { ours: [], ...room }, takeTurns());
  const expected = Buffer.from(JSON.stringify({ x: character.repeat(longBytes) }));
  expect(Buffer.concat(page.rows?.pieces ?? []).equals(expected)).toBe(true);
});

test('a long text is held to its type as a short one is', async () => {
  const page = (type: string, value: string) => pageOf([{ name: 'x', type }], [{ f: [{ v: value }] }]);
  const digits = '7'.repeat(longBytes);
  const long = { chunkBytes: 10_007 };
  expect(textOf(await read(page('INT64', digits), long))).toBe(`{"x":${digits}}`);
  for (const type of ['INT64', 'FLOAT64', 'BOOL', 'TIMESTAMP']) {
    await expect(read(page(type, 'x'.repeat(longBytes)), long)).rejects.toThrow(
      `A row has another text where ${type} was expected`,
    );
  }
  const record = { name: 'x', type: 'RECORD', fields: [{ name: 'y', type: 'STRING' }] };
  await expect(read(pageOf([record], [{ f: [{ v: digits }] }]), long)).rejects.toThrow('A row has a text');
  const array = { name: 'x', type: 'STRING', mode: 'REPEATED' };
  await expect(read(pageOf([array], [{ f: [{ v: digits }] }]), long)).rejects.toThrow(
    'an array was expected',
  );
});

test('a long text beyond maxRows is left out, and counted', async () => {
  const rows = ['a', 'x'.repeat(longBytes)].map(v => ({ f: [{ v }] }));
  const page = pageOf([{ name: 'x', type: 'STRING' }], rows);
  expect(textOf(await read(page, { maxRows: 1, chunkBytes: 10_007 }))).toBe('{"x":"a"}');
  const tooLarge = read(page, { maxRows: 1, chunkBytes: 10_007, roomBytes: longBytes });
  await expect(tooLarge).rejects.toThrow('The result is too large');
});

/** Kinds of values and types, and nothing else. */
const said = /^A row has (?:a|an|another) (?:text|literal) where (?:a record|[A-Z0-9]+) was expected$/;

test.each([
  ['INTEGER', '1e5'],
  ['INTEGER', '007'],
  ['INTEGER', 5],
  ['BOOLEAN', '1'],
  ['FLOAT', '1,5'],
  ['TIMESTAMP', '2026-13-20T11:00:00Z'],
  ['TIMESTAMP', '2026-05-20T11:00:00+02'],
  ['TIMESTAMP', 'E'],
  ['RECORD', 'text'],
])('a value that is no %s is a broken answer, and stays out of the message: %s', async (type, value) => {
  const failure = await render({ type, fields: [] }, value).catch(error => error);
  expect(failure).toMatchObject({ reason: 'brokenAnswer', message: expect.stringMatching(said) });
});

test.each<[string, unknown]>([
  ['a cell too few', { f: [{ v: '1' }] }],
  ['a cell too many', { f: [{ v: '1' }, { v: '2' }, { v: '3' }] }],
  ['no cells', {}],
  ['cells without values', { f: [{}, {}] }],
  ['another member', { g: [{ v: '1' }, { v: '2' }] }],
  ['a member twice', { f: [{ v: '1' }, { v: '2', w: '3' }] }],
  ['an array in the place of a value', { f: [{ v: [{ v: '1' }] }, { v: '2' }] }],
  ['no record', [1]],
  ['null', null],
])('a row with %s is a broken answer', async (_, row) => {
  const fields = [
    { name: 'x', type: 'STRING' },
    { name: 'y', type: 'STRING' },
  ];
  await expect(read(pageOf(fields, [row]))).rejects.toMatchObject({ reason: 'brokenAnswer' });
});

test('rows that come before their schema are left to a second reading, with its columns', async () => {
  const { schema, rows, ...rest } = pageOf([{ name: 'x', type: 'INTEGER' }], [{ f: [{ v: '1' }] }]);
  const first = await read({ rows, schema, ...rest });
  expect(first.rows).toBeUndefined();
  const columns = columnsOf(first.answer.schema?.fields ?? []);
  expect(textOf(await read({ rows, schema, ...rest }, { columns }))).toBe('{"x":1}');
});

test('rows beyond the limit are counted and left out', async () => {
  const rows = ['1', '2', '3'].map(v => ({ f: [{ v }] }));
  const page = await read(pageOf([{ name: 'x', type: 'INTEGER' }], rows), { maxRows: 2 });
  expect(textOf(page)).toBe('{"x":1},{"x":2}');
  expect(page.rows).toMatchObject({ rowCount: 2, rowsSeen: 3 });
});

test('contract 11.3: a page is read no further than its bytes may go, whether they are many rows, one value, or rows that nobody asked for', async () => {
  const fields = [{ name: 'x', type: 'STRING' }];
  const manyRows = Array.from({ length: 10_000 }, () => ({ f: [{ v: 'x'.repeat(100) }] }));
  for (const [rows, maxRows] of [
    [manyRows, 100_000],
    [[{ f: [{ v: 'x'.repeat(1_000_000) }] }], 100_000],
    [manyRows, 10],
  ] as const) {
    let read = 0;
    const text = Buffer.from(JSON.stringify(pageOf(fields, rows)));
    async function* chunks() {
      for (; read < text.length; read += 1000) yield text.subarray(read, read + 1000);
    }
    const room = { maxRows, roomBytes: 50_000, maxResultBytes: 60_000 };
    const page = readPage(chunks(), { ours: [], ...room }, takeTurns());
    await expect(page).rejects.toMatchObject({
      code: 'result_too_large',
      message: expect.stringContaining('60000 bytes'),
    });
    expect(read).toBeLessThan(80_000);
  }
});

/** Reads a page in chunks of 64 KiB, and counts how many of its bytes were taken. */
async function readCounted(page: object, room: Pick<PageRequest, 'roomBytes' | 'maxResultBytes'>) {
  const text = Buffer.from(JSON.stringify(page));
  let readBytes = 0;
  async function* chunks() {
    for (; readBytes < text.length; readBytes += 65_536) yield text.subarray(readBytes, readBytes + 65_536);
  }
  const reading = readPage(chunks(), { ours: [], maxRows: 10, ...room }, takeTurns());
  // Not the page itself: where a test fails, it would be printed for minutes.
  const ended = await reading.then(
    ({ rows }) => ({ rowCount: rows?.rowCount }),
    error => error,
  );
  return { ended, readBytes };
}

const mebibyte = 1024 * 1024;
const ample = { roomBytes: 64 * mebibyte, maxResultBytes: 64 * mebibyte };

test('contract 11.3: one value has 16 MiB at most, however large a result may be', async () => {
  const fields = [{ name: 'x', type: 'STRING' }];
  const rowOf = (bytes: number) => ({ f: [{ v: 'x'.repeat(bytes) }] });
  const largest = await readCounted(pageOf(fields, [rowOf(15 * mebibyte)]), ample);
  expect(largest.ended).toEqual({ rowCount: 1 });
  const { ended, readBytes } = await readCounted(pageOf(fields, [rowOf(24 * mebibyte)]), ample);
  expect(ended).toMatchObject({
    code: 'result_too_large',
    message: expect.stringContaining(`${16 * mebibyte} bytes`),
  });
  expect(readBytes).toBeLessThan(17 * mebibyte);
});

test.each([
  ['before', (page: object, more: object) => ({ ...more, ...page })],
  ['after', (page: object, more: object) => ({ ...page, ...more })],
])('contract 11.3: a page has 8 MiB at most beside its rows, %s them', async (_, put) => {
  const page = pageOf([{ name: 'x', type: 'STRING' }], [{ f: [{ v: 'y'.repeat(10 * mebibyte) }] }]);
  const more = (count: number) => ({ more: Array(count).fill('x'.repeat(mebibyte)) });
  expect((await readCounted(put(page, more(7)), ample)).ended).toEqual({ rowCount: 1 });
  const { ended } = await readCounted(put(page, more(9)), ample);
  expect(ended).toMatchObject({
    reason: 'brokenAnswer',
    message: expect.stringContaining(`${8 * mebibyte} bytes`),
  });
});

test.each([
  ['HTML', '<html><body>Sign in</body></html>'],
  [
    'half a page',
    JSON.stringify(pageOf([{ name: 'x', type: 'STRING' }], [{ f: [{ v: 'one' }] }])).slice(0, -20),
  ],
  ['a page and more', `${JSON.stringify(pageOf([], []))}{}`],
  ['nothing', ''],
  ['an array', '[]'],
  ['no word of the job', '{"rows":[],"totalRows":"0"}'],
])('%s is a broken answer', async (_, text) => {
  async function* chunks() {
    yield Buffer.from(text);
  }
  const room = { maxRows: 10, roomBytes: 1000, maxResultBytes: 1000 };
  const page = readPage(chunks(), { ours: [], ...room }, takeTurns());
  await expect(page).rejects.toMatchObject({ reason: 'brokenAnswer' });
});

test.each(['HYPERLOGLOG', ''])('a column of a type without a wire form is named: %s', type => {
  expect(() => columnsOf([{ name: 'x', type }])).toThrow(
    expect.objectContaining({
      code: 'engine_failed',
      message: expect.stringContaining(`Column x has the type ${type}`),
    }),
  );
});

test.each<[string, string, object]>([
  ['strings of a megabyte', 'STRING', { f: [{ v: 'x'.repeat(1_000_000) }] }],
  ['a string with escapes all over', 'STRING', { f: [{ v: '\n"'.repeat(2_000_000) }] }],
  ['a million numbers in one row', 'INTEGER', { f: [{ v: Array(1_000_000).fill({ v: '12345' }) }] }],
])('contract 11.2: no chunk of a page holds the thread for long: %s', async (_, type, row) => {
  const mode = type === 'INTEGER' ? 'REPEATED' : 'NULLABLE';
  const text = Buffer.from(JSON.stringify(pageOf([{ name: 'x', type, mode }], [row])));
  const turns: number[] = [];
  async function* chunks() {
    for (let at = 0; at < text.length; at += 65_536) {
      const before = process.threadCpuUsage();
      yield text.subarray(at, at + 65_536);
      // Microseconds of the processor, whatever else the machine is busy with.
      const { user, system } = process.threadCpuUsage(before);
      turns.push((user + system) / 1000);
    }
  }
  const roomBytes = 64 * 1024 * 1024;
  await readPage(chunks(), { ours: [], maxRows: 10, roomBytes, maxResultBytes: roomBytes }, takeTurns());
  expect(turns.length).toBeGreaterThan(10);
  // Contract 11.2 wants 100 ms on a machine of its own; under a load of 30, processor time is up to twice as long.
  expect(Math.max(...turns)).toBeLessThan(250);
});

test('contract 11.2: pages that are read at the same time share one slice of each turn', async () => {
  const rows = Array.from({ length: 20 }, (_, at) => ({ f: [{ v: `${at}` }] }));
  const text = Buffer.from(JSON.stringify(pageOf([{ name: 'x', type: 'STRING' }], rows)));
  async function* chunks() {
    // The beginning of a page waits for no turn.
    yield Buffer.alloc(70_000, ' ');
    for (let at = 0; at < text.length; at += 50) yield text.subarray(at, at + 50);
  }
  // Each turn of the event loop begins a count of its own.
  const chunksOfTurns = [0];
  let isOver = false;
  const turn = () => {
    chunksOfTurns.push(0);
    if (!isOver) setImmediate(turn);
  };
  turn();
  /** Two milliseconds of work for a chunk. */
  const onHeld = (bytes: number) => {
    if (bytes === 0) return undefined;
    for (const startedMs = performance.now(); performance.now() - startedMs < 2; );
    chunksOfTurns[chunksOfTurns.length - 1]! += 1;
    return undefined;
  };
  const turns = takeTurns(5);
  const request = { ours: [], maxRows: 100, roomBytes: 10_000, maxResultBytes: 10_000, onHeld };
  const pages = await Promise.all([1, 2, 3, 4, 5].map(() => readPage(chunks(), request, turns)));
  isOver = true;
  expect(pages.map(({ rows: read }) => read?.rowCount)).toEqual(Array(5).fill(20));
  // Three times two milliseconds are more than five; a busy machine fits fewer.
  expect(Math.max(...chunksOfTurns)).toBeLessThanOrEqual(3);
});

test('contract 11.1: a small page waits for none of those that are read at the same time, a large one does', async () => {
  let waiting = 0;
  const never = {
    isOver: () => true,
    next() {
      waiting++;
      return new Promise<void>(() => undefined);
    },
  };
  const room = { maxRows: 10, roomBytes: 10_000_000, maxResultBytes: 10_000_000 };
  const readRow = (bytes: number) => {
    const page = pageOf([{ name: 'x', type: 'STRING' }], [{ f: [{ v: 'y'.repeat(bytes) }] }]);
    const text = Buffer.from(JSON.stringify(page));
    async function* chunks() {
      for (let at = 0; at < text.length; at += 16_384) yield text.subarray(at, at + 16_384);
    }
    return readPage(chunks(), { ours: [], ...room }, never);
  };
  expect((await readRow(30_000)).rows?.rowCount).toBe(1);
  expect(waiting).toBe(0);
  void readRow(300_000);
  await expect.poll(() => waiting).toBe(1);
});
