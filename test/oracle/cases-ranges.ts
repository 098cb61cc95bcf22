import type { CaseGroup } from './case-group.ts';

/** RANGE values, their functions and their order. The reference knows few of them; the other rows are those of the documentation. */
export const rangeCases: CaseGroup = {
  same: [
    'range_start(cast(null as range<datetime>))',
    'range_end(cast(null as range<timestamp>))',
    "range_start(range<date> '[2020-01-01, 2020-02-01)')",
    "range_end(range<date> '[2020-01-01, unbounded)')",
    "range_end(range<timestamp> '[2020-01-01 00:00:00+00, 2020-02-01 10:00:00.5+00)')",
    "range_start(range<datetime> '[2020-01-01 00:00:00, NULL)')",
    "range_start(range(date '2020-01-01', null))",
    "range_overlaps(range<date> '[2020-01-01, 2020-02-01)', range<date> '[2020-02-01, unbounded)')",
    "range_overlaps(range<date> '[2020-01-01, 2020-02-02)', range<date> '[2020-02-01, unbounded)')",
    "range_start(range_intersect(range<date> '[2020-01-01, 2020-02-02)', range<date> '[2020-02-01, unbounded)'))",
    "range<date> '[2020-01-01, unbounded)' = range<date> '[2020-01-01, unbounded)'",
    "range<date> '[2020-01-01, unbounded)' > range<date> '[2020-01-01, 2021-01-01)'",
    "range<date> '[unbounded, 2021-01-01)' < range<date> '[2020-01-01, 2021-01-01)'",
    'cast(null as range<date>) is null',
    'select range_start(range(d, date_add(d, interval 1 day))) from facts',
    'select range_start(range(d, null)) from facts',
    'select range_start(range(null, d)) from facts',
  ],
  fail: [
    'range(null, null)',
    'range_start(null)',
    "range_overlaps(range(date '2020-01-01', null), null)",
    'range_bucket(1, null)',
    'range_bucket(null, null)',
    "range_start(range(date '2020-01-02', date '2020-01-01'))",
    "range_intersect(range<date> '[2020-01-01, 2020-02-02)', range<date> '[2020-02-02, unbounded)')",
    "range<date> '[2020-01-01 2020-02-01)'",
    "range<date> '[2020-02-01, 2020-01-01)'",
    "range<int64> '[1, 2)'",
    "generate_range_array(range(date '2020-01-01', null), interval 2 day, false)",
    "generate_range_array(range(date '2020-01-01', date '2020-01-06'), interval 0 day)",
    "format('%t', range<date> '[2020-01-01, unbounded)')",
  ],
  answered: [
    ["range_contains(range<date> '[2020-01-01, 2020-02-01)', date '2020-01-05')", [[true]]],
    ["range_contains(range<date> '[2020-01-01, 2020-02-01)', date '2020-02-01')", [[false]]],
    [
      "range_contains(range<date> '[2020-01-01, 2020-02-01)', range<date> '[2020-01-05, 2020-01-06)')",
      [[true]],
    ],
    ["range<date> '[2020-01-01, 2020-02-01)'", [['[2020-01-01, 2020-02-01)']]],
    [
      "cast(range(timestamp '2020-01-01 00:00:00+00', null) as string)",
      [['[2020-01-01 00:00:00+00, UNBOUNDED)']],
    ],
    ["cast(range(datetime '2020-01-01 00:00:00', null) as string)", [['[2020-01-01 00:00:00, UNBOUNDED)']]],
    ["range<datetime> '[2026-01-01 00:00:00, unbounded)'", [['[2026-01-01T00:00:00, UNBOUNDED)']]],
    [
      "range<timestamp> '[2026-01-01 00:00:00+00, 2026-01-01 00:00:00.5+00)'",
      [['[1767225600000000, 1767225600500000)']],
    ],
    [
      "[range<timestamp> '[unbounded, 2026-01-01 00:00:00+00)', range(null, timestamp '1969-12-31 23:59:59.999999+00')]",
      [[['[UNBOUNDED, 1767225600000000)', '[UNBOUNDED, -1)']]],
    ],
    ["cast('[2020-01-01, 2020-02-01)' as range<date>)", [['[2020-01-01, 2020-02-01)']]],
    ["safe_cast('[2020-01-01, 2020-02-01' as range<date>)", [[null]]],
    [
      "generate_range_array(range(date '2020-01-01', date '2020-01-06'), interval 1 day)",
      [
        [
          [
            '[2020-01-01, 2020-01-02)',
            '[2020-01-02, 2020-01-03)',
            '[2020-01-03, 2020-01-04)',
            '[2020-01-04, 2020-01-05)',
            '[2020-01-05, 2020-01-06)',
          ],
        ],
      ],
    ],
    [
      "generate_range_array(range(date '2020-01-01', date '2020-01-06'), interval 2 day)",
      [[['[2020-01-01, 2020-01-03)', '[2020-01-03, 2020-01-05)', '[2020-01-05, 2020-01-06)']]],
    ],
    [
      "generate_range_array(range(date '2020-01-01', date '2020-01-06'), interval 2 day, false)",
      [[['[2020-01-01, 2020-01-03)', '[2020-01-03, 2020-01-05)']]],
    ],
    [
      "generate_range_array(range(timestamp '2020-01-01 00:00:00+00', timestamp '2020-01-01 03:00:00+00'), interval 1 hour)",
      [
        [
          [
            '[1577836800000000, 1577840400000000)',
            '[1577840400000000, 1577844000000000)',
            '[1577844000000000, 1577847600000000)',
          ],
        ],
      ],
    ],
    [
      'select range(d, null) r, count(*) from facts group by r order by r',
      [
        ['[UNBOUNDED, UNBOUNDED)', '1'],
        ['[1969-12-31, UNBOUNDED)', '1'],
        ['[2021-01-03, UNBOUNDED)', '1'],
        ['[2024-02-29, UNBOUNDED)', '1'],
        ['[2025-12-31, UNBOUNDED)', '1'],
        ['[2026-01-15, UNBOUNDED)', '2'],
        ['[2026-03-01, UNBOUNDED)', '1'],
      ],
    ],
    ['select max(range(d, null)) from facts', [['[2026-03-01, UNBOUNDED)']]],
    [
      "select r.x from (select range(d, null) x from facts) r where range_contains(r.x, date '2025-01-01')",
      [
        ['[1969-12-31, UNBOUNDED)'],
        ['[UNBOUNDED, UNBOUNDED)'],
        ['[2024-02-29, UNBOUNDED)'],
        ['[2021-01-03, UNBOUNDED)'],
      ],
    ],
  ],
};
