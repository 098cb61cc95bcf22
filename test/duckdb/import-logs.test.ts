import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { DatabaseBusyError } from '../../src/duckdb/data-folder/database-busy-error.ts';
import { openForWriting, readColumns } from '../../src/duckdb/database.ts';
import { importLogs } from '../../src/duckdb/import-logs.ts';
import type { SourceFields } from '../../src/endpoints/source.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { engineSettings } from './engine-settings.ts';

const sources = readSources();
const edge = 'cloudflare.logs.prod';

/** Imports lines into a new database, and reads the table back as DuckDB's own JSON. */
async function openImporter() {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  const badLines: [number, string][] = [];
  const lines = (source: string, ...rows: (object | string)[]) =>
    importLogs({
      databasePath,
      sources,
      source,
      input: Readable.from(rows.map(row => `${typeof row === 'string' ? row : JSON.stringify(row)}\n`)),
      onBadLine: (line, reason) => badLines.push([line, reason]),
    });
  const query = async (sql: string) => {
    const database = await openForWriting(databasePath, sources);
    try {
      return (await database.connection.runAndReadAll(sql)).getRowsJson();
    } finally {
      database.close();
    }
  };
  return { databasePath, lines, query, badLines };
}

const row = (more: object) => ({ id: 'a', timestamp: '2026-01-15T10:00:00Z', ...more });

describe('values arrive exact', () => {
  test('timestamps from text with a zone and from integer microseconds', async () => {
    const { lines, query } = await openImporter();
    const micros = 1_768_471_200_123_456;
    await lines(edge, row({ timestamp: '2026-01-15T12:00:00.123456+02:00' }), row({ timestamp: micros }));
    await lines(edge, row({ timestamp: '1969-12-31T23:59:59.999999Z' }));
    expect(await query(`SELECT epoch_us(timestamp) FROM "${edge}" ORDER BY 1`)).toEqual([
      ['-1'],
      [String(micros)],
      [String(micros)],
    ]);
  });

  test('integers beyond 2^53, as numbers and as text', async () => {
    const { lines, query } = await openImporter();
    const status = (text: string) =>
      `{"id":"a","timestamp":"2026-01-15","metadata":[{"response":[{"status_code":${text}}]}]}`;
    await lines(edge, status('9223372036854775807'), status('"-9223372036854775808"'));
    expect(await query(`SELECT metadata.response.status_code FROM "${edge}"`)).toEqual([
      ['9223372036854775807'],
      ['-9223372036854775808'],
    ]);
  });

  test('text with quotes, control characters, emoji and SQL in it', async () => {
    const { lines, query } = await openImporter();
    const event_message = `'; DROP TABLE x; -- "\\ \n\t\u0001 é 💥`;
    await lines('postgres.logs', row({ event_message }));
    expect(await query('SELECT event_message FROM "postgres.logs"')).toEqual([[event_message]]);
  });

  test('a row without an id gets one', async () => {
    const { lines, query } = await openImporter();
    await lines('postgres.logs', { timestamp: '2026-01-15' });
    expect(await query('SELECT id FROM "postgres.logs"')).toEqual([
      [expect.stringMatching(/^[0-9a-f-]{36}$/)],
    ]);
  });
});

describe('bad lines', () => {
  test('are reported by number with the reason, and the rest is kept', async () => {
    const { lines, query, badLines } = await openImporter();
    const result = await lines(
      edge,
      row({ id: '1' }),
      '{"id": "2"',
      '',
      '[]',
      { id: '5' },
      row({ id: '6', timestamp: 'yesterday' }),
      row({ id: '7', metadata: 'text' }),
      row({ id: '8', metadata: [{ response: [{ status_code: 'ok' }] }] }),
      row({ id: '9' }),
    );
    expect(result).toEqual({ imported: 2, rejected: 6, ignoredFields: [] });
    expect(badLines).toEqual([
      [2, expect.stringContaining('JSON')],
      [4, 'is not a JSON object'],
      [5, 'timestamp is missing'],
      [6, 'timestamp is "yesterday"; allowed: ISO 8601 text or integer microseconds'],
      [7, 'metadata is "text"; allowed: an object or an array of objects'],
      [8, 'metadata.response.status_code is "ok"; allowed: a 64-bit integer'],
    ]);
    expect(await query(`SELECT id FROM "${edge}" ORDER BY 1`)).toEqual([['1'], ['9']]);
  });

  test('fields that the source does not have are ignored and named once', async () => {
    const { lines } = await openImporter();
    const extra = row({ color: 'red', metadata: [{ request: [{ speed: 1 }] }] });
    expect(await lines(edge, extra, extra)).toMatchObject({
      imported: 2,
      ignoredFields: ['color', 'metadata.request.speed'],
    });
  });

  test('an unknown source is refused, with those that are known', async () => {
    const { lines } = await openImporter();
    await expect(lines('edge', row({}))).rejects.toThrow(
      'No source is named "edge"; allowed: cloudflare.logs.prod, ',
    );
  });
});

