import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { writeRows } from '../../src/formats/write-rows.ts';
import { bodyOf, columns, rowLines } from '../formats/every-type.ts';
import { runPython } from './python-client.ts';

type Read = {
  types: Record<string, string>;
  rows: Record<string, string>[];
  pandas_types: Record<string, string>;
  csv: Record<string, string>[];
} & Record<string, unknown>;

let read: { every: Read; none: Read };

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'formats-'));
  try {
    for (const [name, lines] of Object.entries({ every: rowLines, none: [] })) {
      for (const format of ['parquet', 'arrow', 'csv', 'ndjson'] as const) {
        await writeFile(
          join(directory, `${name}.${format}`),
          await writeRows(format, columns, bodyOf(lines)),
        );
      }
    }
    read = (await runPython(['test/clients/read_formats.py', directory])) as typeof read; // by its last line
  } finally {
    await rm(directory, { recursive: true });
  }
});

test.each(['every', 'none'] as const)(
  'pyarrow, polars, pandas and DuckDB agree on both formats: %s',
  name => {
    expect(read[name]).toMatchObject({
      parquet_types: read[name].types,
      parquet_is_arrow: true,
      duckdb_parquet_is_arrow: true,
      polars_parquet_is_arrow: true,
      pandas_parquet_is_arrow: true,
      csv_is_ndjson_text: true,
    });
  },
);

test.each(['every', 'none'] as const)('every type is the one that BigQuery’s own client gives: %s', name => {
  expect(read[name].types).toEqual({
    n: 'int64', text: 'string', whole: 'int64', part: 'double', yes: 'bool', bytes: 'binary', exact: 'decimal128(38, 9)',
    longer: 'string', instant: 'timestamp[us, tz=UTC]', civil: 'timestamp[us]', day: 'date32[day]', hour: 'time64[us]',
    json: 'string', record: 'struct<least: int64, list: list<item: string>, earliest: timestamp[us, tz=UTC]>',
    numbers: 'list<item: int64>',
    records: 'list<item: struct<key: string, decimals: list<item: decimal128(38, 9)>, inner: struct<day: date32[day]>>>',
  }); // biome-ignore format: a table
  expect(read[name].polars_types).toMatchObject({
    exact: 'Decimal(precision=38, scale=9)', instant: "Datetime(time_unit='us', time_zone='UTC')", day: 'Date', hour: 'Time',
  }); // biome-ignore format: a table
  expect(read[name].pandas_types).toMatchObject({ instant: 'datetime64[us, UTC]', civil: 'datetime64[us]' });
});

test('every value comes back as it was', () => {
  const [first, second, third] = read.every.rows;
  expect(first).toMatchObject({
    text: String.raw`'hé"llo,\r\n😀'`,
    whole: '9007199254740993',
    bytes: String.raw`b'\x00\xff'`,
    exact: "Decimal('12345678901234567890123456789.123456789')",
    longer: "'578960446186580977117854925043439539266.34992332820282019728792003956564819967'",
    instant: "datetime.datetime(2026, 1, 15, 10, 0, 0, 123456, tzinfo=zoneinfo.ZoneInfo(key='UTC'))",
    civil: 'datetime.datetime(2026, 1, 15, 10, 0, 0, 1)',
    day: 'datetime.date(2026, 1, 15)',
    hour: 'datetime.time(10, 0, 0, 500000)',
    numbers: '[1, 9223372036854775807]',
  });
  expect(new Set(Object.entries(second!).flatMap(([name, value]) => (name === 'n' ? [] : [value])))).toEqual(
    new Set(['None', '[]']),
  );
  expect(third).toMatchObject({ text: "''", part: 'nan', bytes: "b''", day: 'datetime.date(9999, 12, 31)' });
});

test('Python’s csv module reads what was written', () => {
  expect(read.every.csv.map(({ text, exact }) => [text, exact])).toEqual([
    ['hé"llo,\r\n😀', '12345678901234567890123456789.123456789'],
    ['', ''],
    ['', '-99999999999999999999999999999.999999999'],
  ]);
});
