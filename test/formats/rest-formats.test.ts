import { once } from 'node:events';
import { request } from 'node:http';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { tableFromIPC } from 'apache-arrow';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Column } from '../../src/base/rows.ts';
import { formatNames, rowFormats } from '../../src/formats/row-formats.ts';
import { writeRows } from '../../src/formats/write-rows.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { bodyOf, columns, rowLines } from './every-type.ts';

const header = (name: string, digit: number, settings = '') => `/*
id: 7e57ab1e-0000-4000-8000-00000000020${digit}
name: ${name}
description: Rows of every type.
parameters:
  project: { type: string, required: true, description: Reference of the project. }
columns:
  n: { type: INT64, description: A number. }
sandbox: true
maxRows: 1000
${settings}
*/
with a as (select 1 as n) select n from a`;

const number: Column = { name: 'n', type: 'INT64', mode: 'NULLABLE' };
const personal: Column = { name: 'text', type: 'STRING', mode: 'NULLABLE' };
/** What the engine answers, by the caller's SQL. */
const results: Record<string, { columns: readonly Column[]; lines: readonly string[] }> = {
  every: { columns, lines: rowLines },
  personal: { columns: [personal], lines: ['{"text":"from 203.0.113.7"}'] },
  none: { columns: [number], lines: [] },
  long: {
    columns: [number, personal],
    lines: Array.from({ length: 20_000 }, (_, n) => `{"n":${n},"text":"${'x'.repeat(20)}"}`),
  },
  longer: {
    columns: [number, personal],
    lines: Array.from({ length: 30_000 }, (_, n) => `{"n":${n},"text":"from 203.0.113.${n % 250}, ${n}"}`),
  },
};

let gateway: OpenGateway;
let runs = 0;
beforeAll(async () => {
  gateway = await openGateway({
    now: '2026-01-15T12:00:00Z',
    sqlFiles: { 'kept.sql': header('kept', 1, 'cacheSeconds: 60'), 'each.sql': header('each', 2) },
    environment: { CACHE_MEMORY_MB: '64' },
    tokens: { bound: { parameters: { project: 'ours' } }, poor: { without: ['sandbox'] } },
    engine: {
      describe: async () => [number],
      async run({ callerSql = 'none', maxRows }) {
        runs++;
        const { columns: of, lines } = results[callerSql]!;
        const shown = callerSql.startsWith('long') ? lines : lines.slice(0, maxRows);
        const rowsJson = Buffer.from(`[${shown.join(',')}]`);
        return { columns: of, rowsJson, rowCount: shown.length, isTruncated: callerSql === 'every' };
      },
    },
  });
  return gateway.close;
});

type Wired = { status: number; headers: Record<string, unknown>; body: Buffer };

/** Asks without what fetch adds. */
async function wire(path: string, headers: Record<string, string> = {}, method = 'GET', body = '') {
  const { promise, resolve, reject } = Promise.withResolvers<Wired>();
  const sent =
    body === '' ? {} : { 'content-type': 'application/json', 'content-length': String(body.length) };
  request(
    gateway.origin + path,
    { method, headers: { 'x-api-key': testToken, ...sent, ...headers } },
    async response => {
      const received = Buffer.concat(await response.toArray());
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: received });
    },
  )
    .on('error', reject)
    .end(body);
  return promise;
}

const route = (sql: string, more = '', endpoint = 'kept') =>
  `/api/endpoints/query/${endpoint}?project=ours&sql=${sql}${more}`;
const errorOf = ({ status, headers, body }: Wired) => [
  status,
  headers['content-type'],
  JSON.parse(body.toString()).error.code,
];