describe('the layout of repeated records', () => {
  const kindOf = async (databasePath: string) => {
    const { connection, close } = await openForWriting(databasePath, sources);
    try {
      const type = (await readColumns(connection, edge)).find(({ name }) => name === 'metadata')?.type;
      const request = type?.kind === 'ARRAY' && type.element.kind === 'STRUCT' ? type.element.fields : [];
      const inner = request.find(({ name }) => name === 'request')?.type;
      return [type, inner].map(each =>
        each?.kind === 'ARRAY' ? (each.single ? 'record' : 'list') : each?.kind,
      );
    } finally {
      close();
    }
  };
  const path = (value: string) => ({ request: [{ path: value }] });

  test('is one plain record while no row has more, and an object is an array of one', async () => {
    const { databasePath, lines } = await openImporter();
    await lines(
      edge,
      row({ metadata: [path('/a')] }),
      row({ metadata: { request: { path: '/b' } } }),
      row({ metadata: [] }),
    );
    expect(await kindOf(databasePath)).toEqual(['record', 'record']);
  });

  test.each([
    ['the outer record', [path('/b'), path('/c')], ['list', 'record']],
    ['an inner record', [{ request: [{ path: '/b' }, { path: '/c' }] }], ['record', 'list']],
    ['both', [{ request: [{ path: '/b' }, { path: '/c' }] }, {}], ['list', 'list']],
  ])(
    'widens to a list when %s brings a second element, and keeps what was there',
    async (_what, metadata, kinds) => {
      const { databasePath, lines, query } = await openImporter();
      await lines(
        edge,
        row({ id: '1', metadata: [path('/a')] }),
        row({ id: '2', metadata: [] }),
        row({ id: '3', metadata: [{}] }),
      );
      await lines(edge, row({ id: '4', metadata }));
      expect(await kindOf(databasePath)).toEqual(kinds);
      const rows = await query(`SELECT to_json(metadata)::VARCHAR FROM "${edge}" ORDER BY id`);
      const paths = rows.map(([text]) =>
        [...String(text).matchAll(/"path":"([^"]+)"/g)].map(match => match[1]),
      );
      expect(paths).toEqual([['/a'], [], [], ['/b', '/c']]);
      expect(String(rows[1]?.[0])).toMatch(/^(?:\[\]|null)$/);
      expect(String(rows[2]?.[0])).toContain('"_p":true');
    },
  );
});

test('more rows than one batch holds', async () => {
  const { lines, query } = await openImporter();
  const many = Array.from({ length: 12_345 }, (_, n) => row({ id: String(n) }));
  expect((await lines('pgbouncer.logs.prod', ...many)).imported).toBe(12_345);
  expect(await query('SELECT count(DISTINCT id) FROM "pgbouncer.logs.prod"')).toEqual([['12345']]);
});

test('a database that a gateway holds is refused in plain words', async () => {
  const { databasePath, lines } = await openImporter();
  await lines(edge, row({}));
  // Another process, as locks are per process.
  const { startEngineChild } = await import('../../src/duckdb/engine-child.ts');
  const child = startEngineChild(engineSettings(databasePath));
  await child.catalog;
  try {
    await expect(lines(edge, row({}))).rejects.toThrow(DatabaseBusyError);
    await expect(lines(edge, row({}))).rejects.toThrow('Stop it, then try again');
  } finally {
    child.kill('closed');
    await child.ended;
  }
});

test('a field that the sources gain is added to the tables that are there', async () => {
  const databasePath = join(await temporaryDirectory(), 'logs.duckdb');
  const bring = (columns: SourceFields, ...rows: object[]) =>
    importLogs({
      databasePath,
      sources: [{ name: 'visits', columns: { id: 'STRING', timestamp: 'TIMESTAMP', ...columns } }],
      source: 'visits',
      input: Readable.from(rows.map(each => `${JSON.stringify(each)}\n`)),
    });
  await bring(
    { single: [{ a: 'STRING' }], several: [{ a: 'STRING' }] },
    row({ id: '1', single: { a: 'x' }, several: [{ a: 'y' }, { a: 'z' }] }),
  );
  const grown: SourceFields = { a: 'STRING', b: 'INT64' };
  await bring(
    { single: [grown], several: [grown], added: [grown] },
    row({ id: '2', single: { b: 1 }, several: [{ b: 2 }], added: { b: 3 } }),
  );
  const { connection, close } = await openForWriting(databasePath, []);
  const result = await connection.runAndReadAll(
    'SELECT single.a, single.b, several[1].a, several[1].b, len(several), added.b FROM visits ORDER BY id',
  );
  close();
  expect(result.getRowsJson()).toEqual([
    ['x', null, 'y', null, '2', null],
    [null, '1', null, '2', '1', '3'],
  ]);
});
