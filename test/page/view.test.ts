import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { parseTimestamp } from '../../src/base/parse-timestamp.ts';
import type { Column, Endpoint, Values } from '../../src/page/api/catalogue.ts';
import { createClient, type Row } from '../../src/page/api/client.ts';
import { parseExactJson, writeExactJson } from '../../src/page/api/exact-json.ts';
import { Problem } from '../../src/page/api/problem.ts';
import { rangeOf } from '../../src/page/editor/error-range.ts';
import { examplesOf } from '../../src/page/editor/examples.ts';
import { requestValues } from '../../src/page/form/request-values.ts';
import { endsBefore, fromLocalField, toLocalField } from '../../src/page/form/time-values.ts';
import { type ShownRows, withNewerRows } from '../../src/page/query/newer-rows.ts';
import { olderThan } from '../../src/page/query/older-rows.ts';
import { newestMicros, newRows, oldestMicros, toIso } from '../../src/page/query/row-times.ts';
import { add, formatAmount, sumOf, toAmount } from '../../src/page/result/amount.ts';
import { type ChartModel, chartModel, isMeasurement } from '../../src/page/result/chart-model.ts';
import { rowsWithin } from '../../src/page/result/filter-rows.ts';
import { formatCell, formatMicros } from '../../src/page/result/format.ts';
import { isLevel, levelOf, wordsOf } from '../../src/page/result/level.ts';
import { ordered } from '../../src/page/result/order-rows.ts';
import { heightsFor, stacked } from '../../src/page/result/plot-options.ts';
import { shortNames } from '../../src/page/result/short-names.ts';
import { summaryOf } from '../../src/page/result/summary.ts';
import { graphqlOperation, takeAlong } from '../../src/page/result/take-along.ts';
import { writeCsv } from '../../src/page/result/write-csv.ts';
import { readView, writeView } from '../../src/page/view-url.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';

/** A saved query with a bound beyond 2^53. */
const wide = `/*
id: 00000000-0000-4000-8000-000000000064
name: wide
description: A number.
parameters:
  n: { type: INT64, max: "9223372036854775807", description: Any number. }
columns:
  n: { type: INT64, description: The number. }
*/
select @n as n`;

let gateway: OpenGateway;
let endpoints: Endpoint[];
beforeAll(async () => {
  gateway = await openGateway({ now: '2026-01-15T12:00:00Z', sqlFiles: { 'wide.sql': wide } });
  endpoints = (await gateway.get('/api/endpoints')).body.endpoints;
  return gateway.close;
});

test('the document of the API has numbers that Swagger UI takes, and the size of an answer is in bytes', async () => {
  const plain = globalThis.fetch;
  vi.stubGlobal('fetch', (path: string, init: RequestInit) => plain(gateway.origin + path, init));
  onTestFinished(() => void vi.unstubAllGlobals());
  const client = createClient(testToken);
  expect(JSON.stringify(await client.document())).toContain('"maximum":9223372036854776000');
  const query = endpoints.find(({ name }) => name === 'logs.all')!;
  const values = { project: 'abc', sql: "select 'é' as e" };
  const { facts } = await client.run(query, values, new AbortController().signal, false);
  expect(facts.bytes).toBe(Buffer.byteLength('{"result":[{"e":"é"}]}'));
});

test('every example of every subset is SQL that the gateway takes', async () => {
  let checked = 0;
  for (const { name, subsets = [] } of endpoints) {
    for (const subset of subsets) {
      const examples = examplesOf(subset);
      expect(examples.length).toBeGreaterThan(1);
      for (const { sql } of examples) {
        const { body } = await gateway.send(`/api/endpoints/${name}/check`, {
          method: 'POST',
          body: JSON.stringify({ sql }),
          headers: { 'content-type': 'application/json' },
        });
        expect(body, sql).toMatchObject({ verdict: 'ok' });
        checked++;
      }
    }
  }
  expect(checked).toBeGreaterThan(25);
});

