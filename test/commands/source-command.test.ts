import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { describe, expect, test } from 'vitest';
import { runEndpointCommand } from '../../src/commands/endpoint-command.ts';
import { runSourceCommand } from '../../src/commands/source-command.ts';
import { databasePath } from '../../src/composition/compose-engine.ts';
import { readConfig } from '../../src/composition/config.ts';
import { openForWriting } from '../../src/duckdb/database.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

/** Folders of one's own for sources, saved queries and files, and what the commands print over them. */
async function openCommands() {
  const directory = await temporaryDirectory();
  const config = readConfig({
    DATA_DIR: directory,
    SQL_DIR: join(directory, 'sql'),
    SOURCES_DIR: join(directory, 'sources'),
  });
  await Promise.all([mkdir(config.SQL_DIR), mkdir(config.SOURCES_DIR)]);
  const lines: string[] = [];
  const print = (line: string) => lines.push(line);
  const clock = createStandingClock('2026-01-15T12:00:00Z');
  const printed = async (run: () => Promise<boolean>) => {
    lines.length = 0;
    const isWell = await run();
    return { isWell, text: lines.join('\n') };
  };
  return {
    directory,
    config,
    source: (...args: string[]) => printed(() => runSourceCommand(config, print, args)),
    endpoint: (...args: string[]) => printed(() => runEndpointCommand(config, { clock, print }, args)),
    write: async (file: string, text: string) => {
      const path = join(directory, file);
      await writeFile(path, text);
      return path;
    },
  };
}

describe('contract 10.2: columns that are declared nowhere are found in the files', () => {
  test.each([
    ['a messy CSV', 'a.csv', '\ufeffzip,price,day,at,seen,n,note\r\n01234,12.50,2026-01-15,2026-01-15 10:00:00,2026-01-15T10:00:00Z,1,"a, ""b""\r\nc"\r\n99999,3,2026-01-16,2026-01-16 10:00:00,2026-01-16T10:00:00+02:00,,\r\n', { zip: 'STRING', price: 'NUMERIC', day: 'DATE', at: 'DATETIME', seen: 'TIMESTAMP', n: 'INT64', note: 'STRING' }],
    ['a column of two types, the second of them late', 'a.csv', `code\n${'1\n'.repeat(30_000)}x7\n`, { code: 'STRING' }],
    ['codes that are longer than integers', 'a.csv', 'a,b,c\n012345678901234567890,1234567890123456789012345678901,1.5\n112345678901234567890,5,007\n', { a: 'STRING', b: 'STRING', c: 'STRING' }],
    ['names that mean something in a replacement', 'a.ndjson', '{"$$hashKey":"x","a$&b":1}\n', { hashKey: 'STRING', a_b: 'INT64' }],
    ['numbers with an exponent', 'a.csv', 'n\n1e300\n2.5\n', { n: 'FLOAT64' }],
    ['tabs', 'a.tsv', 'a\tb\n1\ttrue\n', { a: 'INT64', b: 'BOOL' }],
    ['JSON lines', 'a.ndjson', '{"id":1,"at":"2026-01-15T10:00:00Z","tags":["a"],"who":{"name":"x","ids":[1]}}\n{"id":2,"at":null}\n', { id: 'INT64', at: 'TIMESTAMP', tags: ['STRING'], who: { name: 'STRING', ids: ['INT64'] } }],
    ['an array of JSON', 'a.json', '[{"id":1,"items":[{"n":1}]},{"id":2,"items":[]}]', { id: 'INT64', items: [{ n: 'INT64' }] }],
  ])('%s', async (_, file, text, columns) => {
    const { config, source, write } = await openCommands();
    await source('add', 'found', await write(file, text));
    expect(readSources(config.SOURCES_DIR)[0]?.columns).toEqual(columns);
    expect(await source('check')).toMatchObject({ isWell: true, text: expect.stringMatching(/^ok {5}found: \d+ rows$/) });
  }); // biome-ignore format: a table

  test('Parquet keeps its own types', async () => {
    const { directory, config, source } = await openCommands();
    const instance = await DuckDBInstance.create();
    const connection = await instance.connect();
    await connection.run(
      `copy (select 1::tinyint as small, 2::ubigint as large, 1.5::decimal(10, 2) as price, 1.5::decimal(38, 20) as fine, now() as at, '\\xAA'::blob as raw, uuid() as id, time '10:00' as t, [{a: 1}] as list) to '${directory}/a.parquet'`,
    );
    connection.closeSync();
    instance.closeSync();
    const { text } = await source('add', 'found', join(directory, 'a.parquet'));
    expect(readSources(config.SOURCES_DIR)[0]?.columns).toEqual({
      small: 'INT64', large: 'NUMERIC', price: 'NUMERIC', fine: 'BIGNUMERIC', at: 'TIMESTAMP', raw: 'BYTES', id: 'STRING', t: 'TIME', list: [{ a: 'INT64' }],
    }); // biome-ignore format: one list
    expect(text).toContain('large: NUMERIC, for integers beyond 64 bits with a sign');
    expect(text).toContain('Next: npm run endpoint -- new found.first --from found');
  });
});

