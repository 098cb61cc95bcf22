import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { DataType, tableFromIPC, type Vector } from 'apache-arrow';
import { beforeAll, describe, expect, test } from 'vitest';
import type { Column } from '../../src/base/rows.ts';
import { type WrittenFormat, writeRows } from '../../src/formats/write-rows.ts';
import { bodyOf, columns, rowLines } from './every-type.ts';

let directory: string;
let duckDb: DuckDBConnection;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'formats-'));
  duckDb = await (await DuckDBInstance.create(':memory:')).connect();
  await duckDb.run("set timezone = 'UTC'");
  return async () => {
    duckDb.closeSync();
    await rm(directory, { recursive: true });
  };
});

const written = (format: WrittenFormat, lines = rowLines, of = columns) =>
  writeRows(format, of, bodyOf(lines));

/** What DuckDB reads of a file: its columns with their types, and its rows. */
async function readByDuckDb(format: 'parquet' | 'csv', bytes: Buffer) {
  const file = join(directory, `rows.${format}`);
  await writeFile(file, bytes);
  // Quotes are what distinguishes empty text from NULL.
  const reads = {
    parquet: `'${file}'`,
    csv: `read_csv('${file}', header=true, all_varchar=true, allow_quoted_nulls=false)`,
  };
  const types = await duckDb.runAndReadAll(`describe from ${reads[format]}`);
  const rows = await duckDb.runAndReadAll(`select columns(*)::varchar from ${reads[format]}`);
  return {
    types: Object.fromEntries(types.getRows().map(([name, type]) => [name, type])),
    rows: rows.getRowObjects(),
    cells: rows.getRows(),
  };
}

const duckDbTypes = {
  n: 'BIGINT', text: 'VARCHAR', whole: 'BIGINT', part: 'DOUBLE', yes: 'BOOLEAN', bytes: 'BLOB', exact: 'DECIMAL(38,9)',
  longer: 'VARCHAR', instant: 'TIMESTAMP WITH TIME ZONE', civil: 'TIMESTAMP', day: 'DATE', hour: 'TIME', json: 'VARCHAR',
  record: 'STRUCT(least BIGINT, list VARCHAR[], earliest TIMESTAMP WITH TIME ZONE)', numbers: 'BIGINT[]',
  records: 'STRUCT("key" VARCHAR, decimals DECIMAL(38,9)[], "inner" STRUCT("day" DATE))[]',
}; // biome-ignore format: a table

describe('Parquet, as DuckDB reads it', () => {
  test('every type comes back as it was, NULL and empty arrays too', async () => {
    const { types, rows } = await readByDuckDb('parquet', await written('parquet'));
    expect(types).toEqual(duckDbTypes);
    expect(rows).toEqual([
      {
        n: '1', text: 'hé"llo,\r\n😀', whole: '9007199254740993', part: '1.5', yes: 'true', bytes: '\\x00\\xFF',
        exact: '12345678901234567890123456789.123456789',
        longer: '578960446186580977117854925043439539266.34992332820282019728792003956564819967',
        instant: '2026-01-15 10:00:00.123456+00', civil: '2026-01-15 10:00:00.000001', day: '2026-01-15', hour: '10:00:00.5',
        json: '{"a":[1,2]}',
        record: `{'least': -9223372036854775808, 'list': [p, ''], 'earliest': '0001-01-01 00:00:00+00'}`,
        numbers: '[1, 9223372036854775807]',
        records: `[{'key': x, 'decimals': [-0.500000000, 0.000000000], 'inner': {'day': 0001-01-01}}, {'key': NULL, 'decimals': [], 'inner': NULL}]`,
      },
      {
        n: '2', text: null, whole: null, part: null, yes: null, bytes: null, exact: null, longer: null, instant: null,
        civil: null, day: null, hour: null, json: null, record: null, numbers: '[]', records: '[]',
      },
      {
        n: '3', text: '', whole: '-1', part: 'nan', yes: 'false', bytes: '', exact: '-99999999999999999999999999999.999999999',
        longer: '0', instant: '9999-12-31 23:59:59.999999+00', civil: '0001-01-01 00:00:00', day: '9999-12-31',
        hour: '23:59:59.999999', json: 'null',
        record: `{'least': NULL, 'list': [], 'earliest': '1969-12-31 23:59:59.999999+00'}`, numbers: '[0]',
        records: `[{'key': '', 'decimals': [1.250000000], 'inner': {'day': NULL}}]`,
      },
    ]); // biome-ignore format: a table
  });

  test('no rows are a file with the same types', async () => {
    const { types, rows } = await readByDuckDb('parquet', await written('parquet', []));
    expect([types, rows]).toEqual([duckDbTypes, []]);
  });
});