test.each([
  ['logs.all', { project: 'a"b\\c\n' }],
  ['usage.api-counts', { project: 'abc', interval: 'hourly' }],
  ['logs.all', { project: 'abc', sql: 'select count(*) as n from "x"' }],
])('the GraphQL operation of %s %j is one that the schema knows', async (name, values) => {
  const operation = graphqlOperation(endpoints.find(each => each.name === name)!, values);
  const { body } = await gateway.graphql(operation);
  const codes = (body.errors ?? []).map((error: { extensions: { code: string } }) => error.extensions.code);
  expect(codes, operation).toEqual('sql' in values ? ['invalid_query'] : []);
});

test('the GraphQL operation of a token that fixes a parameter is one that it may ask', async () => {
  const token = await gateway.issue({ parameters: { project: 'abc' } });
  const headers = { 'x-api-key': token };
  const own: Endpoint[] = (await gateway.get('/api/endpoints', headers)).body.endpoints;
  const operation = graphqlOperation(own.find(({ name }) => name === 'usage.api-counts')!, {
    interval: 'hourly',
  });
  const { body } = await gateway.graphql(operation, {}, headers);
  expect(body.errors, operation).toBeUndefined();
});

test('a TypeScript row has no NULL where the saved query promises none', () => {
  const [, , { text }] = takeAlong('http://x', endpoints.find(({ name }) => name === 'logs.all')!, {
    project: 'abc',
  }) as [unknown, unknown, { text: string }];
  expect(text).toContain('  "timestamp": number;\n');
  expect(text).toContain('  "event_message": string | null;\n');
  expect(text).toContain('JSON.stringify({\n    "project": "abc"\n  }),');
});

test('a view survives its address', () => {
  const view = {
    endpoint: 'a.b',
    values: { project: 'x&y=ü #', states: ['open', 'paid, sent'], sql: 'select\n1 -- ?' },
    shown: 'chart' as const,
    zoom: { from: 1_768_471_200, to: 1_768_471_260 },
    filter: 'x=1&~to',
  };
  expect(readView(writeView(view))).toEqual(view);
  expect(readView('#/%E0%A4%A')).toBeUndefined();
  expect(readView('')).toBeUndefined();
});

test.each([
  ['~from=2026-01-15&~to=2026-01-14'],
  ['~from=never'],
  ['~show=film'],
  ['~filter='],
  ['~else=1&__proto__=1&constructor=2'],
])('what makes no sense in the address %s is left out', query => {
  const view = readView(`#/a.b?${query}&project=x`);
  expect(view).toMatchObject({ endpoint: 'a.b', values: { project: 'x' } });
  expect([view?.shown, view?.zoom, view?.filter]).toEqual([undefined, undefined, undefined]);
});

test.each([
  [['total_rest_requests', 'total_auth_requests'], ['rest', 'auth'], 'total_…_requests'],
  [['p50_ms', 'p95_ms'], ['p50', 'p95'], '…_ms'],
  [['rest', 'auth'], ['rest', 'auth'], undefined],
  [['total', 'total_rest'], ['total', 'total_rest'], undefined],
  [['a_a', 'a_a'], ['a', 'a'], 'a_…'],
  [['total_rest'], ['total_rest'], undefined],
])('the legend of %j is %j', (names, shown, pattern) => {
  expect(shortNames(names)).toEqual({ names: shown, pattern });
});

test('a record in one line begins with what says most', () => {
  const metadata = [
    {
      id: null,
      worker: { name: 'w' },
      request: [{ host: 'h', path: '/x' }],
      response: [{ status_code: 503 }],
    },
  ];
  expect(summaryOf(metadata)).toBe('path: /x  status_code: 503  host: h  name: w');
  expect(summaryOf(['a', 'b'])).toBe('a  b');
});

test('rows stand in the order of a column, NULL last, numbers by their size', () => {
  const rows = [{ n: 10 }, { n: null }, { n: 9 }, { n: 2n ** 60n }];
  const order = (direction: 'ascending' | 'descending') =>
    ordered(rows, [number('n')], { column: 'n', direction }).map(({ n }) => n);
  expect(order('ascending')).toEqual([9, 10, 2n ** 60n, null]);
  expect(order('descending')).toEqual([2n ** 60n, 10, 9, null]);
});