test('from a CSV to a saved query that is valid', async () => {
  const { config, source, endpoint, write } = await openCommands();
  await cp(new URL('../../schema/sources', import.meta.url), config.SOURCES_DIR, { recursive: true });
  (await openForWriting(databasePath(config), readSources(config.SOURCES_DIR))).close();
  await source('add', 'orders', await write('orders.csv', 'id,price\n1,1.50\n2,3\n'));
  await endpoint('new', 'orders.first', '--from', 'orders');
  expect((await endpoint('lint')).text).toBe('1 saved queries are valid: orders.first');
});

test('columns that are words of SQL or of YAML make a saved query that is valid', async () => {
  const { config, source, endpoint, write } = await openCommands();
  await cp(new URL('../../schema/sources', import.meta.url), config.SOURCES_DIR, { recursive: true });
  (await openForWriting(databasePath(config), readSources(config.SOURCES_DIR))).close();
  await source(
    'add',
    'odd',
    await write('odd.csv', 'select,null,yes,Größe,größe,from,,1st\n1,2,3,4,5,6,7,8\n'),
  );
  await endpoint('new', 'odd.first', '--from', 'odd');
  expect((await endpoint('lint')).text).toBe('1 saved queries are valid: odd.first');
});

test('check reads each value in its declared type', async () => {
  const { config, source, write } = await openCommands();
  const path = await write('a.csv', 'n\n1\n2\n');
  await source('add', 'found', path);
  await write('a.csv', 'n\n1\nmany\n');
  expect(await source('check', 'found')).toMatchObject({
    isWell: false,
    text: 'WRONG  found: line 3, column n: "many" is not a valid INT64',
  });
  expect((await source('check', '--json')).text).toContain('{"name":"found","problem":"');
  await source('drop', 'found');
  expect(readSources(config.SOURCES_DIR)).toEqual([]);
  expect(await readFile(path, 'utf8')).toContain('many');
});

test('a file that is wrong is listed and checked by its problems, beside the others, and can be dropped', async () => {
  const { config, source, write } = await openCommands();
  await source('add', 'found', await write('a.csv', 'n\n1\n'));
  await write('sources/orders.yaml', 'name: orders\ncolumns: { n: INTEGER }\n');
  await write('sources/Found.yaml', 'name: Found\ncolumns: { n: INT64 }\n');
  const taken = 'found.yaml:1: name: is taken by Found.yaml already, but for letter case';
  expect(await source('list')).toEqual({
    isWell: false,
    text: expect.stringMatching(
      /^Found: 1 columns.*\nfound\.yaml:1: name: is taken by Found\.yaml.*\norders\.yaml:2: columns\.n: /,
    ),
  });
  expect(await source('check', 'found')).toEqual({ isWell: false, text: taken });
  expect(await source('check', 'Found')).toEqual({ isWell: true, text: '' });
  await source('drop', 'orders');
  await source('drop', 'Found');
  expect(readSources(config.SOURCES_DIR).map(({ name }) => name)).toEqual(['found']);
});

test('what it cannot do it says', async () => {
  const { config, directory, source, write } = await openCommands();
  const connection = await (await DuckDBInstance.create()).connect();
  const path = await write('a.csv', 'n\n1\n');
  const odd = await write("o'dd (1).csv", 'n\n1\n');
  expect((await source('add', 'odd', odd, '--load')).text).toContain(
    `Next: npm run import -- odd '${odd.replace("'", String.raw`'\''`)}'`,
  );
  await source('drop', 'odd');
  await expect(source('add', 'gone', 'gone.csv')).rejects.toThrow('ENOENT: no such file');
  await source('add', 'found', path);
  expect((await source('list')).text).toBe(`found: 1 columns, ${path}`);
  await expect(source('add', 'found', path)).rejects.toThrow(
    'found.yaml is there already; npm run source -- drop found removes it',
  );
  await expect(source('add', 'other', await write('a.txt', ''))).rejects.toThrow('does not end as');
  const numbers = Array.from({ length: 20 }, (_, n) => `${n},01/02/2025`).join('\n');
  const doubtful = await source('add', 'doubtful', await write('doubtful.csv', `n,at\n${numbers}\ndrei,\n`));
  expect(doubtful.text).toContain('  csv, date: "%d/%m/%Y"; "%m/%d/%Y" fits all values as well');
  expect(doubtful.text).toContain('  n: STRING, for most values are numbers, but not "drei"');
  expect(await readFile(join(config.SOURCES_DIR, 'doubtful.yaml'), 'utf8')).toContain(
    'csv: {"date":"%d/%m/%Y"} # date: "%m/%d/%Y" fits all values as well',
  );
  await source('drop', 'doubtful');
  const duration = join(directory, 'duration.parquet');
  await connection.run(`COPY (SELECT INTERVAL 1 DAY AS lasts) TO '${duration}'`);
  await expect(source('add', 'other', duration)).rejects.toThrow(
    'duration.parquet has no column of a type that a source can have: lasts (INTERVAL)',
  );
  for (const empty of ['empty.json', 'empty.csv']) {
    await expect(source('add', 'other', await write(empty, ''))).rejects.toThrow('has no rows, and no names');
  }
  await expect(source('check', 'nobody')).rejects.toThrow('No source is named "nobody"; allowed: found');
  await expect(source('add', 'bad name', path)).rejects.toThrow('bad name.yaml:1: name: must be letters');
  await expect(source('remove')).rejects.toThrow('source takes add, list, check or drop');
  expect((await source('--help')).text).toContain('npm run source -- add');
});
