import type { ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, expect, test } from 'vitest';
import { takeTurns } from '../../../src/base/turns.ts';
import { type Page, readPage } from '../../../src/bigquery/answers/read-page.ts';
import { type AskForPage, readResult } from '../../../src/bigquery/answers/read-result.ts';
import { complete, openScripted, type Script, type ScriptedEngine } from '../scripted-warehouse.ts';
import type { Deed } from '../warehouse-http.ts';

let opened: ScriptedEngine | undefined;

/** A query over a warehouse that answers so for results, and the code or the rows that it ends with. */
async function ended(results: readonly Deed[], more: Script = {}, maxRows = 1000): Promise<string> {
  opened = await openScripted({ results, ...more }, { maxRetries: 1 });
  const result = opened.run({ maxRows }).then(({ rowsJson }) => rowsJson.toString());
  return result.catch(error => error.code);
}

afterEach(() => opened?.close());

const fields = [{ name: 'n', type: 'INTEGER', mode: 'NULLABLE' }];
const first = complete(['1', '2'], { totalRows: '4', pageToken: 'b' });
const second = complete(['3', '4'], { totalRows: '4' });

/** A page of a result of two rows, each a record. */
function record(type: string, more: object = {}) {
  const schema = { fields: [{ name: 'r', type: 'RECORD', mode: 'NULLABLE', fields: [{ name: 'n', type }] }] };
  return complete([], { schema, rows: [{ f: [{ v: { f: [{ v: '1' }] } }] }], totalRows: '2', ...more });
}

/** A whole page in a gzip text without its end: length and checksum are missing. */
async function cutGzip(response: ServerResponse): Promise<void> {
  const packed = gzipSync(JSON.stringify(complete(['1']).json));
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
  response.end(packed.subarray(0, -8));
}

/** A whole page that is not packed, and is said to be. */
async function unpacked(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
  response.end(JSON.stringify(complete(['1']).json));
}

/** A whole page, said to be packed in a way that we did not ask for. */
async function misnamed(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'br' });
  response.end(JSON.stringify(complete(['1']).json));
}

test('pages that fit are one result', async () => {
  expect(await ended([first, second])).toBe('[{"n":1},{"n":2},{"n":3},{"n":4}]');
});

test.each<[string, readonly Deed[]]>([
  ['a page token that was there before', [complete(['1'], { totalRows: '9', pageToken: 'b' })]],
  ['tokens in a ring', [
    complete(['1'], { totalRows: '9', pageToken: 'b' }),
    complete(['1'], { totalRows: '9', pageToken: 'c' }),
    complete(['1'], { totalRows: '9', pageToken: 'b' }),
  ]],
  ['an unfinished second page', [first, complete(['3', '4'], { totalRows: '4', jobComplete: false })]],
  ['a second page without a word of the job', [first, complete(['3', '4'], { totalRows: '4', jobComplete: undefined })]],
  ['rows that are missing', [first, complete(['3'], { totalRows: '4' })]],
  ['a last page without rows', [first, complete([], { totalRows: '4', rows: undefined })]],
  ['more rows than there are', [first, complete(['3', '4', '5'], { totalRows: '4' })]],
  ['another number of rows', [first, complete(['3', '4', '5'], { totalRows: '5' })]],
  ['no number of rows on the second page', [first, complete(['3', '4'], { totalRows: undefined })]],
  ['another type', [first, complete(['3', '4'], { totalRows: '4', schema: { fields: [{ ...fields[0], type: 'STRING' }] } })]],
  ['another mode', [first, complete(['3', '4'], { totalRows: '4', schema: { fields: [{ ...fields[0], mode: 'REPEATED' }] } })]],
  ['another name', [first, complete(['3', '4'], { totalRows: '4', schema: { fields: [{ ...fields[0], name: 'm' }] } })]],
  ['another column', [first, complete(['3', '4'], { totalRows: '4', schema: { fields: [...fields, fields[0]] } })]],
  ['no schema at all', [complete(['1'], { schema: undefined })]],
  ['pages without end and without rows', Array.from({ length: 100 }, (_, at) => complete([], { totalRows: '4', pageToken: `t${at}` }))],
  ['HTML', [{ text: '<!doctype html><title>Sign in</title>' }]],
  ['HTML on the second page', [first, { text: '<!doctype html>' }]],
  ['a redirect', [{ status: 302, text: '', headers: { location: '/elsewhere' } }]],
  ['a redirect of the second page', [first, { status: 307, text: '', headers: { location: '/elsewhere' } }]],
  ['half a page', ['halfAPage']],
  ['half a second page', [first, 'halfAPage']],
  ['a body that is no gzip', [{ stream: unpacked }]],
  ['another field of a record', [record('INTEGER', { pageToken: 'b' }), record('STRING')]],
  ['a gzip text that is cut off', [{ stream: cutGzip }]],
  ['an unknown encoding', [{ stream: misnamed }]],
])('%s is an error, never an answer', async (_, results) => {
  expect(await ended(results)).toMatch(/^(unavailable|engine_failed)$/);
}); // biome-ignore format: a table

