import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { beforeAll, describe, expect, test } from 'vitest';
import { parseSource } from '../../src/endpoints/parse-source.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

/** Type, a value as JSON lines have it, as REST shows it, as GraphQL shows it where that differs. */
const values = {
  s: ['STRING', 'ä "q" 007', 'ä "q" 007'],
  b: ['BYTES', 'AP8=', 'AP8='],
  o: ['BOOL', true, true],
  i: ['INT64', '-9007199254740993', -9007199254740993n],
  f: ['FLOAT64', 0.1, 0.1],
  n: ['NUMERIC', '-12345678901234567890123456789.123456789', '-12345678901234567890123456789.123456789'],
  m: ['BIGNUMERIC', '1.5', '1.5'],
  t: ['TIMESTAMP', '2026-01-15T10:00:00.123456Z', 1_768_471_200_123_456, '2026-01-15T10:00:00.123456Z'],
  d: ['DATETIME', '2026-01-15T10:00:00.5', '2026-01-15T10:00:00.500000', '2026-01-15T10:00:00.500000Z'],
  y: ['DATE', '0001-01-01', '0001-01-01'],
  c: ['TIME', '23:59:59', '23:59:59'],
  j: ['JSON', { a: [1, null], b: 'x' }, '{"a":[1,null],"b":"x"}', { a: [1, null], b: 'x' }],
} as const;
const names = Object.keys(values) as (keyof typeof values)[];

const typesOf = (indent: string) => names.map(name => `${indent}${name}: ${values[name][0]}`).join('\n');
const columnsYaml = `columns:
  id: { type: INT64, required: true, description: Its number. }
${typesOf('  ')}
${names.map(name => `  ${name}_list: { type: ${values[name][0]}, repeated: true }`).join('\n')}
  one: { type: STRUCT, fields: { x: DATE, y: { type: NUMERIC, repeated: true } } }
  many: { type: STRUCT, repeated: true, fields: { x: DATE, in: { type: STRUCT, fields: { z: INT64 } } } }
`;
const whole = Object.fromEntries([
  ['id', 1],
  ...names.map(name => [name, values[name][1]]),
  ...names.map(name => [`${name}_list`, [values[name][1], values[name][1]]]),
  ['one', { x: '2026-01-15', y: ['1.5', '2'] }],
  [
    'many',
    [
      { x: '2026-01-15', in: { z: 1 } },
      { x: null, in: null },
    ],
  ],
]);
const hollow = { id: 2 };

const header = (name: string, id: number, columns: string) => `/*
id: 0d7c1f0a-55a1-4f0e-8a5b-3c1f9a2b4d0${id}
name: ${name}
description: Rows.
columns:
${columns}
*/
`;
const allColumns = [
  '  id: { type: INT64, required: true, description: Its number. }',
  ...names.map(name => `  ${name}: { type: ${values[name][0]}, description: One. }`),
  ...names.map(name => `  ${name}_list: { type: ${values[name][0]}, repeated: true, description: Many. }`),
  '  one: { type: STRUCT, description: A record. }',
  '  many: { type: STRUCT, repeated: true, description: Records. }',
].join('\n');
const selectAll = (source: string) => `select * from \`${source}\` order by id`;

let gateway: OpenGateway;
beforeAll(async () => {
  const place = await mkdtemp(join(tmpdir(), 'sources-'));
  await writeRows(place);
  gateway = await openGateway({
    now: '2026-01-15T12:00:00Z',
    sources: {
      'typed.yaml': `name: typed\n${columnsYaml}`,
      'typed.files.yaml': `name: typed.files\nfiles: [${place}/typed-*.ndjson.gz]\n${columnsYaml}`,
      'orders.yaml': `name: orders
files: ["${place}/year=*/*.parquet"]
columns: { id: INT64, price: NUMERIC, paid: TIMESTAMP, raw: BYTES, tags: { type: STRING, repeated: true }, year: INT64 }
`,
      'codes.yaml': `name: codes
files: [${place}/codes.csv]
columns: { code: STRING, text: STRING, day: DATE, price: NUMERIC }
`,
      'gone.yaml': `name: gone
files: [${place}/gone.parquet]
columns: { id: INT64 }
`,
    },
    rows: { typed: [whole, hollow] },
    sqlFiles: {
      'typed.sql': header('typed', 1, allColumns) + selectAll('typed'),
      'files.sql': header('files', 2, allColumns) + selectAll('typed.files'),
      'orders.sql': `${header(
        'orders',
        3,
        '  id: { type: INT64, description: I. }\n  price: { type: NUMERIC, description: P. }\n  paid: { type: TIMESTAMP, description: P. }\n  raw: { type: BYTES, description: R. }\n  tags: { type: STRING, repeated: true, description: T. }\n  year: { type: INT64, description: Y. }',
      )}select id, price, paid, raw, tags, year from orders order by id`,
      'codes.sql': `${header(
        'codes',
        4,
        '  code: { type: STRING, description: C. }\n  text: { type: STRING, description: T. }\n  day: { type: DATE, description: D. }\n  price: { type: NUMERIC, description: P. }',
      )}select code, text, day, price from codes order by code`,
    },
  });
  return async () => {
    await gateway.close();
    await rm(place, { recursive: true });
  };
});

