import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { tableFromIPC } from 'apache-arrow';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseExactJson } from '../../src/base/json.ts';
import { createDuckDbEngine } from '../../src/duckdb/duckdb-engine.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { formatNames } from '../../src/formats/row-formats.ts';
import { acceptRows } from '../../src/loading/accept-rows.ts';
import { rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import { openInput } from '../../src/loading/input/open-input.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';
import { bigqueryEnvironment, sourceTables } from '../bigquery/bigquery-environment.ts';
import { openExecutingWarehouse } from '../bigquery/executing-warehouse.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import {
  graphqlFields,
  graphqlRows,
  restRows,
  typedColumns,
  typedQuery,
  typedRows,
  typedSource,
} from './typed-rows.ts';

/** Formats whose files go in again. */
const loadedFormats = ['ndjson', 'csv', 'parquet'] as const;

const table = 'acme-prod.logs.typed';
const sourceFiles = (place: string) => ({
  'typed.yaml': typedSource('typed', `table: ${table}\n`),
  'typed.files.yaml': typedSource('typed.files', `files: [${place}/typed-*.ndjson.gz]\n`),
  ...Object.fromEntries(
    loadedFormats.map(format => [`again.${format}.yaml`, typedSource(`again.${format}`)]),
  ),
});
const sqlFiles = {
  'typed.sql': typedQuery('typed', 'typed', 1),
  'files.sql': typedQuery('files', 'typed.files', 2),
  ...Object.fromEntries(
    loadedFormats.map((format, at) => [
      `again.${format}.sql`,
      typedQuery(`again.${format}`, `again.${format}`, at + 3),
    ]),
  ),
};

let place: string;
let embedded: OpenGateway;
let overWarehouse: OpenGateway;
let asked: () => number;

beforeAll(async () => {
  place = await mkdtemp(join(tmpdir(), 'round-trip-'));
  for (const [at, row] of typedRows.entries()) {
    await writeFile(join(place, `typed-${at}.ndjson.gz`), gzipSync(`${JSON.stringify(row)}\n`));
  }
  const sources = sourceFiles(place);
  embedded = await openGateway({ sources, rows: { typed: typedRows }, sqlFiles });
  const engine = await createDuckDbEngine({
    databasePath: join(embedded.directory, 'logs.duckdb'),
    sources: readSources(join(embedded.directory, 'sources')),
    clock: { now: () => Date.now() },
    emit: () => undefined,
  });
  const warehouse = await openExecutingWarehouse({
    engine,
    sourceOf: new Map([[table, 'typed'], ...sourceTables.map(([name, own]) => [own, name] as const)]),
    // Rows come in several pages.
    pageRows: 2,
  });
  asked = () => warehouse.asked.length;
  overWarehouse = await openGateway({
    sources: { 'typed.yaml': sources['typed.yaml'] },
    sqlFiles: { 'typed.sql': sqlFiles['typed.sql'] },
    environment: bigqueryEnvironment(warehouse.url),
  });
  return async () => {
    await overWarehouse.close();
    warehouse.close();
    await engine.close();
    await embedded.close();
    await rm(place, { recursive: true });
  };
});

const gateways = { 'the embedded engine': () => embedded, 'the warehouse': () => overWarehouse };
const path = (name: string, format?: string) =>
  `/api/endpoints/query/${name}${format ? `?format=${format}` : ''}`;

/** The bytes of an export. */
async function exported(gateway: OpenGateway, format: string): Promise<Buffer> {
  const response = await fetch(gateway.origin + path('typed', format), {
    headers: { 'x-api-key': testToken },
  });
  const body = Buffer.from(await response.arrayBuffer());
  expect([response.status, response.status === 200 ? '' : body.toString()]).toEqual([200, '']);
  return body;
}

/** With all digits of integers; a FLOAT64 may be written in several ways, such as 2, 2.0 and 2E0. */
const valuesOf = (text: string) => parseExactJson(text);
const expectedRows = valuesOf(`{"result":[${restRows.join(',')}]}`);

