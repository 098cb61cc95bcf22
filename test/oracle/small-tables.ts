import type { CatalogTable, SqlType } from '../../src/googlesql/tree/types.ts';

/** How repeated records are stored in DuckDB; the reference implementation knows arrays only. */
export type Layout = 'single' | 'list';

/**
 * A value as a test writes it. INT64: bigint or number; TIMESTAMP: `2026-01-15 10:00:00.123456` in UTC;
 * DATE: `2026-01-15`; a STRUCT: an object; an ARRAY: an array.
 */
export type TableValue =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly TableValue[]
  | { readonly [field: string]: TableValue };

export type TableRow = Readonly<Record<string, TableValue>>;

/** A table that both engines know under one name. */
export type SmallTable = CatalogTable;

const kind = (name: 'STRING' | 'INT64' | 'FLOAT64' | 'BOOL' | 'TIMESTAMP' | 'DATE'): SqlType => ({
  kind: name,
});

function record(layout: Layout, fields: Readonly<Record<string, SqlType>>): SqlType {
  const single = layout === 'single';
  const list = Object.entries(fields).map(([name, type]) => ({ name, type }));
  return { kind: 'ARRAY', single, element: { kind: 'STRUCT', fields: list, presence: single } };
}

function table(name: string, columns: Readonly<Record<string, SqlType>>): SmallTable {
  return {
    name,
    columns: Object.entries(columns).map(([column, type]) => ({ name: column, type })),
  };
}

/** One table of scalars, one of nested logs, one of lists. */
export function smallTables(layout: Layout): readonly SmallTable[] {
  const request = record(layout, {
    method: kind('STRING'),
    path: kind('STRING'),
    bytes: kind('INT64'),
  });
  const response = record(layout, { status_code: kind('INT64'), origin_time: kind('FLOAT64') });
  return [
    table('facts', {
      id: kind('INT64'),
      i: kind('INT64'),
      f: kind('FLOAT64'),
      s: kind('STRING'),
      b: kind('BOOL'),
      t: kind('TIMESTAMP'),
      d: kind('DATE'),
    }),
    table('logs', {
      timestamp: kind('TIMESTAMP'),
      id: kind('STRING'),
      event_message: kind('STRING'),
      metadata: record(layout, { project: kind('STRING'), score: kind('FLOAT64'), request, response }),
    }),
    table('lists', {
      id: kind('INT64'),
      numbers: { kind: 'ARRAY', single: false, element: kind('INT64') },
      words: { kind: 'ARRAY', single: false, element: kind('STRING') },
    }),
  ];
}

/** Rows that meet the edges: NULL, zero, halves, infinities, ties, text that is no ASCII. */
export const smallRows: Readonly<Record<string, readonly TableRow[]>> = {
  facts: [
    { id: 1, i: 7, f: 2.5, s: 'Alpha', b: true, t: '2026-01-15 10:00:00.123456', d: '2026-01-15' },
    { id: 2, i: -7, f: -2.5, s: 'beta', b: false, t: '2026-01-15 10:00:59', d: '2025-12-31' },
    { id: 3, i: 0, f: 0, s: '', b: null, t: '1969-12-31 23:59:58.5', d: '1969-12-31' },
    { id: 4, i: null, f: null, s: null, b: true, t: null, d: null },
    { id: 5, i: 7, f: 1e20, s: 'héllo wörld', b: false, t: '2024-02-29 23:59:59.999999', d: '2024-02-29' },
    { id: 6, i: 3000000000, f: 0.1, s: '😀x', b: true, t: '2026-03-08 07:30:00', d: '2026-03-01' },
    {
      id: 7,
      i: 9007199254740993n,
      f: -0.5,
      s: '{"a": 1.50}',
      b: null,
      t: '2026-11-01 06:00:00',
      d: '2021-01-03',
    },
    { id: 8, i: 1, f: 3.5, s: ' 12 ', b: false, t: '2026-01-15 10:00:00.123456', d: '2026-01-15' },
  ],
  logs: [
    {
      id: 'a',
      timestamp: '2026-01-15 10:00:00.000001',
      event_message: 'GET | 200 | /rest/v1/todos',
      metadata: [
        {
          project: 'p1',
          score: 0.5,
          request: [{ method: 'GET', path: '/rest/v1/todos', bytes: 10 }],
          response: [{ status_code: 200, origin_time: 12.5 }],
        },
      ],
    },
    {
      id: 'b',
      timestamp: '2026-01-15 10:00:30',
      event_message: '{"level": "error", "n": 5, "deep": {"list": [1, "two", null]}}',
      metadata: [
        {
          project: 'p1',
          score: null,
          request: [{ method: 'POST', path: '/auth/v1/token', bytes: null }],
          response: [{ status_code: 503, origin_time: 250 }],
        },
      ],
    },
    {
      id: 'c',
      timestamp: '2026-01-15 10:01:00',
      event_message: null,
      metadata: [
        { project: 'p2', score: 1.5, request: [], response: [{ status_code: null, origin_time: 1 }] },
      ],
    },
    { id: 'd', timestamp: '2026-01-15 11:00:00', event_message: 'no metadata', metadata: [] },
    {
      id: 'e',
      timestamp: '2026-01-16 00:00:00',
      event_message: '',
      metadata: [
        {
          project: null,
          score: 0.5,
          request: [{ method: 'GET', path: null, bytes: 30 }],
          response: [],
        },
      ],
    },
  ],
  lists: [
    { id: 1, numbers: [3, 1, 2], words: ['b', null, 'a'] },
    { id: 2, numbers: [], words: [] },
    { id: 3, numbers: [null, 5], words: ['x'] },
    { id: 4, numbers: [2, 2], words: ['b', 'b', 'c', ''] },
  ],
};
