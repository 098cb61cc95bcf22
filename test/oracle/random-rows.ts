import fc, { type Arbitrary } from 'fast-check';
import type { TableRow, TableValue } from './small-tables.ts';

const optional = (arbitrary: Arbitrary<TableValue>): Arbitrary<TableValue> =>
  fc.option(arbitrary, { freq: 5, nil: null });

const int = fc.oneof(
  fc.integer({ min: -9, max: 9 }),
  fc.constantFrom<TableValue>(100, -100, 2147483648, 3000000000, 9007199254740993n),
);
const float = fc.constantFrom<TableValue>(
  0,
  0.5,
  -0.5,
  1.5,
  2.5,
  -2.5,
  0.1,
  2.675,
  1e15,
  123456.789,
  -7,
  1e-5,
);
const text = fc.constantFrom<TableValue>(
  '',
  'a',
  'b',
  'abc',
  'Abc',
  ' a ',
  'héé',
  '😀x',
  'a,b,,c',
  '12',
  '-7',
  '1.5',
  'NULL',
  '{"a": 5, "b": [1, "x"]}',
  '{"a": "text", "b": {"c": 1.50}}',
  '%_\\',
);
const time = fc.constantFrom<TableValue>(
  '2026-01-15 10:00:00',
  '2026-01-15 10:00:00.123456',
  '2026-03-08 07:30:00',
  '2026-11-01 06:30:00',
  '1969-12-31 23:59:58.5',
  '2024-02-29 23:59:59.999999',
  '2021-01-03 00:00:00',
);
const date = fc.constantFrom<TableValue>(
  '2026-01-15',
  '2026-01-31',
  '2024-02-29',
  '2021-01-03',
  '1969-12-31',
  '2024-12-30',
);
const upTo = (count: number, row: Arbitrary<TableRow>) => fc.array(row, { maxLength: count });
const list = (element: Arbitrary<TableValue>) => fc.array(optional(element), { maxLength: 3 });

/** None or one: what every layout can store. */
const record = (fields: Record<string, Arbitrary<TableValue>>) =>
  fc.array(fc.record(fields), { maxLength: 1 });

const facts = upTo(
  6,
  fc.record({
    id: fc.integer({ min: 1, max: 6 }),
    i: optional(int),
    f: optional(float),
    s: optional(text),
    b: optional(fc.boolean()),
    t: optional(time),
    d: optional(date),
  }),
);
const lists = upTo(
  4,
  fc.record({ id: fc.integer({ min: 1, max: 6 }), numbers: list(int), words: list(text) }),
);
const request = record({
  method: fc.constantFrom('GET', 'POST'),
  path: optional(text),
  bytes: optional(int),
});
const response = record({
  status_code: optional(fc.constantFrom<TableValue>(200, 404, 500)),
  origin_time: optional(float),
});
const logs = upTo(
  5,
  fc.record({
    timestamp: time,
    id: fc.constantFrom('a', 'b', 'c'),
    event_message: optional(text),
    metadata: record({
      project: optional(fc.constantFrom('p1', 'p2')),
      score: optional(float),
      request,
      response,
    }),
  }),
);

/** Rows for the tables of small-tables.ts. */
export const randomRows: Arbitrary<Readonly<Record<string, readonly TableRow[]>>> = fc.record({
  facts,
  lists,
  logs,
});
