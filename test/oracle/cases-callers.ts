import type { WireValue } from './wire-values.ts';

/** What callers send, construct by construct, with its answer in the form of wire-values.ts. */
export const callerCases: readonly (readonly [sql: string, rows: readonly (readonly WireValue[])[]])[] = [
  [
    'select id, m.project, r.path from logs cross join unnest(metadata) as m cross join unnest(m.request) as r order by id',
    [
      ['a', 'p1', '/rest/v1/todos'],
      ['b', 'p1', '/auth/v1/token'],
      ['e', null, null],
    ],
  ],
  [
    'select id, m.project, r.path from logs t, unnest(t.metadata) m, unnest(m.request) r order by id',
    [
      ['a', 'p1', '/rest/v1/todos'],
      ['b', 'p1', '/auth/v1/token'],
      ['e', null, null],
    ],
  ],
  [
    'select id, r.method from logs t, t.metadata m, m.request r order by id',
    [
      ['a', 'GET'],
      ['b', 'POST'],
      ['e', 'GET'],
    ],
  ],
  [
    'select id, path from logs left join unnest(metadata) as m on true left join unnest(m.request) as r on true order by id',
    [
      ['a', '/rest/v1/todos'],
      ['b', '/auth/v1/token'],
      ['c', null],
      ['d', null],
      ['e', null],
    ],
  ],
  [
    'select id, path from logs left join unnest(metadata) as m left join unnest(m.request) as r order by id',
    [
      ['a', '/rest/v1/todos'],
      ['b', '/auth/v1/token'],
      ['c', null],
      ['d', null],
      ['e', null],
    ],
  ],
  [
    'select path, status_code from logs cross join unnest(metadata) as metadata cross join unnest(request) as request cross join unnest(response) as response where status_code >= 200 order by path',
    [
      ['/auth/v1/token', '503'],
      ['/rest/v1/todos', '200'],
    ],
  ],
  [
    "select id, r.path, o from logs left join unnest(metadata) m left join unnest(m.request) r with offset o on r.method = 'GET' order by id",
    [
      ['a', '/rest/v1/todos', '0'],
      ['b', null, null],
      ['c', null, null],
      ['d', null, null],
      ['e', null, '0'],
    ],
  ],
  [
    'select id, m.project from logs left join unnest(metadata) m on m.score > 1 order by id',
    [
      ['a', null],
      ['b', null],
      ['c', 'p2'],
      ['d', null],
      ['e', null],
    ],
  ],
  [
    'select timestamp_trunc(logs.timestamp, minute) as timestamp, count(id) as n from logs group by timestamp order by timestamp desc',
    [
      ['1768521600000000', '1'],
      ['1768474800000000', '1'],
      ['1768471260000000', '1'],
      ['1768471200000000', '2'],
    ],
  ],
  [
    'select timestamp_trunc(t.timestamp, HOUR) as timestamp, count(t.timestamp) as count, from logs t group by timestamp order by timestamp asc limit 2;',
    [
      ['1768471200000000', '3'],
      ['1768474800000000', '1'],
    ],
  ],
  [
    'select cast(timestamp as datetime) as timestamp, id from logs order by timestamp desc limit 2',
    [
      ['2026-01-16T00:00:00', 'e'],
      ['2026-01-15T11:00:00', 'd'],
    ],
  ],
  [
    'select cast(timestamp_trunc(timestamp, day) as string) as d, count(*) as n from logs group by d order by d',
    [
      ['2026-01-15 00:00:00+00', '4'],
      ['2026-01-16 00:00:00+00', '1'],
    ],
  ],
  [
    'select m.project, count(*) as n from logs cross join unnest(metadata) m group by m.project order by n desc, project',
    [
      ['p1', '2'],
      [null, '1'],
      ['p2', '1'],
    ],
  ],
  [String.raw`select id from logs where regexp_contains(event_message, r'\b[25]0\d\b') order by id`, [['a']]],
  ['select id from logs where regexp_contains(event_message, "GET|error") order by id', [['a'], ['b']]],
  ["select id from logs where event_message like '%GET%' and not (id in ('b', 'c')) order by id", [['a']]],
  [
    "select id from logs where timestamp between '2026-01-15 10:00:30' and '2026-01-15T10:01:00Z' order by id",
    [['b'], ['c']],
  ],
  [
    'select id from logs where timestamp > "2026-01-15" and event_message is not null order by id',
    [['a'], ['b'], ['d'], ['e']],
  ],
  [
    "select id from logs where logs.timestamp > '2026-01-15T10:30:00.000Z' and logs.timestamp <= '2026-01-16' order by id",
    [['d'], ['e']],
  ],
  [
    'select count(case when r.status_code >= 500 then 1 end) as bad, count(*) as n from logs, unnest(metadata) m, unnest(m.response) r',
    [['1', '3']],
  ],
  [
    'select countif(r.status_code >= 500) as bad, countif(null) as none, avg(r.origin_time) as a, round(avg(r.origin_time), 2) as b from logs, unnest(metadata) m, unnest(m.response) r',
    [['1', '0', '87.8333333333', '87.83']],
  ],
  ["select any_value(id) as id, count(*) as n from logs where id = 'a'", [['a', '1']]],
  [
    "select id, json_value(event_message, '$.level') as level, json_value(event_message, '$.n') as n, json_value(event_message, '$.deep.list[1]') as two from logs order by id",
    [
      ['a', null, null, null],
      ['b', 'error', '5', 'two'],
      ['c', null, null, null],
      ['d', null, null, null],
      ['e', null, null, null],
    ],
  ],
  [
    'select id, array_length(metadata) as n, metadata[safe_offset(0)].project as p, metadata[safe_offset(0)].request[safe_offset(0)].path as path from logs order by id',
    [
      ['a', '1', 'p1', '/rest/v1/todos'],
      ['b', '1', 'p1', '/auth/v1/token'],
      ['c', '1', 'p2', null],
      ['d', '0', null, null],
      ['e', '1', null, null],
    ],
  ],
  [
    'select id, metadata[offset(0)].score as s from logs where array_length(metadata) > 0 order by id',
    [
      ['a', '0.5'],
      ['b', null],
      ['c', '1.5'],
      ['e', '0.5'],
    ],
  ],
  [
    'select id, metadata[safe_offset(1)].score as s from logs order by id',
    [
      ['a', null],
      ['b', null],
      ['c', null],
      ['d', null],
      ['e', null],
    ],
  ],
  [
    "select id from logs l where exists (select 1 from unnest(l.metadata) m, unnest(m.request) r where r.method = 'GET') order by id",
    [['a'], ['e']],
  ],
  [
    'select id from logs l where exists (select 1 from unnest(l.metadata)) order by id',
    [['a'], ['b'], ['c'], ['e']],
  ],
  [
    'select id from logs l where not exists (select 1 from unnest(l.metadata) m where m.score is not null) order by id',
    [['b'], ['d']],
  ],
  [
    'select id, (select count(*) from unnest(l.metadata) m, unnest(m.request)) as n from logs l order by id',
    [
      ['a', '1'],
      ['b', '1'],
      ['c', '0'],
      ['d', '0'],
      ['e', '1'],
    ],
  ],
  [
    'select id, array(select r.path from unnest(l.metadata) m, unnest(m.request) r) as p from logs l order by id',
    [
      ['a', ['/rest/v1/todos']],
      ['b', ['/auth/v1/token']],
      ['c', []],
      ['d', []],
      ['e', [null]],
    ],
  ],
  [
    'select array_agg(struct(id as x, timestamp as t) order by id desc limit 2) as l from logs',
    [
      [
        [
          ['e', '1768521600000000'],
          ['d', '1768474800000000'],
        ],
      ],
    ],
  ],
  [
    'select id, m from logs, unnest(metadata) m order by id',
    [
      ['a', ['p1', '0.5', [['GET', '/rest/v1/todos', '10']], [['200', '12.5']]]],
      ['b', ['p1', null, [['POST', '/auth/v1/token', null]], [['503', '250']]]],
      ['c', ['p2', '1.5', [], [[null, '1']]]],
      ['e', [null, '0.5', [['GET', null, '30']], []]],
    ],
  ],
  [
    'select id, m.request from logs, unnest(metadata) m order by id',
    [
      ['a', [['GET', '/rest/v1/todos', '10']]],
      ['b', [['POST', '/auth/v1/token', null]]],
      ['c', []],
      ['e', [['GET', null, '30']]],
    ],
  ],
  [
    'select id, request, response from logs, unnest(metadata) m order by id',
    [
      ['a', [['GET', '/rest/v1/todos', '10']], [['200', '12.5']]],
      ['b', [['POST', '/auth/v1/token', null]], [['503', '250']]],
      ['c', [], [[null, '1']]],
      ['e', [['GET', null, '30']], []],
    ],
  ],
  [
    'select * from logs order by timestamp',
    [
      [
        '1768471200000001',
        'a',
        'GET | 200 | /rest/v1/todos',
        [['p1', '0.5', [['GET', '/rest/v1/todos', '10']], [['200', '12.5']]]],
      ],
      [
        '1768471230000000',
        'b',
        '{"level": "error", "n": 5, "deep": {"list": [1, "two", null]}}',
        [['p1', null, [['POST', '/auth/v1/token', null]], [['503', '250']]]],
      ],
      ['1768471260000000', 'c', null, [['p2', '1.5', [], [[null, '1']]]]],
      ['1768474800000000', 'd', 'no metadata', []],
      ['1768521600000000', 'e', '', [[null, '0.5', [['GET', null, '30']], []]]],
    ],
  ],
  [
    'select l.* except (metadata), m.* except (request, response) from logs l, unnest(l.metadata) m order by id',
    [
      ['1768471200000001', 'a', 'GET | 200 | /rest/v1/todos', 'p1', '0.5'],
      ['1768471230000000', 'b', '{"level": "error", "n": 5, "deep": {"list": [1, "two", null]}}', 'p1', null],
      ['1768471260000000', 'c', null, 'p2', '1.5'],
      ['1768521600000000', 'e', '', null, '0.5'],
    ],
  ],
  [
    'select id, coalesce(metadata, []) as m from logs order by id',
    [
      ['a', [['p1', '0.5', [['GET', '/rest/v1/todos', '10']], [['200', '12.5']]]]],
      ['b', [['p1', null, [['POST', '/auth/v1/token', null]], [['503', '250']]]]],
      ['c', [['p2', '1.5', [], [[null, '1']]]]],
      ['d', []],
      ['e', [[null, '0.5', [['GET', null, '30']], []]]],
    ],
  ],
  [
    'select id, x.project from logs left join unnest(coalesce(metadata, [])) x on true order by id',
    [
      ['a', 'p1'],
      ['b', 'p1'],
      ['c', 'p2'],
      ['d', null],
      ['e', null],
    ],
  ],
  [
    "select id from logs where timestamp > timestamp_sub(timestamp '2026-01-15 12:00:00+00', interval 2 hour) order by id",
    [['a'], ['b'], ['c'], ['d'], ['e']],
  ],
  [
    "with e as (select id, timestamp, null as x from logs) select id, null as x, null as y from e where id = 'a' union all select id, null, null from e where id = 'b' union all select 'z', 'w', 5 order by id",
    [
      ['a', null, null],
      ['b', null, null],
      ['z', 'w', '5'],
    ],
  ],
  [
    'select a.id, b.n from logs a left join (select id, count(*) as n from logs, unnest(metadata) group by id) b on a.id = b.id order by a.id',
    [
      ['a', '1'],
      ['b', '1'],
      ['c', '1'],
      ['d', null],
      ['e', '1'],
    ],
  ],
  [
    'select a.id, m.project from logs a left join (logs b cross join unnest(b.metadata) m) on a.id = b.id order by a.id',
    [
      ['a', 'p1'],
      ['b', 'p1'],
      ['c', 'p2'],
      ['d', null],
      ['e', null],
    ],
  ],
  [
    "select id, safe_cast(json_value(event_message, '$.n') as int64) as n, starts_with(event_message, 'GET') as g, strpos(event_message, '|') as p, lower(event_message) as l from logs order by id",
    [
      ['a', null, true, '5', 'get | 200 | /rest/v1/todos'],
      ['b', '5', false, '0', '{"level": "error", "n": 5, "deep": {"list": [1, "two", null]}}'],
      ['c', null, null, null, null],
      ['d', null, false, '0', 'no metadata'],
      ['e', null, false, '0', ''],
    ],
  ],
  [
    "select concat(id, '-', ifnull(event_message, 'none')) as x, unix_millis(timestamp) as ms from logs order by x",
    [
      ['a-GET | 200 | /rest/v1/todos', '1768471200000'],
      ['b-{"level": "error", "n": 5, "deep": {"list": [1, "two", null]}}', '1768471230000'],
      ['c-none', '1768471260000'],
      ['d-no metadata', '1768474800000'],
      ['e-', '1768521600000'],
    ],
  ],
  ['select count(*) from logs', [['5']]],
  [
    'select id, safe_divide(r.origin_time, r.status_code) as q from logs, unnest(metadata) m, unnest(m.response) r order by id',
    [
      ['a', '0.0625'],
      ['b', '0.497017892644'],
      ['c', null],
    ],
  ],
  [
    "select nullif(m.project, 'p1') as p, count(*) as n from logs, unnest(metadata) m group by 1 order by 1",
    [
      [null, '3'],
      ['p2', '1'],
    ],
  ],
  [
    'select m.project, r.method, count(*) as n from logs, unnest(metadata) m, unnest(m.request) r group by 1, 2 order by 1, 2',
    [
      [null, 'GET', '1'],
      ['p1', 'GET', '1'],
      ['p1', 'POST', '1'],
    ],
  ],
  [
    String.raw`select id, split(r.path, '/')[safe_offset(1)] as area, regexp_extract(r.path, r'^/(\w+)/') as e, regexp_replace(r.path, r'v(\d)', r'<\1>') as x from logs, unnest(metadata) m, unnest(m.request) r order by id`,
    [
      ['a', 'rest', 'rest', '/rest/<1>/todos'],
      ['b', 'auth', 'auth', '/auth/<1>/token'],
      ['e', null, null, null],
    ],
  ],
  [
    'select id, div(cast(origin_time as int64), 10) as d, unix_micros(timestamp) as us from logs, unnest(metadata) m, unnest(m.response) r order by id',
    [
      ['a', '1', '1768471200000001'],
      ['b', '25', '1768471230000000'],
      ['c', '0', '1768471260000000'],
    ],
  ],
  [
    "select id from logs where id in (select distinct id from logs, unnest(metadata) m where m.project = 'p1') order by id",
    [['a'], ['b']],
  ],
  [
    'select id, row_number() over (partition by m.project order by timestamp desc) as rn from logs, unnest(metadata) m qualify rn = 1 order by id',
    [
      ['b', '1'],
      ['c', '1'],
      ['e', '1'],
    ],
  ],
  ['select `logs`.`id` from `logs` order by `id` limit 1 -- the last line', [['a']]],
  [
    "select format_timestamp('%Y-%m-%dT%H:%M:%E3SZ', timestamp) as f, extract(hour from timestamp) as h, date(timestamp) as d from logs order by timestamp",
    [
      ['2026-01-15T10:00:00.000Z', '10', '2026-01-15'],
      ['2026-01-15T10:00:30.000Z', '10', '2026-01-15'],
      ['2026-01-15T10:01:00.000Z', '10', '2026-01-15'],
      ['2026-01-15T11:00:00.000Z', '11', '2026-01-15'],
      ['2026-01-16T00:00:00.000Z', '0', '2026-01-16'],
    ],
  ],
  [
    "select t, count(l.id) as n from unnest(generate_timestamp_array(timestamp '2026-01-15 10:00:00+00', timestamp '2026-01-15 10:02:00+00', interval 1 minute)) t left join logs l on timestamp_trunc(l.timestamp, minute) = t group by t order by t",
    [
      ['1768471200000000', '2'],
      ['1768471260000000', '1'],
      ['1768471320000000', '0'],
    ],
  ],
  [
    "select timestamp_diff(max(timestamp), min(timestamp), second) as s, string_agg(id, ',' order by id) as ids, if(count(*) > 3, 'many', 'few') as c from logs",
    [['50399', 'a,b,c,d,e', 'many']],
  ],
  [
    'select project, count(*) from logs, unnest(metadata) group by project having count(*) > 1',
    [['p1', '2']],
  ],
  ['select id from logs order by timestamp desc, id limit 2', [['e'], ['d']]],
  [
    'select max(score) as m, min(score) as n, sum(score) as s from logs, unnest(metadata)',
    [['1.5', '0.5', '2.5']],
  ],
  [
    'select distinct project from logs cross join unnest(metadata) order by project',
    [[null], ['p1'], ['p2']],
  ],
  [
    "select m.project, (select count(*) from lists l where concat('p', cast(l.id as string)) = m.project) as n from logs t, unnest(t.metadata) m group by m.project order by 1",
    [
      [null, '0'],
      ['p1', '1'],
      ['p2', '1'],
    ],
  ],
  [
    'select r.path, (select max(l.id) from lists l where l.id < length(r.path)) as n from logs t, unnest(t.metadata) m, unnest(m.request) r where m.score is not null group by r.path order by 1',
    [
      [null, null],
      ['/rest/v1/todos', '4'],
    ],
  ],
  [
    "select m.project from logs t left join unnest(t.metadata) m group by m.project having exists (select 1 from facts f where concat('p', cast(f.id as string)) = m.project) order by (select -max(f.id) from facts f where concat('p', cast(f.id as string)) = m.project)",
    [['p2'], ['p1']],
  ],
];
