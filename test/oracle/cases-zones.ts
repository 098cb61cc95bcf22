import type { CaseGroup } from './case-group.ts';

const offsets = [
  '+5:59',
  '+005',
  '-14:00',
  '+14',
  'UTC+0530',
  'UTC-14:00',
  '+0',
  '+0000',
  '+123',
  '-5:3',
  'UTC+5:30',
];
const names = ['UTC', 'GMT', 'GMT0', 'Etc/UTC', 'Etc/GMT+5', 'EST5EDT', 'Asia/Kolkata', 'America/New_York'];
/** Letters in another case, ICU's own names, too far, too little. */
const noZones = [
  ...[
    '+530',
    '+05:',
    '+5:60',
    '-14:01',
    '+14:1',
    '+15',
    '+',
    'UTC+',
    'UTC+530',
    'UTC +5',
    'UTC+05:30 ',
    ' UTC',
    '',
  ],
  ...[
    'utc',
    'america/new_york',
    'AMERICA/NEW_YORK',
    'utc+05:30',
    'PST',
    'Etc/Unknown',
    'nowhere',
    'Z',
    'America/New_York ',
  ],
];

const days = [
  ...[
    '2026-01-15',
    '2026-1-5',
    '02026-01-15',
    '12026-01-15',
    '0001-01-01',
    '9999-12-31',
    '0000-01-01',
    '2026-13-01',
  ],
  ...['2026-02-30', '1-1-1', '2026-01-5x', ' 2026-01-15', '2026-01-15 ', '26-01-15', 'epoch', 'infinity', ''],
];
const clocks = [
  ...[
    '10',
    '10:00',
    '1:2:3',
    '10:00:00',
    '10:00:60',
    '10:00:61',
    '23:59:60',
    '24:00:00',
    '10:60:00',
    '10:00:00.',
  ],
  ...['10:00:00.1', '10:00:00.123456', '10:00:00.0000000', '010:00:00', '10:00:00:00', ''],
];
const tails = [
  ...[
    '',
    'Z',
    'z',
    ' Z',
    '+00',
    '+5',
    '+05',
    '+5:3',
    '+05:30',
    '+0530',
    '+530',
    '-14',
    '-14:00',
    '+14:01',
    '+15',
  ],
  ...[
    ' +05',
    ' +05:30',
    ' UTC',
    'UTC',
    ' UTC+5',
    ' UTC+05:30',
    ' UTC +5',
    '  UTC',
    ' utc',
    ' GMT',
    ' EST',
    ' PST8PDT',
  ],
  ...[
    ' America/New_York',
    'America/New_York',
    ' America/New_York ',
    ' america/new_york',
    ' Etc/GMT+5',
    ' ',
    '+00 ',
    ' x',
  ],
];
const texts = [
  ...days,
  ...[' ', 'T', 't', '  '].flatMap(gap => clocks.map(clock => `2026-01-15${gap}${clock}`)),
  ...['', ' 10:00:00', 'T10:00:00.5'].flatMap(clock => tails.map(tail => `2026-01-15${clock}${tail}`)),
];

const list = (values: readonly string[]) => `[${values.map(value => `'${value}'`).join(', ')}]`;
const ofEach = (expression: string, values: readonly string[]) =>
  `select ${expression} as v from unnest(${list(values)}) z with offset o order by o`;