test.each([
  ['NUMERIC', ['-5.5', '-3', '0.25', '0.5', '1.10', '1.9', '10']],
  ['NUMERIC', ['-9007199254740993.2', '-9007199254740993.1', '9007199254740993', '9007199254740993.5']],
  ['FLOAT64', ['NaN', '-Infinity', -5, 0.5, 3, 1e300, 'Infinity']],
  ['INT64', [-(2n ** 60n), -1, 2 ** 53, 2n ** 53n + 1n]],
  ['DATETIME', ['2026-01-15T10:00:00', '2026-01-15T10:00:00.25', '2026-01-15T10:00:00.5']],
  ['TIMESTAMP', [-62_135_596_800_000_000n, -1, 0, 253_402_300_799_999_999n]],
  ['STRING', ['row 2', 'row 10']],
])('values of %s stand in their order: %s', (type, values) => {
  const rows = values.map(v => ({ v }));
  const columns = [{ name: 'v', type }];
  const sorted = (given: typeof rows, direction: 'ascending' | 'descending') =>
    ordered(given, columns, { column: 'v', direction });
  expect(sorted(rows.toReversed(), 'ascending')).toEqual(rows);
  expect(sorted(rows, 'descending')).toEqual(rows.toReversed());
});

test('integers beyond 2^53 keep their digits', () => {
  const text = '{"big":9007199254740993,"small":1,"float":1e300,"text":"12345678901234567890"}';
  const value = parseExactJson(text);
  expect(value).toMatchObject({ big: 9007199254740993n, small: 1, float: 1e300 });
  expect(writeExactJson(value)).toBe(text.replace('1e300', '1e+300'));
});

test('times keep their microseconds', () => {
  expect(formatMicros(1_768_471_200_123_456)).toBe('2026-01-15 10:00:00.123456');
  expect(formatMicros(-1)).toBe('1969-12-31 23:59:59.999999');
  expect(formatMicros(1_768_471_200_120_000)).toBe('2026-01-15 10:00:00.120');
  expect(toIso(1_768_471_200_000_007)).toBe('2026-01-15T10:00:00.000007Z');
  expect(toIso(1_768_471_200_000_006 + 0.75)).toBe('2026-01-15T10:00:00.000007Z');
});

test('times that are integers beyond 2^53 are times, as those before 1685 and after 2255', () => {
  const rows = parseExactJson('[{"t":-62135596800000000},{"t":0},{"t":253402300799999999}]') as {
    t: unknown;
  }[];
  expect(rows.map(({ t }) => formatCell(at('t'), t))).toEqual([
    '0001-01-01 00:00:00.000',
    '1970-01-01 00:00:00.000',
    '9999-12-31 23:59:59.999999',
  ]);
  expect(chartModel([at('t')], rows)).toMatchObject({ timeless: 0, series: [{ values: [1, 1, 1] }] });
  expect(rowsWithin(rows, [at('t')], { filter: '9999-12-31' })).toEqual([rows[2]]);
  expect([oldestMicros('t', rows), newestMicros('t', rows, Infinity)]).toEqual([rows[0]!.t, 0]);
});

test.each([
  [1e-7, '1e-7'],
  [0.000_000_5, '5e-7'],
  [1e300, '1e+300'],
  [0.1 + 0.2, '0.3'],
  [1234.5, '1,234.5'],
  [-0, '-0'],
  [2n ** 60n, '1,152,921,504,606,846,976'],
])('the number %s is shown as %s', (value, text) => {
  expect(formatCell({ name: 'x', type: 'FLOAT64' }, value)).toBe(text);
  expect(formatAmount(value)).toBe(text);
});

const at = (name: string): Column => ({ name, type: 'TIMESTAMP' });
const number = (name: string): Column => ({ name, type: 'INT64' });