describe('a format', () => {
  test.each(formatNames)('%s is chosen by ?format=, by a body, and by Accept', async format => {
    const { contentType, mediaTypes } = rowFormats[format];
    const accept = { accept: mediaTypes[0]! };
    const asked = JSON.stringify({ project: 'ours', sql: 'every', format });
    const answers = [
      await wire(route('every', `&format=${format}`)),
      await wire(route('every'), accept),
      await wire('/api/endpoints/query/kept', {}, 'POST', asked),
    ];
    for (const { status, headers, body } of answers) {
      expect([status, headers['content-type'], headers['content-disposition']]).toEqual([
        200,
        contentType,
        format === 'json' ? undefined : `attachment; filename="kept.${format}"`,
      ]);
      expect(headers.vary).toMatch(/^Accept, /);
      expect(headers).toMatchObject({ 'result-truncated': '?1', 'result-max-rows': '1000' });
      expect(body.equals(answers[0]!.body)).toBe(true);
    }
  });

  test('all of them are one cache entry: one query runs', async () => {
    gateway.clock.advance(10_000_000);
    const before = runs;
    const bodies = await Promise.all(formatNames.map(format => wire(route('every', `&format=${format}`))));
    expect(new Set(bodies.map(({ body }) => body.toString('latin1'))).size).toBe(formatNames.length);
    expect(runs - before).toBe(1);
  });

  test('each has a tag of its own, and answers 304 without the headers of a content', async () => {
    const tags = await Promise.all(
      formatNames.map(async format => String((await wire(route('every', `&format=${format}`))).headers.etag)),
    );
    expect(new Set(tags).size).toBe(formatNames.length);
    const csv = route('every', '&format=csv');
    const { status, headers, body } = await wire(csv, { 'if-none-match': tags[formatNames.indexOf('csv')]! });
    expect([status, body.length]).toEqual([304, 0]);
    expect(headers).not.toHaveProperty('content-type');
    expect(headers).not.toHaveProperty('content-disposition');
    expect((await wire(csv, { 'if-none-match': tags[0]! })).status).toBe(200);
  });

  test('a hit has the same bytes as a miss, asked once or often, and as HEAD says', async () => {
    for (const format of formatNames) {
      const path = route('every', `&format=${format}&once=${format}`);
      const answers = [await wire(path), await wire(path), await wire(path), await wire(path)];
      const [first, ...others] = answers;
      for (const other of others) expect(other.body.equals(first!.body)).toBe(true);
      expect(others.at(-1)!.headers['x-cache']).toBe('HIT');
      const head = await wire(path, {}, 'HEAD');
      expect(head.headers['content-length']).toBe(String(first!.body.length));
    }
  });

  test('endpoints without a cache have them too', async () => {
    const { headers, body } = await wire(route('every', '&format=ndjson', 'each'));
    expect([headers['cache-control'], body.toString()]).toEqual([
      'no-store',
      rowLines.map(line => `${line}\n`).join(''),
    ]);
  });

  test('text is compressed for those who accept it, Parquet has its own compression', async () => {
    const gzip = { 'accept-encoding': 'gzip' };
    const plain = await wire(route('long', '&format=csv'));
    const csv = await wire(route('long', '&format=csv'), gzip);
    expect(csv.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(csv.body).equals(plain.body)).toBe(true);
    const parquet = await wire(route('long', '&format=parquet'), gzip);
    expect(parquet.headers).not.toHaveProperty('content-encoding');
  });

  test('an empty result has its columns, where the format has a place for them', async () => {
    const body = async (format: string) => (await wire(route('none', `&format=${format}`))).body;
    expect((await body('csv')).toString()).toBe('n\r\n');
    expect((await body('ndjson')).length).toBe(0);
    expect(tableFromIPC(await body('arrow')).schema.names).toEqual(['n']);
  });
});

describe('what holds for JSON holds for each format', () => {
  test('contract 5.4: redaction comes before the format', async () => {
    const texts = async (headers: Record<string, string>) => {
      const csv = await wire(route('personal', '&format=csv'), headers);
      const arrow = await wire(route('personal', '&format=arrow'), headers);
      return [csv.body.toString().split('\r\n')[1], tableFromIPC(arrow.body).getChild('text')!.get(0)];
    };
    const redacted = { 'lf-endpoint-redact-pii': 'true' };
    expect(await texts({})).toEqual(['from 203.0.113.7', 'from 203.0.113.7']);
    expect(await texts(redacted)).toEqual(['from REDACTED', 'from REDACTED']);
    expect(await texts({})).toEqual(['from 203.0.113.7', 'from 203.0.113.7']);
  });

  test('contract 8.8: tokens, their scopes and their fixed parameters', async () => {
    const csv = '/api/endpoints/query/kept?format=csv';
    const bound = { 'x-api-key': gateway.token('bound') };
    expect(errorOf(await wire(`${csv}&project=ours`, { 'x-api-key': 'garbage' }))[0]).toBe(401);
    expect(errorOf(await wire(`${csv}&project=theirs`, bound))[2]).toBe('forbidden');
    expect((await wire(csv, bound)).body.toString()).toBe('n\r\n');
    const poor = { 'x-api-key': gateway.token('poor') };
    expect(errorOf(await wire(route('every', '&format=csv'), poor))[2]).toBe('forbidden');
  });

  test('errors are JSON, whatever format was asked for', async () => {
    const json = 'application/json; charset=utf-8';
    expect(errorOf(await wire('/api/endpoints/query/kept?format=csv'))).toEqual([
      400,
      json,
      'invalid_parameter',
    ]);
    expect(errorOf(await wire(route('every', '&format=xlsx')))).toEqual([400, json, 'invalid_parameter']);
    expect(errorOf(await wire(route('every'), { accept: 'image/png' }))).toEqual([
      406,
      json,
      'not_acceptable',
    ]);
    // The token is checked before anything of the request's content.
    expect(errorOf(await wire(route('every', '&format=xlsx'), { 'x-api-key': 'no' }))[0]).toBe(401);
  });
});

