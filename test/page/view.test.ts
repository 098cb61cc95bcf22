import { beforeAll, expect, test } from 'vitest';
import type { Column, Endpoint } from '../../src/page/api/catalogue.ts';
import { parseExactJson, writeExactJson } from '../../src/page/api/exact-json.ts';
import { rangeOf } from '../../src/page/editor/error-range.ts';
import { examplesOf } from '../../src/page/editor/examples.ts';
import { chartModel } from '../../src/page/result/chart-model.ts';
import { formatMicros } from '../../src/page/result/format.ts';
import { levelOf } from '../../src/page/result/level.ts';
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
  };
  expect(readView(writeView(view))).toEqual(view);
  expect(readView('#/%E0%A4%A')).toBeUndefined();
  expect(readView('')).toBeUndefined();
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
  expect(levelOf({ metadata: [{ level: 'warning' }] })).toBe('warning');
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