test('one time, one name and one number become a series for each name', () => {
  const rows = [
    { t: 60e6, level: 'info', n: 2 },
    { t: 0, level: 'error', n: 1 },
    { t: 0, level: 'info', n: 5n },
  ];
  const model = chartModel([at('t'), { name: 'level', type: 'STRING' }, number('n')], rows);
  expect(model).toEqual({
    kind: 'time',
    time: 't',
    timeless: 0,
    isStack: true,
    seconds: [0, 60],
    step: 60,
    series: [
      { name: 'info', values: [5n, 2] },
      { name: 'error', values: [1, null] },
    ],
  });
});

test('log rows are counted by their level', () => {
  const rows = [
    { t: 1e6, metadata: [{ response: [{ status_code: 503 }] }] },
    { t: 2e6, metadata: [{ parsed: [{ error_severity: 'LOG' }] }] },
  ];
  const model = chartModel([at('t'), { name: 'metadata', type: 'STRUCT', repeated: true }], rows);
  expect(model).toMatchObject({
    seconds: [1, 2],
    series: [
      { name: 'info', values: [0, 1] },
      { name: 'error', values: [1, 0] },
    ],
  });
  expect(['status_code', 'n'].map(name => isLevel({ name }))).toEqual([true, false]);
  expect(levelOf({ metadata: [{ level: 'warning' }] })).toEqual({ level: 'warning', text: 'warning' });
  expect(levelOf({ message: 'error' })).toBeUndefined();
  expect([wordsOf({ level: 'error', text: '503' }), wordsOf({ level: 'info', text: 'LOG' })]).toEqual([
    'error 503',
    'LOG',
  ]);
});

test('log rows that say no level have none', () => {
  const columns = [at('t'), { name: 'message', type: 'STRING' }];
  const seriesOf = (rows: Record<string, unknown>[]) => (chartModel(columns, rows) as TimeModel).series;
  const silent = { t: 1e6, message: 'error' };
  expect(seriesOf([silent])).toEqual([{ name: 'rows', values: [1] }]);
  expect(seriesOf([silent, { ...silent, level: 'error' }])).toEqual([
    { name: 'no level', values: [1] },
    { name: 'error', level: 'error', values: [1] },
  ]);
});

type TimeModel = Extract<ChartModel, { kind: 'time' }>;

test('rows without a time are counted, and in no part of the axis', () => {
  const rows = [
    { t: 60e6, n: 2 },
    { t: null, n: 516 },
    { t: 0, n: 1 },
  ];
  const columns = [at('t'), number('n')];
  expect(chartModel(columns, rows)).toMatchObject({ time: 't', timeless: 1, seconds: [0, 60] });
  expect(rowsWithin(rows, columns, { zoom: { from: 0, to: 90 } })).toEqual([rows[0], rows[2]]);
  expect(rowsWithin(rows, [number('n')], { zoom: { from: 0, to: 90 }, filter: '516' })).toEqual([rows[1]]);
});

test.each([
  ['POST', 1],
  ['2026-01-15 10:00', 2],
  ['1768471200000000', 1],
  ['1,234', 1],
  ['a"b', 1],
  ['NULL', 0],
])('the filter %j finds %i rows by their values', (filter, count) => {
  const columns = [at('t'), number('n'), { name: 'metadata', type: 'STRUCT', repeated: true }];
  const rows = [
    { t: 1_768_471_200_000_000, n: 1234, metadata: [{ method: 'post', postalCode: null }] },
    { t: 1_768_471_201_000_000, n: null, metadata: [{ method: 'a"b', postalCode: '1' }] },
  ];
  expect(rowsWithin(rows, columns, { filter })).toHaveLength(count);
});