/** Time zones as constants and in columns, and all spellings of dates and times. */
export const zoneCases: CaseGroup = {
  same: [
    "select timestamp(x, 'Australia/Lord_Howe'), timestamp(x, 'Antarctica/Troll'), timestamp(x, 'America/New_York'), timestamp(x, 'Asia/Tokyo'), timestamp(x, 'Pacific/Apia') from unnest([datetime '2026-04-05 01:29:59', datetime '2026-04-05 01:30:00', datetime '2026-04-05 01:45:00', datetime '2026-04-05 02:00:00', datetime '2026-10-04 02:15:00', datetime '2026-10-25 00:59:59', datetime '2026-10-25 01:30:00', datetime '2026-10-25 03:00:00', datetime '2026-03-29 01:30:00', datetime '2026-11-01 01:30:00', datetime '2026-11-01 02:30:00', datetime '2026-03-08 02:30:00', datetime '1888-01-01 00:10:00', datetime '2011-12-30 12:00:00', null]) x",
    "select string(x, 'Europe/Paris'), string(x, 'America/New_York'), string(x, 'Africa/Monrovia') from unnest([timestamp '1900-01-01 00:00:00+00', timestamp '1850-06-01 12:34:56.789+00', timestamp '2026-01-01 00:00:00+00']) x",
    ...[...offsets, ...names].flatMap(zone => [
      `timestamp('2026-01-15 10:00:00', '${zone}')`,
      `datetime(timestamp '2026-07-15 20:30:00+00', '${zone}')`,
    ]),
    ofEach("timestamp('2026-01-15 10:00:00', z)", [...offsets, ...names]),
    ofEach("safe.timestamp('2026-01-15 10:00:00', z)", [...offsets, ...names, ...noZones]),
    ofEach("timestamp(datetime '2026-03-29 02:30:00', z)", [...offsets, ...names]),
    ofEach("timestamp('2026-11-01 01:30:00', z)", names),
    ofEach("date(timestamp '2026-01-15 20:00:00+00', z)", [...offsets, ...names]),
    ofEach("time(timestamp '2026-01-15 20:00:00+00', z)", [...offsets, ...names]),
    ofEach("parse_timestamp('%F %T', '2026-01-15 10:00:00', z)", [...offsets, ...names]),
    ofEach("extract(hour from timestamp '2026-01-15 20:00:00+00' at time zone z)", [...offsets, ...names]),
    ...['minute', 'hour', 'day', 'week', 'month', 'isoyear'].flatMap(part => [
      `select timestamp_trunc(t, ${part}, z) as v from facts, unnest(${list(names)}) z`,
      `select timestamp_trunc(t, ${part}, z) as v from facts, unnest(${list(offsets)}) z`,
      `select timestamp_trunc(t, ${part}, '-03:30') as v from facts`,
    ]),
    "current_date('+05:30') is not null",
    'select safe.datetime(t, s) as a, safe.date(t, s) as b from facts',
    "select safe.parse_date('%F', s) as a, safe.parse_datetime('%F', s) as b from facts",
    ...['timestamp', 'datetime', 'date'].map(type => ofEach(`safe_cast(z as ${type})`, texts)),
    ofEach('safe_cast(z as time)', [
      ...clocks,
      'T10:00:00',
      ' 10:00:00',
      '10:00:00 ',
      '10:00:00Z',
      '10:00:00+00',
    ]),
    ofEach("cast(concat('2026-01-15 10:00:00', z) as timestamp)", [
      ' UTC+5:30',
      '+5:30',
      ' Asia/Tokyo',
      'Z',
      ' EST',
      '',
    ]),
    "timestamp '2026-01-15 10:00:00 UTC+5:30'",
    "timestamp '2026-01-15 +05:30'",
    "timestamp '2026-01-15 23:59:60.5'",
    "select t > '2026-01-15 10:00:00 Asia/Tokyo' as a, t > '2026-01-15 10:00:00+5' as b from facts",
  ],
  fail: [
    ...noZones.map(zone => `timestamp('2026-01-15 10:00:00', '${zone}')`),
    "extract(hour from timestamp '2026-01-15 10:00:00+00' at time zone 'nowhere')",
    "select extract(hour from t at time zone z) as v from facts, unnest(['utc']) z",
    'select datetime(t, s) as v from facts',
    "current_date('nowhere')",
    "cast(concat('2026-01-15 10:00:00 ', 'Asia/Nowhere') as timestamp)",
    "cast(concat('2026-02', '-30') as date)",
    "timestamp '2026-01-15 10:00:00 america/new_york'",
    "timestamp '2026-01-15 10:00:00 +05:30'",
    "timestamp '2026-01-15 UTC'",
    "timestamp '2026-01-15+05'",
    "select t > '2026-01-15 10:00:00 PST' as v from facts",
  ],
};
