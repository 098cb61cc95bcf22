import { expect, test } from 'vitest';
import type { Field } from '../../src/bigquery/bigquery-answers.ts';
import { columnsOf, renderRows } from '../../src/bigquery/render-rows.ts';

/** The wire form of one value of a column. */
function render(field: Omit<Field, 'name'>, value: unknown): string {
  const columns = columnsOf([{ name: 'x', ...field }]);
  const [row] = renderRows(columns, [{ f: [{ v: value }] }]);
  return row!.slice('{"x":'.length, -1);
}

test.each([
  ['STRING', 'a "quoted"\n\u2028 text', JSON.stringify('a "quoted"\n\u2028 text')],
  ['INTEGER', '9223372036854775807', '9223372036854775807'],
  ['INT64', '-9223372036854775808', '-9223372036854775808'],
  ['BOOLEAN', 'true', 'true'],
  ['BOOL', 'false', 'false'],
  ['FLOAT', '0.1', '0.1'],
  ['FLOAT64', '1.0E22', '1.0E22'],
  ['FLOAT', '-0.0', '-0.0'],
  ['FLOAT', 'NaN', '"NaN"'],
  ['FLOAT', 'Infinity', '"Infinity"'],
  ['FLOAT', '-Infinity', '"-Infinity"'],
  ['FLOAT', '-inf', '"-Infinity"'],
  ['TIMESTAMP', '1768471319999999', '1768471319999999'],
  ['TIMESTAMP', '-1', '-1'],
  ['TIMESTAMP', '-62135596800000000', '-62135596800000000'],
  ['TIMESTAMP', '1.768471319999999E9', '1768471319999999'],
  ['TIMESTAMP', '1768471319.012', '1768471319012000'],
  ['TIMESTAMP', '253402300799.999999', '253402300799999999'],
  ['TIMESTAMP', '-0.5', '-500000'],
  ['TIMESTAMP', '2026-05-20T11:00:00Z', '1779274800000000'],
  ['TIMESTAMP', '0001-01-01 00:00:00.000001+00', '-62135596799999999'],
  ['TIMESTAMP', '9999-12-31 23:59:59.999999+00', '253402300799999999'],
  ['DATETIME', '2026-01-15T10:00:00', '"2026-01-15T10:00:00"'],
  ['DATE', '2026-01-15', '"2026-01-15"'],
  ['TIME', '10:00:00.5', '"10:00:00.5"'],
  ['NUMERIC', '99999999999999999999999999999.999999999', '"99999999999999999999999999999.999999999"'],
  ['BIGNUMERIC', '1.5', '"1.5"'],
  ['BYTES', 'AP8=', '"AP8="'],
  ['JSON', '{"a":[1,"b"]}', JSON.stringify('{"a":[1,"b"]}')],
])('contract section 2: %s %s is %s', (type, value, expected) => {
  expect(render({ type }, value)).toBe(expected);
  expect(render({ type }, null)).toBe('null');
  expect(render({ type, mode: 'REPEATED' }, [{ v: value }, { v: value }])).toBe(`[${expected},${expected}]`);
  expect(render({ type, mode: 'REPEATED' }, [])).toBe('[]');
  expect(render({ type, mode: 'REPEATED' }, null)).toBe('[]');
});

test('contract section 2: every record in its array, every column there', () => {
  const request: Field = {
    name: 'request',
    type: 'RECORD',
    mode: 'REPEATED',
    fields: [
      { name: 'method', type: 'STRING' },
      { name: 'sizes', type: 'INTEGER', mode: 'REPEATED' },
    ],
  };
  const metadata = { type: 'RECORD', mode: 'REPEATED', fields: [request, { name: 'n', type: 'INTEGER' }] };
  const inner = { f: [{ v: 'GET' }, { v: [{ v: '1' }] }] };
  const value = [
    { v: { f: [{ v: [{ v: inner }] }, { v: null }] } },
    { v: { f: [{ v: [] }, { v: '9007199254740993' }] } },
  ];
  expect(render(metadata, value)).toBe(
    '[{"request":[{"method":"GET","sizes":[1]}],"n":null},{"request":[],"n":9007199254740993}]',
  );
  expect(columnsOf([{ name: 'metadata', ...metadata }])).toMatchObject([
    { type: 'STRUCT', mode: 'REPEATED', fields: [{ name: 'request' }, { type: 'INT64', mode: 'NULLABLE' }] },
  ]);
});

test.each([
  ['INTEGER', '1e5'],
  ['INTEGER', 5],
  ['BOOLEAN', '1'],
  ['FLOAT', '1,5'],
  ['TIMESTAMP', '2026-13-20T11:00:00Z'],
  ['TIMESTAMP', '2026-05-20T11:00:00+02'],
  ['TIMESTAMP', 'E'],
  ['RECORD', 'text'],
])('a value that is no %s is a broken answer, and stays out of the message: %s', (type, value) => {
  expect(() => render({ type, fields: [] }, value)).toThrow(/^A row has a \w+ where/);
});

test('a row with a cell too few is a broken answer', () => {
  expect(() => renderRows(columnsOf([{ name: 'x', type: 'STRING' }]), [{ f: [] }])).toThrow('A row has');
});

test.each(['GEOGRAPHY', 'INTERVAL', 'RANGE', ''])(
  'a column of a type without a wire form is named: %s',
  type => {
    expect(() => columnsOf([{ name: 'x', type }])).toThrow(
      expect.objectContaining({
        code: 'engine_failed',
        message: expect.stringContaining(`Column x has the type ${type}`),
      }),
    );
  },
);