test.each<[string, unknown[]]>([
  ['9,007,199,254,740,994', [2n ** 53n + 1n, 1]],
  ['9,007,199,254,740,993', [2 ** 53 - 1, 2]],
  ['9,007,199,254,740,993', ['9007199254740993', null]],
  ['2', [null, 2, null]],
  ['NULL', [null, null]],
  ['NaN', [1, 'NaN']],
  ['∞', ['Infinity', 1n]],
  ['0.75', ['0.5', '0.25']],
])('a sum is %s', (text, values) => {
  expect(formatAmount(sumOf(values.map(toAmount)))).toBe(text);
  expect(formatAmount(values.map(toAmount).reduceRight(add, null))).toBe(text);
});

test.each([
  [['t', 'total_rest', 'total_auth'], ['total_rest', 'total_auth'], true, true],
  [['t', 'revenue'], ['revenue'], true, true],
  [['t', 'orders', 'revenue'], ['orders', 'revenue'], false, false],
  [['Datum', 'Bestell_Nr', 'PLZ', 'Betrag'], ['Betrag'], true, false],
  [['t', 'orderId', 'n'], ['n'], true, false],
  // A series for the only status, 1; rows of a log are counted by their level, where they say one.
  [['t', 'status', 'bytes'], ['1'], true, false],
  [['t', 'status'], ['rows'], true, false],
])('of the columns %j, bars are %j; a stack: %s; a chart alone: %s', (names, drawn, isStack, isAlone) => {
  const columns = names.map((name, index) => (index === 0 ? at(name) : number(name)));
  const row = Object.fromEntries(names.map((name, index) => [name, index]));
  const model = chartModel(columns, [row]) as TimeModel;
  expect(isMeasurement(columns)).toBe(isAlone);
  expect(model.series.map(({ name }) => name)).toEqual(drawn);
  expect(model.isStack).toBe(isStack);
});

test.each([
  ['counts', [1, 0], 0, 1, [0, 1.05]],
  ['no counts yet', [0, 0], 0, 0, [0, 1]],
  ['rates', [0.02, 0.01], 0, 0.02, [0, 0.021]],
  ['losses', [-0.5, -0.2], -0.5, -0.2, [-0.525, 0.025]],
  ['rates of nothing', [0.5, 0], 0, 0, [0, 1]],
])('the axis of %s ends near its bars', (_what, values, least, most, ends) => {
  const found = heightsFor([{ name: 'n', values }], least, most);
  expect(found.map(end => Number(end.toFixed(9)))).toEqual(ends);
});

test('what is below zero is stacked downwards', () => {
  const rows = [
    { t: 0, a_x: -5, b_x: 3 },
    { t: 1e6, a_x: 7, b_x: -2 },
    { t: 2e6, a_x: null, b_x: 'NaN' },
  ];
  const model = chartModel([at('t'), number('a_x'), number('b_x')], rows) as TimeModel;
  expect(stacked(model, model.series)).toEqual([
    [0, 1, 2],
    [3, -2, null],
    [-5, 7, null],
  ]);
});

test('a range that ends before it starts holds nothing', () => {
  const noon = '2026-01-15T12:00:00Z';
  expect(endsBefore(noon, '2026-01-15T11:00:00Z')).toBe(true);
  expect(endsBefore(noon, noon)).toBe(true);
  expect([endsBefore('', noon), endsBefore(noon, ''), endsBefore('soon', noon)]).toEqual([
    false,
    false,
    false,
  ]);
  // A text without a zone is in UTC, wherever the browser is.
  for (const other of ['2026-01-15 12:00:00', '2026-01-15T14:00+02:00', '2026-01-15T06:30:00-0530']) {
    expect([other, endsBefore(noon, other), endsBefore(other, noon)]).toEqual([other, true, true]);
    expect(endsBefore(other, '2026-01-15T12:00:01')).toBe(false);
  }
});

test.each([
  ['2026-01-15T12:30:05.123456Z', '2026-01-15T12:30:05'],
  ['2026-01-15 12:30:05', '2026-01-15T12:30:05'],
  ['2026-01-15T12:30', '2026-01-15T12:30:00'],
  ['2026-01-15', '2026-01-15T00:00:00'],
  ['2026-01-15T12:30:05+02:00', '2026-01-15T10:30:05'],
  ['2026-01-15T23:30:05.5 -01', '2026-01-16T00:30:05'],
  ['2026-01-15T12:30:05 Europe/Berlin', ''],
  ['soon', ''],
  ['', ''],
])('the calendar shows %s in UTC', (value, shown) => {
  expect(toLocalField(value)).toBe(shown);
  if (shown !== '') expect(toLocalField(fromLocalField(shown, 'TIMESTAMP'))).toBe(shown);
});

