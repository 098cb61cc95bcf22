import { beforeAll, expect, test } from 'vitest';
import type { Column, Endpoint } from '../../src/page/api/catalogue.ts';
import { parseExactJson, writeExactJson } from '../../src/page/api/exact-json.ts';
import { rangeOf } from '../../src/page/editor/error-range.ts';
import { examplesOf } from '../../src/page/editor/examples.ts';
import { chartModel } from '../../src/page/result/chart-model.ts';
import { formatMicros } from '../../src/page/result/format.ts';
import { isLevel, levelOf } from '../../src/page/result/level.ts';
import { ordered } from '../../src/page/result/order-rows.ts';
import { shortNames } from '../../src/page/result/short-names.ts';
import { summaryOf } from '../../src/page/result/summary.ts';
import { graphqlOperation, rowsAsCsv } from '../../src/page/result/take-along.ts';
import { toIso } from '../../src/page/row-times.ts';
import { readView, writeView } from '../../src/page/view-url.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

let gateway: OpenGateway;
let endpoints: Endpoint[];
beforeAll(async () => {
  gateway = await openGateway({ now: '2026-01-15T12:00:00Z' });
  endpoints = (await gateway.get('/api/endpoints')).body.endpoints;
  return gateway.close;
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
    ordered(rows, { column: 'n', direction }).map(({ n }) => n);
  expect(order('ascending')).toEqual([9, 10, 2n ** 60n, null]);
  expect(order('descending')).toEqual([2n ** 60n, 10, 9, null]);
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
  expect(toIso(1_768_471_200_000_007)).toBe('2026-01-15T10:00:00.000007Z');
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
    seconds: [0, 60],
    step: 60,
    series: [
      { name: 'info', values: [5, 2] },
      { name: 'error', values: [1, 0] },
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
});

test('CSV guards formulas and quotes what needs it', () => {
  const columns = [{ name: 'a', type: 'STRING' }, number('b')];
  expect(
    rowsAsCsv(columns, [
      { a: '=cmd()', b: -1 },
      { a: 'x,"y"\n', b: null },
    ]),
  ).toBe('a,b\r\n\'=cmd(),-1\r\n"x,""y""\n",\r\n');
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