describe.each(Object.entries(gateways))('every type comes out of %s as it went in', (_, gateway) => {
  test('by REST', async () => {
    const { status, text } = await gateway().get(path('typed'));
    expect([status, valuesOf(text)]).toEqual([200, expectedRows]);
  });

  test('by GraphQL', async () => {
    const { text, body } = await gateway().graphql(`{ typed { ${graphqlFields} } }`);
    expect(body.errors).toBeUndefined();
    expect(valuesOf(text)).toMatchObject({
      data: valuesOf(`{"typed":[${graphqlRows.join(',')}]}`) as object,
    });
  });

  test('as NDJSON', async () => {
    const lines = (await exported(gateway(), 'ndjson')).toString().trimEnd().split('\n');
    expect(lines.map(valuesOf)).toEqual(restRows.map(valuesOf));
  });

  test('as Arrow, in its own types', async () => {
    const read = tableFromIPC(await exported(gateway(), 'arrow'));
    const types = Object.fromEntries(read.schema.fields.map(({ name, type }) => [name, String(type)]));
    expect(types).toMatchObject({
      s: 'Utf8', b: 'Binary', o: 'Bool', i: 'Int64', f: 'Float64', n: 'Decimal[38e+9]', t: 'Timestamp<MICROSECOND, UTC>',
      d: 'Timestamp<MICROSECOND>', y: 'Date32<DAY>', c: 'Time64<MICROSECOND>', j: 'Utf8', n_list: 'List<Decimal[38e+9]>',
    }); // biome-ignore format: a table
    expect(read.getChild('i')!.toJSON()).toEqual([-9007199254740993n, 2n ** 63n - 1n, -(2n ** 63n), null]);
  });
});

test('the warehouse was asked, and its CSV, Parquet and Arrow are those of the embedded engine, byte for byte', async () => {
  expect(asked()).toBeGreaterThan(0);
  for (const format of formatNames.filter(name => !name.endsWith('json'))) {
    const [one, other] = [await exported(embedded, format), await exported(overWarehouse, format)];
    expect([format, one.equals(other)]).toEqual([format, true]);
  }
});

test('files that are read in place give the same rows', async () => {
  const { text } = await embedded.get(path('files'));
  expect(valuesOf(text)).toEqual(expectedRows);
});

test.each(loadedFormats)('an export as %s that is loaded again gives the same rows', async format => {
  const databasePath = join(embedded.directory, 'logs.duckdb');
  const sources = readSources(join(embedded.directory, 'sources'));
  const file = join(place, `export.${format}`);
  await writeFile(file, await exported(embedded, format));
  const source = sources.find(({ name }) => name === `again.${format}`)!;
  const input = await openInput(file, source);
  const { rows, problems } = await acceptRows({
    folder: rowsFolderOf(databasePath),
    source,
    lines: input.lines,
  });
  await input.close();
  expect([rows, problems]).toEqual([typedRows.length, []]);
  while (await storeAccepted({ databasePath, sources, emit: () => undefined }));
  const { text } = await embedded.get(path(`again.${format}`));
  expect(valuesOf(text)).toEqual(expectedRows);
});

test('Parquet is what DuckDB itself reads in these types', async () => {
  const file = join(place, 'judged.parquet');
  await writeFile(file, await exported(overWarehouse, 'parquet'));
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  await connection.run("SET TimeZone = 'UTC'");
  const shown = ['i', 'n', 't', 'd', 'y', 'c', 'f'] as const;
  expect(shown.every(name => typedColumns.includes(name))).toBe(true);
  const read = await connection.runAndReadAll(
    `SELECT ${shown.map(name => `${name}::VARCHAR`).join(', ')} FROM '${file}' ORDER BY id LIMIT 1`,
  );
  connection.closeSync();
  instance.closeSync();
  expect(read.getRows()[0]).toEqual([
    '-9007199254740993',
    '-12345678901234567890123456789.123456789',
    '2026-01-15 10:00:00.123456+00',
    '2026-01-15 10:00:00.5',
    '2026-01-15',
    '10:00:00.5',
    '0.1',
  ]);
});