test('a list of one element is a list, and its empty lines are no elements', () => {
  const parameter = { name: 'names', type: 'STRING', repeated: true, description: '' };
  const endpoint = { ...endpoints[0]!, parameters: [parameter] };
  const { values } = readView('#/x?names=second%2C+with+a+comma')!;
  expect(requestValues(endpoint, values, 0)).toEqual({ names: ['second, with a comma'] });
  expect(requestValues(endpoint, { names: ['a', '', 'b', ''] }, 0)).toEqual({ names: ['a', 'b'] });
  expect(requestValues(endpoint, { names: [''] }, 0)).toEqual({});
});

test('curl sends a list of one element as JSON where an address would be split at its comma', () => {
  const endpoint = { ...endpoints[0]!, path: '/q' };
  const curlOf = (values: Record<string, string | string[]>) =>
    takeAlong('http://x', endpoint, values)[0]!.text;
  expect(curlOf({ names: ["it's, well"], n: '1' })).toBe(
    `curl 'http://x/q' \\\n  -H "X-API-KEY: $TOKEN" \\\n  -H "Content-Type: application/json" \\\n  -d '{"names":["it'\\''s, well"],"n":"1"}'`,
  );
  for (const names of [['a'], ['a,b', 'c']]) expect(curlOf({ names })).toContain(`--data-urlencode 'names=`);
});

test.each([
  ['FLOAT64', '1e5', '1e5'],
  ['FLOAT64', '-0.5', '-0.5'],
  ['FLOAT64', 'NaN', '"NaN"'],
  ['INT64', '7', '7'],
  ['INT64', '9007199254740993', '"9007199254740993"'],
  ['INT64', '1.5', '"1.5"'],
  ['BOOL', 'true', 'true'],
  ['NUMERIC', '1', '"1"'],
])('a GraphQL operation writes the %s %s as %s', (type, value, written) => {
  const endpoint = { ...endpoints[0]!, parameters: [{ name: 'p', type, description: '' }] };
  expect(graphqlOperation(endpoint, { p: value })).toContain(`    p: ${written}\n`);
});

test('a GraphQL operation without arguments has no parentheses', () => {
  const endpoint = { ...endpoints[0]!, parameters: [], columns: [number('n')] };
  const { field } = endpoint.graphql;
  expect(graphqlOperation(endpoint, {})).toContain(`{\n  ${field} {\n    n\n  }\n}`);
});

test('examples name columns that are words of SQL in backquotes', () => {
  const record = {
    name: 'group',
    type: 'STRUCT',
    mode: 'REPEATED',
    fields: [{ name: 'path', type: 'STRING' }],
  };
  const [newest, , byPath] = examplesOf({
    name: 's',
    columns: [at('end'), { name: 'order', type: 'STRING' }, record],
  });
  expect(newest!.sql).toBe('select `end`, `order`\nfrom s\norder by `end` desc\nlimit 100');
  expect(byPath!.sql).toContain('unnest(t.`group`) as group_entry');
});

test('rows of one id are several, a row that is shown already is none', () => {
  const shown = [{ id: 'a', t: 2, n: 1 }, { id: 'b', t: 1, n: 1 }]; // biome-ignore format: a table
  const more = [{ id: 'a', t: 2, n: 1 }, { id: 'a', t: 3, n: 1 }, { id: 'b', t: 1, n: 2 }]; // biome-ignore format: a table
  expect(newRows('t', more, shown)).toEqual(more.slice(1));
});