test('a broken page is asked for once more, and a good one then goes on where it broke', async () => {
  expect(await ended([first, 'halfAPage', second])).toBe('[{"n":1},{"n":2},{"n":3},{"n":4}]');
  const pages = opened?.asked.filter(({ what }) => what === 'results');
  expect(pages?.map(({ params }) => params.get('pageToken'))).toEqual([null, 'b', 'b']);
});

/** Reads pages as from BigQuery itself, which leaves nothing unsaid. */
async function readPages(pages: readonly Partial<Page['answer']>[]) {
  let asked = 0;
  const ask = async (): Promise<Page> => {
    const answer = { jobComplete: true, schema: { fields }, ...pages[Math.min(asked++, pages.length - 1)] };
    return { answer, rows: { pieces: [], rowCount: 0, rowsSeen: 0, byteCount: 0 } };
  };
  const request = { maxRows: 10, maxResultBytes: 1000, ours: [], isEmulator: false, onHeld: () => undefined };
  const ended = await readResult(ask, send => send(), request).catch(error => error.message);
  return { ended, asked };
}

test('contract 11.3: the pages of a result share its bytes: the second is read no further than the first left room', async () => {
  const columns = [{ name: 'n', type: 'STRING', mode: 'NULLABLE' }];
  const rowsOf = (kilobytes: number) =>
    Array.from({ length: kilobytes }, () => ({ f: [{ v: 'x'.repeat(1000) }] }));
  const pages = [90, 1000].map((kilobytes, at) =>
    Buffer.from(
      JSON.stringify({
        jobComplete: true,
        schema: { fields: columns },
        totalRows: '1090',
        ...(at === 0 ? { pageToken: 'b' } : {}),
        rows: rowsOf(kilobytes),
      }),
    ),
  );
  const readBytes: number[] = [];
  const ask: AskForPage = (_, reading) => {
    const text = pages[readBytes.length]!;
    const at = readBytes.push(0) - 1;
    async function* chunks() {
      for (; readBytes[at]! < text.length; readBytes[at]! += 1000)
        yield text.subarray(readBytes[at]!, readBytes[at]! + 1000);
    }
    return readPage(chunks(), reading, takeTurns());
  };
  const request = {
    maxRows: 5000,
    maxResultBytes: 100_000,
    ours: [],
    isEmulator: false,
    onHeld: () => undefined,
  };
  const failure = await readResult(ask, send => send(), request).catch(error => error);
  expect(failure).toMatchObject({
    code: 'result_too_large',
    message: expect.stringContaining('100000 bytes'),
  });
  expect(readBytes[0]).toBeGreaterThan(90_000);
  expect(readBytes[1]).toBeLessThan(20_000);
});

