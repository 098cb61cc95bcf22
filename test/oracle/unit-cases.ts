import type { CaseGroup } from './case-group.ts';

const clockUnits = ['MICROSECOND', 'MILLISECOND', 'SECOND', 'MINUTE', 'HOUR'];
const dayUnits = ['DAY', 'WEEK', 'WEEK(MONDAY)', 'WEEK(THURSDAY)', 'ISOWEEK'];
const calendarUnits = ['MONTH', 'QUARTER', 'YEAR', 'ISOYEAR'];
const units = [...clockUnits, ...dayUnits, ...calendarUnits];

/** Before 1970 with a fraction, a Sunday that belongs to last year's last ISO week, an hour that comes twice in New York. */
const instants = [
  '2026-03-01 23:59:58.123456',
  '1969-12-31 23:59:58.5',
  '2021-01-03 00:00:00',
  '2026-11-01 06:30:00',
];
const days = ['2026-03-01', '2024-12-30', '2021-01-01', '2023-01-01', '0001-01-01', '2024-02-29'];
const spans: readonly (readonly [string, string])[] = [
  ['2026-01-18 00:00:00', '2026-01-17 23:59:59'],
  ['2024-12-30 10:00:00', '2026-02-01 09:59:59.5'],
  ['2021-01-03 12:00:00', '2020-12-31 13:00:00'],
  ['2026-03-31 00:00:00', '2025-12-28 01:00:00'],
];

const extracted = [...units, 'DAYOFWEEK', 'DAYOFYEAR', 'DATE', 'TIME', 'DATETIME'].flatMap(unit => [
  ...instants.map(instant => `extract(${unit} from timestamp '${instant}+00')`),
  ...days.map(day => `extract(${unit} from date '${day}')`),
]);

const truncated = units.flatMap(unit => [
  ...instants.flatMap(instant => [
    `timestamp_trunc(timestamp '${instant}+00', ${unit})`,
    `timestamp_trunc(timestamp '${instant}+00', ${unit}, 'America/New_York')`,
    `datetime_trunc(datetime '${instant}', ${unit})`,
  ]),
  ...days.map(day => `date_trunc(date '${day}', ${unit})`),
]);

const compared = units.flatMap(unit =>
  spans.flatMap(([later, earlier]) => [
    `timestamp_diff(timestamp '${later}+00', timestamp '${earlier}+00', ${unit})`,
    `datetime_diff(datetime '${later}', datetime '${earlier}', ${unit})`,
    `date_diff(date '${later.slice(0, 10)}', date '${earlier.slice(0, 10)}', ${unit})`,
  ]),
);

const shifted = [...clockUnits, 'DAY', 'WEEK', 'MONTH', 'QUARTER', 'YEAR'].flatMap(unit =>
  ['1', '-13'].flatMap(count => [
    `timestamp_add(timestamp '2024-01-31 10:00:00.5+00', interval ${count} ${unit})`,
    `datetime_sub(datetime '2024-03-31 10:00:00.5', interval ${count} ${unit})`,
    `date_add(date '2024-02-29', interval ${count} ${unit})`,
  ]),
);

/** Every unit with every function that takes one; the two engines also agree on what they refuse. */
export const unitCases: CaseGroup = {
  same: [],
  agree: [...extracted, ...truncated, ...compared, ...shifted],
};