describe('rows that come while it is live', () => {
  const facts = { cache: 'BYPASS', ms: 1, bytes: 1, ageSeconds: undefined, cutAt: undefined, receipt: undefined, timing: undefined, requestId: undefined }; // biome-ignore format: one list
  const second = 1_000_000;
  const noon = Date.parse('2026-01-15T12:00:00Z') * 1000;
  const row = (seconds: number, id = `${seconds}`) => ({ t: noon + seconds * second, id });
  const bounds = { time: 't', start: 'from', end: 'to' };

  /** Asks a log whose answers have its newest 100 rows. */
  const over = (log: readonly Row[]) => async (values: Values) => {
    const [from, to] = [values.from ?? '0001-01-01', values.to ?? '9999-12-31'].map(text =>
      Number(parseTimestamp(String(text))),
    );
    const found = log.filter(({ t }) => Number(t) > from! && Number(t) <= to!);
    return { rows: found.toSorted((one, other) => Number(other.t) - Number(one.t)).slice(0, 100), facts };
  };

  /** One round over a log whose answers have its newest 100 rows; the ids that are shown then, and the bounds that were asked for. */
  async function poll(
    shown: readonly Row[],
    log: readonly Row[],
    {
      values = {},
      nowSeconds = 3600,
      maxRequests = Infinity,
    }: { values?: Values; nowSeconds?: number; maxRequests?: number } = {},
  ) {
    const asked: Values[] = [];
    const ask = over(log);
    const run = async (own: Values) => {
      if (asked.push(own) > maxRequests) throw new Problem('Too many', { status: 429 });
      return ask(own);
    };
    const nowMs = noon / 1000 + nowSeconds * 1000;
    const before = { rows: shown, facts, values, isComplete: true, fullRows: 1, crowded: [] };
    const after = await withNewerRows(run, bounds, before, nowMs);
    return { after, before, asked, ids: after.rows.map(({ id }) => id) };
  }

  const count = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => row(from + at));
  const newest = (rows: readonly Row[]) => rows.toReversed();

  test('all of them are there, where an answer holds fewer', async () => {
    const { ids, asked } = await poll([row(0)], count(0, 351));
    expect(ids).toEqual(newest(count(0, 351)).map(({ id }) => id));
    expect(asked).toHaveLength(4);
  });

  test('rows that do not meet the ones before are shown without them: no gap is between two rows', async () => {
    const { ids, after, asked } = await poll([row(0)], count(0, 3000), { nowSeconds: 4000 });
    expect(asked).toHaveLength(10);
    expect(ids).toEqual(newest(count(3000 - ids.length, 3000)).map(({ id }) => id));
    expect(ids.length).toBeGreaterThan(900);
    expect(after.isComplete).toBe(false);
  });

  test('of answers that end with a failure, what came is shown, without a gap too', async () => {
    const { ids } = await poll([row(0)], count(0, 351), { maxRequests: 2 });
    expect(ids).toEqual(newest(count(152, 351)).map(({ id }) => id));
    await expect(poll([row(0)], count(0, 2), { maxRequests: 0 })).rejects.toThrow('Too many');
  });

  test('a row that comes late stands at its time', async () => {
    const { ids } = await poll([row(5), row(0)], [row(0), row(5), row(3, 'late')]);
    expect(ids).toEqual(['5', 'late', '0']);
  });

  test('a row of the future hides no other', async () => {
    const future = row(1_000_000, 'future');
    const { ids } = await poll([future, row(0)], [row(0), future, row(2)]);
    expect(ids).toEqual(['future', '2', '0']);
  });

  test('no row before the bound of the form is asked for', async () => {
    const values = { from: '2026-01-15T12:00:01.500000Z' };
    const { ids } = await poll([row(3)], [row(1), row(2), row(3), row(4)], { values });
    expect(ids).toEqual(['4', '3', '2']);
  });

  /** More rows of one time than an answer holds. */
  const crowd = Array.from({ length: 150 }, (_, at) => row(5, `crowd ${at}`));

  test('behind more rows of one time than an answer holds the others are there, and the time is named', async () => {
    const { ids, after } = await poll([row(0)], [...count(0, 5), ...crowd, row(6)]);
    expect(ids).toEqual(['6', ...crowd.slice(0, 100).map(({ id }) => id), '4', '3', '2', '1', '0']);
    expect(after.crowded).toEqual([noon + 5 * second]);
    const fewer = await poll([row(0)], [...count(0, 5), ...crowd.slice(0, 95), row(6)]);
    expect(fewer.after.rows).toHaveLength(101);
    expect(fewer.after.crowded).toEqual([]);
  });

  test('older rows are behind such a time too', async () => {
    const log = [...count(0, 3), ...crowd, row(6)];
    let shown: ShownRows = { ...(await over(log)({})), values: {}, fullRows: 100, crowded: [] };
    for (let ask = olderThan(shown, bounds); ask; ask = olderThan(shown, bounds))
      shown = await ask(over(log));
    expect(shown.rows.map(({ id }) => id)).toEqual([
      '6',
      ...crowd.slice(0, 100).map(({ id }) => id),
      '2',
      '1',
      '0',
    ]);
    expect(shown.crowded).toEqual([noon + 5 * second]);
    expect(shown.isComplete).toBe(true);
  });

  test('rows that are pushed out can be asked for again', async () => {
    const { after } = await poll(newest(count(-20_000, 0)), [row(-1), row(0), row(1)]);
    expect([after.rows.length, after.isComplete]).toEqual([20_000, false]);
  });

  test('where nothing is new, nothing is drawn anew', async () => {
    const { after, before, asked } = await poll([row(1), row(0)], [row(0), row(1)]);
    expect(after.rows).toBe(before.rows);
    expect(asked).toHaveLength(1);
  });
});