test('a result is measured in bytes, not in characters, over all of its pages', async () => {
  // Each character has two bytes: no page has more characters than there is room for bytes.
  const rows = [{ f: [{ v: 'é'.repeat(200) }] }];
  const text = { fields: [{ name: 'n', type: 'STRING', mode: 'NULLABLE' }] };
  const results = [
    complete([], { totalRows: '2', schema: text, rows, pageToken: 'b' }),
    complete([], { totalRows: '2', schema: text, rows }),
  ];
  opened = await openScripted({ results }, { maxResultBytes: 700 });
  await expect(opened.run()).rejects.toMatchObject({
    code: 'result_too_large',
    message: expect.stringContaining('700 bytes'),
  });
});

test('BigQuery always says how many rows there are: one that does not is broken', async () => {
  expect((await readPages([{}])).ended).toBe('A page of the result has no number of rows');
});

test('ten pages without rows are followed, and no more', async () => {
  const empty = Array.from({ length: 50 }, (_, at) => ({ totalRows: 4, pageToken: `t${at}` }));
  expect(await readPages(empty)).toEqual({
    ended: 'A page of the result has no rows, and so had those before',
    asked: 11,
  });
});

test('pages without rows are counted in a row: where rows come between them, a result goes on', async () => {
  const rows = Array.from({ length: 24 }, (_, at) => (at % 2 ? [String(at)] : []));
  const pages = rows.map((values, at) =>
    complete(values, { totalRows: '12', ...(at < 23 ? { pageToken: `t${at}` } : {}) }),
  );
  expect(JSON.parse(await ended(pages))).toHaveLength(12);
});

test('what BigQuery warns of beside the rows is no failure', async () => {
  const errors = [{ reason: 'invalid', message: 'A function is deprecated' }];
  expect(await ended([complete(['1'], { errors })])).toBe('[{"n":1}]');
});

test('redirects are not followed', async () => {
  const moved = { jobComplete: true, schema: { fields }, totalRows: '0' };
  const code = await ended([{ status: 302, json: moved, headers: { location: '/elsewhere' } }]);
  expect([code, opened?.counts().results]).toEqual(['engine_failed', 1]);
  expect(opened?.asked.some(({ path }) => path === '/elsewhere')).toBe(false);
  expect(opened?.events).toMatchObject([{ type: 'warehouse.failed', reason: 'redirected' }]);
});

test('rows before their schema are read again with it', async () => {
  const { schema, rows, ...rest } = complete(['1', '2']).json;
  expect(await ended([{ json: { rows, ...rest, schema } }])).toBe('[{"n":1},{"n":2}]');
  expect(opened?.counts()).toMatchObject({ results: 2 });
});

test('a page token again is an error where fewer rows are wanted than there are, too: they would be the same ones', async () => {
  expect(await ended([complete(['1'], { totalRows: '9', pageToken: 'b' })], {}, 3)).toBe('unavailable');
});

test('an empty page token is none', async () => {
  expect(await ended([first, complete(['3', '4'], { totalRows: '4', pageToken: '' })])).toBe(
    '[{"n":1},{"n":2},{"n":3},{"n":4}]',
  );
  expect(await ended([complete(['1'], { totalRows: '4', pageToken: '' })])).toBe('unavailable');
});

test('rows before their schema, which is another one when they are read again, are an error', async () => {
  const page = (type: string) => {
    const { schema: _, rows, ...rest } = complete(['1']).json;
    return { json: { rows, ...rest, schema: { fields: [{ ...fields[0], type }] } } };
  };
  expect(await ended([page('INTEGER'), page('STRING'), page('INTEGER'), page('STRING')])).toBe('unavailable');
});

test('a page token after all rows is followed: only an empty page is the last', async () => {
  const all = complete(['1'], { totalRows: '1', pageToken: 'b' });
  expect(await ended([all, complete([], { totalRows: '1', rows: undefined })])).toBe('[{"n":1}]');
  expect(await ended([all, complete(['2'], { totalRows: '1' })])).toBe('unavailable');
});