describe('a long result', () => {
  test('is written on a thread of its own, once for all who wait', async () => {
    const paths = Array.from({ length: 4 }, (_, n) => route('long', `&format=parquet&n=${n}`));
    const answers = await Promise.all(paths.map(path => wire(path)));
    expect(new Set(answers.map(({ body }) => body.toString('latin1'))).size).toBe(1);
    const csv = await wire(route('long', '&format=csv'));
    expect(csv.body.toString().split('\r\n')).toHaveLength(20_002);
    const arrow = tableFromIPC((await wire(route('long', '&format=arrow'))).body);
    expect(arrow.getChild('n')!.toArray().at(-1)).toBe(19_999n);
  });
});

describe('a result of over a megabyte is sent while it is written', () => {
  const written = formatNames.filter(format => format !== 'json');
  const redacted = { 'lf-endpoint-redact-pii': 'true' };

  test.each(written)(
    '%s: the bytes of all rows, redacted where asked for, from one cache entry',
    async format => {
      const before = runs;
      const path = route('longer', `&format=${format}&once=${format}`);
      const answers = [await wire(path), await wire(path, redacted), await wire(path)];
      expect(runs - before).toBeLessThanOrEqual(1);
      for (const { status, headers } of answers) {
        expect([status, headers['transfer-encoding'], headers['content-length']]).toEqual([
          200,
          'chunked',
          undefined,
        ]);
        expect(headers['content-disposition']).toBe(`attachment; filename="kept.${format}"`);
      }
      const { lines } = results.longer!;
      const own = lines.map(line => line.replace(/203\.0\.113\.\d+/, 'REDACTED'));
      const expected = [lines, own, lines].map(each =>
        writeRows(format, results.longer!.columns, bodyOf(each)),
      );
      for (const [n, whole] of (await Promise.all(expected)).entries()) {
        expect(answers[n]!.body.equals(whole)).toBe(true);
      }
      expect(answers[2]!.headers).toMatchObject({ 'x-cache': 'HIT', etag: answers[0]!.headers.etag });
      expect(answers[1]!.headers.etag).not.toBe(answers[0]!.headers.etag);
    },
  );

  test.each(['gzip', 'br', 'zstd'] as const)('%s decodes to the same bytes', async encoding => {
    const decode = { gzip: gunzipSync, br: brotliDecompressSync, zstd: zstdDecompressSync }[encoding];
    const [plain, encoded, again] = [
      await wire(route('longer', '&format=csv')),
      await wire(route('longer', '&format=csv'), { 'accept-encoding': encoding }),
      await wire(route('longer', '&format=csv'), { 'accept-encoding': encoding }),
    ];
    expect(encoded.headers['content-encoding']).toBe(encoding);
    expect(decode(encoded.body).equals(plain.body)).toBe(true);
    // A strong tag promises the same bytes.
    expect(again.headers.etag).toBe(encoded.headers.etag);
    expect(again.body.equals(encoded.body)).toBe(true);
  });

  test('HEAD and 304 have the headers, but for a length that is not known, and write nothing', async () => {
    const path = route('longer', '&format=parquet');
    const { headers } = await wire(path);
    const head = await wire(path, {}, 'HEAD');
    expect([head.status, head.body.length, head.headers['content-length']]).toEqual([200, 0, undefined]);
    expect(head.headers).toMatchObject({ etag: headers.etag, 'content-type': headers['content-type'] });
    const same = await wire(path, { 'if-none-match': String(headers.etag) });
    expect([same.status, same.body.length]).toEqual([304, 0]);
  });

  test('the log has the bytes that were sent', async () => {
    const { body } = await wire(route('longer', '&format=csv&logged=1'));
    const logged = () => gateway.events.findLast(event => event.type === 'http.answered');
    await expect.poll(logged).toMatchObject({ status: 200, bytes: body.length, endpoint: 'kept' });
  });

  test('a caller who leaves in the middle leaves nothing behind', async () => {
    const path = route('longer', '&format=ndjson');
    const asked = request(gateway.origin + path, { headers: { 'x-api-key': testToken } });
    const [response] = await once(asked.end(), 'response');
    response.destroy();
    await expect.poll(() => gateway.http.unreadBytes()).toBe(0);
    expect((await wire(path)).body.length).toBeGreaterThan(1024 * 1024);
  });
});