test.each([
  `select '-5' as c, '' as e, timestamp '2026-01-01 00:00:00+00' as t, cast(null as string) as n`,
  `select '=cmd()' as formula, '-5 + 1' as minus, ' x' as space, 'a,"b"' as quote, 'x\\ny' as line`,
  `select '＝1' as wide, '+' as plus, '@a' as mail, '-1.5' as number, '-1e5' as power`,
  'select 9007199254740993 as big, 0.1 as f, 1e300 as large, -1e-7 as small, 1.0 as whole, -0.0 as zero',
  `select cast('NaN' as float64) as n, cast('-Infinity' as float64) as i, numeric '-12.50' as d, true as b`,
  `select [1, 2] as list, struct(1 as a, '=x' as b) as record, date '2026-01-01' as day, b'-a' as bytes`,
  `select timestamp '1969-12-31 23:59:59.999999+00' as before, datetime '2026-01-01 00:00:00' as local`,
  `select timestamp '0001-01-01 00:00:00+00' as first, timestamp '9999-12-31 23:59:59.999999+00' as last`,
  'select cast(null as int64) as only',
  'select 1 as `-header`',
  `select id from edge_logs where false`,
])('CSV of the page equals that of the gateway: %s', async sql => {
  const path = `/api/endpoints/query/logs.all?${new URLSearchParams({ project: 'abc', sql })}`;
  const json = await gateway.get(path);
  expect(json.status, JSON.stringify(json.body)).toBe(200);
  const { result } = parseExactJson(json.text) as { result: Record<string, unknown>[] };
  const check = await gateway.send('/api/endpoints/logs.all/check', {
    method: 'POST',
    body: JSON.stringify({ sql }),
    headers: { 'content-type': 'application/json' },
  });
  const csv = await fetch(`${gateway.origin}${path}&format=csv`, { headers: { 'x-api-key': testToken } });
  expect(writeCsv(check.body.columns, result)).toBe(await csv.text());
});

test.each([
  [{ line: 2, column: 3 }, 'evnt'],
  [{ line: 1, column: 8 }, '`a b`'],
  [{ line: 2, column: 99 }, '1'],
])('the error at %j underlines %j', (position, underlined) => {
  const text = 'select `a b`,\n  evnt + 1';
  const { from, to } = rangeOf(text, position);
  expect(text.slice(from, to)).toBe(underlined);
});