/** The files of the sources that are read in place. */
async function writeRows(place: string): Promise<void> {
  const lines = [whole, hollow].map(row => JSON.stringify(row));
  await writeFile(join(place, 'typed-1.ndjson.gz'), gzipSync(`${lines[0]}\n`));
  await writeFile(join(place, 'typed-2.ndjson.gz'), gzipSync(`${lines[1]}\n`));
  await writeFile(
    join(place, 'codes.csv'),
    '\ufeffcode,text,day,price\n007,"a, ""b""\nc",2026-01-15,12345678901234567.89\n008,,,\n',
  );
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  await connection.run(
    `copy (select 1::integer as id, 1.50::decimal(10, 2) as price, timestamp '2026-01-15 10:00:00' as paid, '\\x00\\xFF'::blob as raw, ['a', 'b'] as tags, 2026 as year union all select 2, null, null, null, null, 2027) to '${place}' (format parquet, partition_by (year), overwrite_or_ignore)`,
  );
  connection.closeSync();
  instance.closeSync();
}

const query = async (name: string) => {
  const { status, text } = await gateway.get(`/api/endpoints/query/${name}`);
  expect([name, status, status === 200 ? '' : text]).toEqual([name, 200, '']);
  return text;
};
/** JSON, integers beyond 2^53 included. */
const json = (value: unknown): string =>
  JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? `#${inner}#` : inner)).replace(
    /"#(-?\d+)#"/g,
    '$1',
  );

describe('contract 10.1: a source is one file', () => {
  test.each(['typed', 'files'])('rows of %s come out in every type, nested and repeated', async name => {
    const shown = {
      id: 1,
      ...Object.fromEntries(names.map(each => [each, values[each][2]])),
      ...Object.fromEntries(names.map(each => [`${each}_list`, [values[each][2], values[each][2]]])),
      one: { x: '2026-01-15', y: ['1.5', '2'] },
      many: [
        { x: '2026-01-15', in: { z: 1 } },
        { x: null, in: null },
      ],
    };
    const empty = {
      id: 2,
      ...Object.fromEntries(names.map(each => [each, null])),
      ...Object.fromEntries(names.map(each => [`${each}_list`, []])),
      one: null,
      many: [],
    };
    expect(await query(name)).toBe(json({ result: [shown, empty] }));
  });

  test('and by GraphQL', async () => {
    const { body, text } = await gateway.graphql(`{ typed { ${names.join(' ')} } }`);
    expect(body.errors).toBeUndefined();
    const shown = names.map(name => [name, values[name][3 as never] ?? values[name][2]]);
    expect(text).toContain(json(Object.fromEntries(shown)));
  });

  test('Parquet files by a glob, with partitions in their paths', async () => {
    expect(JSON.parse(await query('orders')).result).toEqual([
      { id: 1, price: '1.5', paid: 1_768_471_200_000_000, raw: 'AP8=', tags: ['a', 'b'], year: 2026 },
      { id: 2, price: null, paid: null, raw: null, tags: [], year: 2027 },
    ]);
  });

  test('a CSV with a byte order mark, quotes and codes that look like numbers', async () => {
    expect(JSON.parse(await query('codes')).result).toEqual([
      { code: '007', text: 'a, "b"\nc', day: '2026-01-15', price: '12345678901234567.89' },
      { code: '008', text: null, day: null, price: null },
    ]);
  });

  test('files that are not there harm their own source only, and the log says so', () => {
    expect(gateway.events.filter(({ type }) => type === 'source.unreadable')).toMatchObject([
      { source: 'gone', message: expect.stringContaining('gone.parquet') },
    ]);
  });

  test("no SQL of a caller opens a file, or a source's own", async () => {
    for (const sql of [
      "select * from read_csv('/etc/passwd')",
      'select * from orders',
      'select * from `orders`',
    ]) {
      const { status, body } = await gateway.get(
        `/api/endpoints/query/logs.all?project=p&sql=${encodeURIComponent(sql)}`,
      );
      expect([sql, status]).toEqual([sql, 400]);
      expect(['sandbox_refused', 'invalid_query']).toContain(body.error.code);
    }
  });
});

describe('contract 10.1: a file that is wrong is refused with all its problems, by line and key', () => {
  test.each([
    ['columns:\n  a: INTEGER\n  b: { type: STRUCT }', ['3: columns.a: is "INTEGER"; allowed: STRING', '4: columns.b.fields: must stand with the type STRUCT']],
    ['columns:\n  a: { type: STRUCT, fields: { c: FOO, d: { type: INT64, nix: 1 } } }', ['3: columns.a.fields.c: is "FOO"; allowed: STRING', '3: columns.a.fields.d.nix: is not a known key']],
    ['columns:\n  a: INT64\n  A: INT64', ['4: columns.A: is a in another letter case']],
    ['columns: { a: { type: STRUCT, fields: { _P: STRING } } }', ['2: columns.a.fields: must not have a field _p']],
    ['columns: {}', ['2: columns: must name at least one']],
    ['columns: { a: INT64 }\ntable: orders', ['3: table: must be project.dataset.table']],
    ['columns: { a: INT64 }\nfiles: [a.dat]', ['3: files: do not say one format by their endings']],
    ['columns: { a: { type: INT64, repeated: true, required: true } }', ['2: columns.a.required: must not stand beside repeated']],
    ['columns: { a: { type: INT64, generated: true } }', ['2: columns.a.generated: must stand with the type STRING']],
  ])('%s', (text, problems) => {
    const parse = () => parseSource('a.yaml', `name: a\n${text}\n`, '/');
    for (const problem of problems) expect(parse).toThrow(`a.yaml:${problem}`);
  }); // biome-ignore format: a table

  test('the name is that of the file', () => {
    expect(() => parseSource('b.yaml', 'name: a\ncolumns: { a: INT64 }\n', '/')).toThrow(
      'b.yaml:1: name: must match the file',
    );
  });
});