/** The values of a column as `apache-arrow` reads them; numbers and times as the integers that are stored. */
function valuesOf(vector: Vector): unknown[] {
  const { type } = vector;
  return Array.from({ length: vector.length }, (_, at) => {
    if (!vector.isValid(at)) return null;
    if (DataType.isTimestamp(type) || DataType.isTime(type)) return storedIntegers(vector)[at];
    const value = vector.get(at);
    if (DataType.isList(type)) return valuesOf(value);
    if (DataType.isStruct(type)) {
      return Object.fromEntries(
        type.children.map(({ name }, child) => [name, valuesOf(vector.getChildAt(child)!)[at]]),
      );
    }
    if (DataType.isDecimal(type)) return integerOf(value);
    return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;
  });
}

/** Its getters of times are in milliseconds. */
const storedIntegers = (vector: Vector) => vector.data.flatMap(({ values }) => [...values]);

/** Two's complement, the least significant word first. */
const integerOf = (words: Uint32Array) =>
  BigInt.asIntN(
    128,
    [...words].reduceRight((high, word) => (high << 32n) | BigInt(word), 0n),
  );

describe('Arrow, as apache-arrow reads it', () => {
  test('every type comes back as it was, NULL and empty arrays too', async () => {
    const table = tableFromIPC(await written('arrow'));
    expect(Object.fromEntries(table.schema.fields.map(({ name, type }) => [name, String(type)]))).toEqual({
      n: 'Int64', text: 'Utf8', whole: 'Int64', part: 'Float64', yes: 'Bool', bytes: 'Binary', exact: 'Decimal[38e+9]',
      longer: 'Utf8', instant: 'Timestamp<MICROSECOND, UTC>', civil: 'Timestamp<MICROSECOND>', day: 'Date32<DAY>',
      hour: 'Time64<MICROSECOND>', json: 'Utf8',
      record: 'Struct<{least:Int64, list:List<Utf8>, earliest:Timestamp<MICROSECOND, UTC>}>', numbers: 'List<Int64>',
      records: 'List<Struct<{key:Utf8, decimals:List<Decimal[38e+9]>, inner:Struct<{day:Date32<DAY>}>}>>',
    }); // biome-ignore format: a table
    const found = Object.fromEntries(
      table.schema.fields.map(({ name }) => [name, valuesOf(table.getChild(name)!)]),
    );
    const day = (text: string) => Date.parse(text);
    expect(found).toEqual({
      n: [1n, 2n, 3n],
      text: ['hé"llo,\r\n😀', null, ''],
      whole: [9007199254740993n, null, -1n],
      part: [1.5, null, NaN],
      yes: [true, null, false],
      bytes: ['00ff', null, ''],
      exact: [12345678901234567890123456789123456789n, null, -99999999999999999999999999999999999999n],
      longer: ['578960446186580977117854925043439539266.34992332820282019728792003956564819967', null, '0'],
      instant: [1768471200123456n, null, 253402300799999999n],
      civil: [1768471200000001n, null, -62135596800000000n],
      day: [day('2026-01-15'), null, day('9999-12-31')],
      hour: [36000500000n, null, 86399999999n],
      json: ['{"a":[1,2]}', null, 'null'],
      record: [
        { least: -9223372036854775808n, list: ['p', ''], earliest: -62135596800000000n },
        null,
        { least: null, list: [], earliest: -1n },
      ],
      numbers: [[1n, 9223372036854775807n], [], [0n]],
      records: [
        [
          { key: 'x', decimals: [-500000000n, 0n], inner: { day: day('0001-01-01') } },
          { key: null, decimals: [], inner: null },
        ],
        [],
        [{ key: '', decimals: [1250000000n], inner: { day: null } }],
      ],
    });
  });

  test('no rows are a stream with the same types', async () => {
    const [full, empty] = [tableFromIPC(await written('arrow')), tableFromIPC(await written('arrow', []))];
    expect([String(empty.schema), empty.numRows]).toEqual([String(full.schema), 0]);
  });

  test('many rows come in batches', async () => {
    const lines = Array.from({ length: 20_000 }, (_, n) => `{"n":${n}}`);
    const table = tableFromIPC(await written('arrow', lines, columns.slice(0, 1)));
    expect(table.batches.map(({ numRows }) => numRows)).toEqual([8192, 8192, 3616]);
    expect(table.getChild('n')!.toArray()).toEqual(BigInt64Array.from(lines, (_, n) => BigInt(n)));
  });
});

