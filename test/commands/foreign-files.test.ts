import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runSourceCommand } from '../../src/commands/source-command.ts';
import { readConfig } from '../../src/composition/config.ts';
import { makeSourceViews } from '../../src/duckdb/files/source-views.ts';
import { readCurrent } from '../../src/duckdb/replicas.ts';
import { readSources } from '../../src/endpoints/sources.ts';
import { type Acceptance, acceptRows } from '../../src/loading/accept-rows.ts';
import { rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import { openInput } from '../../src/loading/input/open-input.ts';
import { storeAccepted } from '../../src/loading/store-accepted.ts';

type Case = {
  readonly content: string | Buffer;
  /** Default: a.csv. */
  readonly file?: string;
  readonly columns: object;
  readonly from?: object;
  readonly csv?: object;
  /** Rows as DuckDB shows them, of files read in place; or why these can't be. */
  readonly rows: readonly (readonly unknown[])[] | RegExp;
  /** Rows that are loaded, if they are others. */
  readonly loaded?: readonly (readonly unknown[])[];
  /** Lines that are no rows. */
  readonly problems?: readonly { readonly line: number; readonly reason: string }[];
};

const latin1 = (text: string) => Buffer.from(text, 'latin1');
const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');

/** Files as other programs write them; what they are is said by their makers' documentation and by pandas, which read them alike. */
const cases: Record<string, Case> = {
  'semicolons, decimal commas, groups of thousands and dates by day': {
    content: 'Name;Preis;Menge;Datum;Zeit\nMüller;1.234,50;3;24.12.2026;24.12.2026 18:30:00\n;0,5;4;01.02.2026;01.02.2026 00:00:00\n',
    columns: { Name: 'STRING', Preis: 'NUMERIC', Menge: 'INT64', Datum: 'DATE', Zeit: 'DATETIME' },
    csv: { delimiter: ';', date: '%d.%m.%Y', timestamp: '%d.%m.%Y %H:%M:%S', decimal: ',', thousands: '.' },
    rows: [
      ['Müller', '1234.500000000', '3', '2026-12-24', '2026-12-24 18:30:00'],
      [null, '0.500000000', '4', '2026-02-01', '2026-02-01 00:00:00'],
    ],
  },
  'names that are no names of columns': {
    content: 'Body Mass (g),1978,größe,select,"a ""b"" c",größe,\n1,2,3,4,5,6,7\n',
    columns: { Body_Mass_g: 'INT64', column_1978: 'INT64', grosse: 'INT64', select: 'INT64', a_b_c: 'INT64', grosse_1: 'INT64', column6: 'INT64' },
    from: { Body_Mass_g: 'Body Mass (g)', column_1978: '1978', grosse: 'größe', a_b_c: 'a "b" c', grosse_1: 'größe_1' },
    rows: [['1', '2', '3', '4', '5', '6', '7']],
  },
  'UTF-16': {
    content: utf16('name\tn\r\nZoë\t1\r\n'),
    file: 'a.tsv',
    columns: { name: 'STRING', n: 'INT64' },
    csv: { delimiter: '\t', encoding: 'utf-16' },
    rows: [['Zoë', '1']],
  },
  'UTF-16 with the greater byte first': {
    content: utf16('name,n\nZoë,1\n').swap16(),
    columns: { name: 'STRING', n: 'INT64' },
    rows: /UTF-16BE, which can't be read in place: .*--load/,
    loaded: [['Zoë', '1']],
  },
  'Latin-1': {
    content: latin1('name,n\nZoë,1\n'),
    columns: { name: 'STRING', n: 'INT64' },
    csv: { encoding: 'latin-1' },
    rows: [['Zoë', '1']],
  },
  'Windows-1252': {
    content: Buffer.concat([latin1('price,n\n'), Buffer.from([0x80]), latin1(' 5,1\n')]),
    columns: { price: 'STRING', n: 'INT64' },
    rows: /neither UTF-8 nor Latin-1 .*--load/,
    loaded: [['€ 5', '1']],
  },
  'both ends of lines': {
    content: 'a,b\r\n1,"x\ny"\n3,z\r\n',
    columns: { a: 'INT64', b: 'STRING' },
    csv: { strict: false },
    rows: [['1', 'x\ny'], ['3', 'z']],
  },
  'lines of other lengths, of which none may be lost without a word': {
    content: 'a,b,c,d\n1,2,3,4\n1,2\n3,4,5,6,7\n5,6,7,8\n',
    columns: { a: 'INT64', b: 'INT64', c: 'INT64', d: 'INT64' },
    rows: /a\.csv: line 3 has 2 values, the first one 4\. Correct it, or load the file/,
    loaded: [['1', '2', '3', '4'], ['5', '6', '7', '8']],
    problems: [{ line: 3, reason: 'has 2 values; allowed: 4' }, { line: 4, reason: 'has 5 values; allowed: 4' }],
  },
  'a quote that is never closed': {
    content: 'a,b\n1,x\n2,"y\n3,z\n',
    columns: { a: 'INT64', b: 'STRING' },
    // DuckDB takes it for a text without quotes.
    rows: [['1', 'x'], ['2', '"y'], ['3', 'z']],
    loaded: [['1', 'x'], ['3', 'z']],
    problems: [{ line: 3, reason: 'has a quote that is never closed' }],
  },
  'no header': {
    content: '1,x,2026-01-15\n2,y,2026-01-16\n',
    columns: { column0: 'INT64', column1: 'STRING', column2: 'DATE' },
    csv: { header: false },
    rows: [['1', 'x', '2026-01-15'], ['2', 'y', '2026-01-16']],
  },
  'a header that counts its columns, as pandas writes it': {
    content: 'class,0,1,2\na,1.5,2,3\nb,1,2,3\n',
    columns: { class: 'STRING', column_0: 'NUMERIC', column_1: 'INT64', column_2: 'INT64' },
    from: { column_0: '0', column_1: '1', column_2: '2' },
    rows: [['a', '1.500000000', '2', '3'], ['b', '1.000000000', '2', '3']],
  },
  'times with several spaces, as a spreadsheet writes them': {
    content: 'n,at\n1,6/30/2026  11:00:00 AM\n2,7/1/2026 1:10:00 PM\n',
    columns: { n: 'INT64', at: 'DATETIME' },
    csv: { timestamp: '%m/%d/%Y %I:%M:%S %p' },
    rows: [['1', '2026-06-30 11:00:00'], ['2', '2026-07-01 13:10:00']],
  },
  'groups of thousands beyond the rows by which DuckDB guesses, one column without decimals': {
    content: `n;Betrag;Stück\n${Array.from({ length: 2100 }, (_, n) => `${n};1.234,50;1.017\n`).join('')}`,
    columns: { n: 'INT64', Betrag: 'NUMERIC', Stuck: 'INT64' },
    from: { Stuck: 'Stück' },
    csv: { delimiter: ';', decimal: ',', thousands: '.' },
    rows: Array.from({ length: 2100 }, (_, n) => [String(n), '1234.500000000', '1017']),
  },
  'times without seconds': {
    content: 'n;Zeit\n1;14.02.2025 07:05\n2;3.2.2025 23:59\n',
    columns: { n: 'INT64', Zeit: 'DATETIME' },
    csv: { delimiter: ';', timestamp: '%d.%m.%Y %H:%M' },
    rows: [['1', '2025-02-14 07:05:00'], ['2', '2025-02-03 23:59:00']],
  },
  'lines before the header': {
    content: 'Report of January\n\nid,n,at\n1,2,2026-01-15\n3,4,2026-01-16\n',
    columns: { id: 'INT64', n: 'INT64', at: 'DATE' },
    csv: { skip: 2 },
    rows: [['1', '2', '2026-01-15'], ['3', '4', '2026-01-16']],
  },
  'lines before the header, and one that is too short after it': {
    content: 'Report of January\nExported by, admin\n\nid,n,at\n1,2,2026-01-15\n3,4,2026-01-16\n5,6\n',
    columns: { id: 'INT64', n: 'INT64', at: 'DATE' },
    rows: /line 7 has 2 values, the first one 3\. Correct it/,
    loaded: [['1', '2', '2026-01-15'], ['3', '4', '2026-01-16']],
    problems: [{ line: 7, reason: 'has 2 values; allowed: 3' }],
  },
  'lines of other lengths at the end, which are no header': {
    content: `id,name,land\n${Array.from({ length: 8 }, (_, n) => `${n},x,y\n`).join('')}8,z\n\nx,T,J,r\n`,
    columns: { id: 'INT64', name: 'STRING', land: 'STRING' },
    rows: /a\.csv: line 10 has 2 values, the first one 3\. Correct it/,
    loaded: Array.from({ length: 8 }, (_, n) => [String(n), 'x', 'y']),
    problems: [{ line: 10, reason: 'has 2 values; allowed: 3' }, { line: 12, reason: 'has 4 values; allowed: 3' }],
  },
  'a remark before the header, and semicolons': {
    content: '# Author: the scientist\nid;name;n\n1;a;67\n2;b;68\n',
    columns: { id: 'INT64', name: 'STRING', n: 'INT64' },
    csv: { delimiter: ';', skip: 1 },
    rows: [['1', 'a', '67'], ['2', 'b', '68']],
  },
  'days in another form, behind ends of lines that differ': {
    content: 'id|from|name\r\n1|01.06.2015|x\r\n2|15.09.2015|y\n',
    columns: { id: 'INT64', from: 'DATE', name: 'STRING' },
    csv: { delimiter: '|', date: '%d.%m.%Y', strict: false },
    rows: [['1', '2015-06-01', 'x'], ['2', '2015-09-15', 'y']],
  },
  'dates in several forms beside days': {
    content: 'when,日付\n2026-01-15,2026-01-15\n15/01/2026,2026-01-16\nJan 16 2026,\n',
    columns: { when: 'STRING', column_2: 'DATE' },
    from: { column_2: '日付' },
    rows: [['2026-01-15', '2026-01-15'], ['15/01/2026', '2026-01-16'], ['Jan 16 2026', null]],
  },
  'words of truth that would not come out as they went in': {
    content: 'smoker,paid\nYes,TRUE\nNo,false\n',
    columns: { smoker: 'STRING', paid: 'BOOL' },
    rows: [['Yes', true], ['No', false]],
  },
  'spaces around values, and infinities': {
    content: 'd,x,s\n 2026-01-15, 1.5e300, a\n2026-01-16,NaN,b\n2026-01-17,inf,c\n',
    columns: { d: 'DATE', x: 'FLOAT64', s: 'STRING' },
    rows: [['2026-01-15', 1.5e300, ' a'], ['2026-01-16', 'NaN', 'b'], ['2026-01-17', 'Infinity', 'c']],
  },
  'JSON objects over several lines, with integers that one type of 32 bits and one without a sign hold': {
    content: '{\n  "n": -1,\n  "Größe (cm)": 1\n}\n{\n  "n": 9223372036854775807,\n  "Größe (cm)": 2\n}\n',
    file: 'a.json',
    columns: { n: 'INT64', Grosse_cm: 'INT64' },
    from: { Grosse_cm: 'Größe (cm)' },
    rows: [['-1', '1'], ['9223372036854775807', '2']],
  },
  'records with names that no column can have': {
    content: '{"a":{"$type":"x","n":1}}\n{"a":{"$type":"y","n":2}}\n',
    file: 'a.ndjson',
    columns: { a: 'JSON' },
    rows: [['{"$type":"x","n":1}'], ['{"$type":"y","n":2}']],
  },
}; // biome-ignore format: a table

type Outcome = {
  readonly columns: object | undefined;
  readonly from: object | undefined;
  readonly csv: object | undefined;
  readonly problem: string | undefined;
  readonly rows: unknown[][];
  readonly loaded: unknown[][];
  readonly acceptance: Acceptance;
};

const outcomes = new Map<string, Outcome>();

let directory: string;
afterAll(() => rm(directory, { recursive: true }));

/** All cases share one database and one turn of storing. */
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'foreign-'));
  const config = readConfig({ SOURCES_DIR: join(directory, 'sources'), DATA_DIR: directory });
  await mkdir(config.SOURCES_DIR);
  const databasePath = join(directory, 'logs.duckdb');
  const folder = rowsFolderOf(databasePath);
  const problems = new Map<string, string>();
  const acceptances = new Map<string, Acceptance>();
  const of = (name: string) => readSources(config.SOURCES_DIR).find(source => source.name === name);
  for (const [at, [name, { content, file = 'a.csv' }]] of Object.entries(cases).entries()) {
    await mkdir(join(directory, String(at)));
    const path = join(directory, String(at), file);
    await writeFile(path, content);
    const add = (...args: string[]) => runSourceCommand(config, () => undefined, ['add', ...args]);
    await add(`place${at}`, path).catch(error => problems.set(name, error.message));
    await add(`table${at}`, path, '--load');
    const source = of(`table${at}`)!;
    const input = await openInput(path, source);
    acceptances.set(name, await acceptRows({ folder, source, lines: input.lines }));
    await input.close();
  }
  const sources = readSources(config.SOURCES_DIR);
  while (await storeAccepted({ databasePath, sources, emit: () => undefined }));
  const instance = await DuckDBInstance.create(readCurrent(databasePath).path, { access_mode: 'READ_ONLY' });
  const connection = await instance.connect();
  try {
    await connection.run("SET TimeZone = 'UTC'");
    await makeSourceViews(connection, sources);
    const rowsOf = async (table: string) =>
      (await connection.runAndReadAll(`SELECT * FROM "${table}"`)).getRowsJson();
    for (const [at, name] of Object.keys(cases).entries()) {
      const place = of(`place${at}`);
      outcomes.set(name, {
        columns: of(`table${at}`)?.columns,
        from: place?.from,
        csv: place?.csv,
        problem: problems.get(name),
        rows: place ? await rowsOf(`place${at}`) : [],
        loaded: await rowsOf(`table${at}`),
        acceptance: acceptances.get(name)!,
      });
    }
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
});

test.each(Object.entries(cases))('%s', (name, { columns, from, csv, rows, loaded, problems = [] }) => {
  const found = outcomes.get(name)!;
  expect(found.columns).toEqual(columns);
  if (rows instanceof RegExp) expect(found.problem).toMatch(rows);
  else expect([found.problem, found.rows, found.from, found.csv]).toEqual([undefined, rows, from, csv]);
  expect(found.loaded).toEqual(loaded ?? rows);
  expect(found.acceptance).toMatchObject({ problems, rejected: problems.length, ignoredFields: [] });
});