const textColumn: Column = { name: 'text', type: 'STRING', mode: 'NULLABLE' };
const csvOf = async (text: string | null, beside: readonly Column[] = []) => {
  const row = JSON.stringify({ text, ...Object.fromEntries(beside.map(({ name }) => [name, '1'])) });
  const [, ...lines] = (await written('csv', [row], [textColumn, ...beside])).toString().split(/(?<=\r\n)/);
  return lines.join('');
};

describe('rows of several megabytes are written some at a time', () => {
  const long = rowLines[0]!.replace('"text":"', `"text":"${'x'.repeat(700_000)}`);
  const lines = [long, ...rowLines, long, ...rowLines, long];
  const numbers = lines.map(line => `${JSON.parse(line).n}`);

  test.each(['parquet', 'csv'] as const)('%s has them all, in order', async format => {
    const { rows } = await readByDuckDb(format, await written(format, lines));
    expect(rows.map(({ n }) => n)).toEqual(numbers);
    expect(rows.map(({ text }) => String(text ?? '').length)).toEqual(
      lines.map(line => (JSON.parse(line).text ?? '').length),
    );
  });

  test('Arrow has a batch for each part', async () => {
    const table = tableFromIPC(await written('arrow', lines));
    expect(table.batches.length).toBeGreaterThan(1);
    const values = (name: string) => valuesOf(table.getChild(name)!);
    expect(values('n').map(String)).toEqual(numbers);
    const few = tableFromIPC(await written('arrow'));
    expect(values('records').slice(1, 4)).toEqual(valuesOf(few.getChild('records')!));
  });
});

describe('CSV', () => {
  test('DuckDB reads every value, and NULL apart from empty text', async () => {
    const { rows } = await readByDuckDb('csv', await written('csv'));
    const [first, second, third] = rows;
    expect(first).toEqual({
      n: '1', text: 'hé"llo,\r\n😀', whole: '9007199254740993', part: '1.5', yes: 'true', bytes: 'AP8=',
      exact: '12345678901234567890123456789.123456789',
      longer: '578960446186580977117854925043439539266.34992332820282019728792003956564819967',
      instant: '2026-01-15T10:00:00.123456Z', civil: '2026-01-15T10:00:00.000001', day: '2026-01-15', hour: '10:00:00.5',
      json: '{"a":[1,2]}',
      record: '{"least":-9223372036854775808,"list":["p",""],"earliest":-62135596800000000}',
      numbers: '[1,9223372036854775807]',
      records: '[{"key":"x","decimals":["-0.5","0"],"inner":{"day":"0001-01-01"}},{"key":null,"decimals":[],"inner":null}]',
    }); // biome-ignore format: a table
    const nulls = Object.fromEntries(columns.map(({ name }) => [name, null]));
    expect(second).toEqual({ ...nulls, n: '2', numbers: '[]', records: '[]' });
    expect(third).toMatchObject({
      text: '', whole: '-1', part: 'NaN', bytes: '', exact: '-99999999999999999999999999999.999999999',
      instant: '9999-12-31T23:59:59.999999Z', civil: '0001-01-01T00:00:00', json: 'null',
    }); // biome-ignore format: a table
  });

  test('times before 1970 and before the common era of JavaScript keep their microseconds', async () => {
    const column: Column = { name: 'at', type: 'TIMESTAMP', mode: 'NULLABLE' };
    const lines = [-1, -1_000_000, -62135596800000000].map(at => `{"at":${at}}`);
    expect((await written('csv', lines, [column])).toString().split('\r\n').slice(1, 4)).toEqual([
      '1969-12-31T23:59:59.999999Z',
      '1969-12-31T23:59:59.000000Z',
      '0001-01-01T00:00:00.000000Z',
    ]);
  });

  test('no rows are the header alone; lines end as RFC 4180 says', async () => {
    expect((await written('csv', [], columns.slice(0, 3))).toString()).toBe('n,text,whole\r\n');
    expect((await written('csv', ['{"n":1}', '{"n":2}'], columns.slice(0, 1))).toString()).toBe(
      'n\r\n1\r\n2\r\n',
    );
  });

  test('a row whose only value is NULL is not an empty line, which readers skip', async () => {
    expect(await csvOf(null)).toBe('""\r\n');
    expect(await csvOf(null, columns.slice(0, 1))).toBe(',1\r\n');
  });

  test.each([
    ['=1+1', "'=1+1"],
    ['+SUM(A1)', "'+SUM(A1)"],
    ['-2+3', "'-2+3"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['\t=1', "'\t=1"],
    ['\r=1', `"'\r=1"`],
    ['\n=1', `"'\n=1"`],
    ['＝1+1', "'＝1+1"],
    ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
    ["=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"],
    ['-5', '-5'],
    ['+49.5', '+49.5'],
    ['a=1', 'a=1'],
    ['2026-01-15', '2026-01-15'],
  ])('a text that a spreadsheet would run gets an apostrophe: %j is %s', async (text, cell) => {
    expect(await csvOf(text)).toBe(`${cell}\r\n`);
  });

  test('so does the name of a column, which a caller chooses', async () => {
    const column: Column = { name: '=1+1', type: 'INT64', mode: 'NULLABLE' };
    expect((await written('csv', ['{"=1+1":-2}'], [column])).toString()).toBe("'=1+1\r\n-2\r\n");
  });

  test('a base64 text is no formula, whatever it begins with', async () => {
    const column: Column = { name: 'bytes', type: 'BYTES', mode: 'NULLABLE' };
    expect((await written('csv', ['{"bytes":"+/8="}'], [column])).toString()).toBe('bytes\r\n+/8=\r\n');
  });
});

test('NDJSON is the JSON of each row, byte for byte, on a line of its own', async () => {
  expect((await written('ndjson')).toString()).toBe(rowLines.map(line => `${line}\n`).join(''));
  expect((await written('ndjson', [])).toString()).toBe('');
  const braces = String.raw`{"text":"}{][\\\"\\"}`;
  expect((await written('ndjson', [braces, braces])).toString()).toBe(`${braces}\n${braces}\n`);
});

test('a field named as an object’s own property is a field', async () => {
  const fields: Column[] = [{ name: '__proto__', type: 'INT64', mode: 'NULLABLE' }];
  const of: Column[] = [{ name: '__proto__', type: 'STRUCT', mode: 'NULLABLE', fields }];
  const lines = ['{"__proto__":{"__proto__":7}}'];
  const { cells } = await readByDuckDb('parquet', await written('parquet', lines, of));
  expect(cells).toEqual([["{'__proto__': 7}"]]);
  const table = tableFromIPC(await written('arrow', lines, of));
  expect(table.getChildAt(0)!.getChildAt(0)!.get(0)).toBe(7n);
});
