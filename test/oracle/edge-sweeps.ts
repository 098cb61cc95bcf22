import type { FunctionRow } from '../../src/googlesql/functions/function-row.ts';
import { type SqlType, typeName } from '../../src/googlesql/tree/types.ts';

/** Values at the edges of each type, NULL among them, as GoogleSQL writes them. */
const edges: Readonly<Record<string, readonly string[]>> = {
  INT64: ['1', '0', '-1', '3', '9223372036854775807', '-9223372036854775808', 'cast(null as int64)'],
  FLOAT64: [
    ...['1.5', '0.0', '-0.0', '-2.5', '1e308', '-1e308', '5e-324', "cast('inf' as float64)"],
    ...["cast('-inf' as float64)", "cast('nan' as float64)", 'cast(null as float64)'],
  ],
  NUMERIC: [
    ...["numeric '1.5'", "numeric '0'", "numeric '-0.000000001'", 'cast(null as numeric)'],
    ...[
      "numeric '99999999999999999999999999999.999999999'",
      "numeric '-99999999999999999999999999999.999999999'",
    ],
  ],
  STRING: [
    ...[
      "'abc'",
      "''",
      "' Ab '",
      "'😀x'",
      "'é'",
      String.raw`'e\u0301'`,
      String.raw`'\n'`,
      "'12'",
      "'YWI'",
      "'%_'",
    ],
    'cast(null as string)',
  ],
  BYTES: ["b'abc'", "b''", String.raw`b'\xff\x00'`, 'cast(null as bytes)'],
  BOOL: ['true', 'false', 'cast(null as bool)'],
  TIMESTAMP: [
    ...["timestamp '2026-01-15 10:00:00.5+00'", "timestamp '0001-01-01 00:00:00+00'"],
    ...["timestamp '9999-12-31 23:59:59.999999+00'", "timestamp '1969-12-31 23:59:59.999999+00'"],
    'cast(null as timestamp)',
  ],
  DATETIME: [
    ...["datetime '2026-01-15 10:00:00.5'", "datetime '0001-01-01 00:00:00'"],
    ...["datetime '9999-12-31 23:59:59.999999'", 'cast(null as datetime)'],
  ],
  DATE: [
    ...[
      "date '2026-01-15'",
      "date '0001-01-01'",
      "date '9999-12-31'",
      "date '1970-01-01'",
      "date '2024-02-29'",
    ],
    'cast(null as date)',
  ],
  TIME: ["time '10:00:00.5'", "time '00:00:00'", "time '23:59:59.999999'", 'cast(null as time)'],
  JSON: [
    ...[`json '{"a": 1}'`, "json 'null'", "json '1'", `json '"a"'`, "json 'true'", "json '[]'", "json '1.5'"],
    'cast(null as json)',
  ],
  'ARRAY<INT64>': ['[1, 2]', '[3, null]', 'cast([] as array<int64>)', 'cast(null as array<int64>)'],
  'RANGE<DATE>': [
    "range<date> '[2026-01-01, 2026-02-01)'",
    "range<date> '[0001-01-01, 9999-12-31)'",
    "range<date> '[unbounded, 2026-01-02)'",
    "range<date> '[2026-01-31, unbounded)'",
    'cast(null as range<date>)',
  ],
  'RANGE<DATETIME>': [
    "range<datetime> '[2026-01-01 00:00:00, 2026-02-01 00:00:00.5)'",
    "range<datetime> '[unbounded, 2026-01-02 00:00:00)'",
    'cast(null as range<datetime>)',
  ],
  'RANGE<TIMESTAMP>': [
    "range<timestamp> '[2026-01-01 00:00:00+00, 2026-02-01 00:00:00.5+00)'",
    "range<timestamp> '[2026-01-31 00:00:00+00, unbounded)'",
    'cast(null as range<timestamp>)',
  ],
  'ARRAY<BYTES>': ["[b'a', b'b']", "[b'', null]", 'cast(null as array<bytes>)'],
  'ARRAY<FLOAT64>': ['[1.5, 2.5]', "[cast('nan' as float64), null]", 'cast(null as array<float64>)'],
  'ARRAY<STRING>': ["['a', 'b']", "['', null]", 'cast([] as array<string>)', 'cast(null as array<string>)'],
};

/** The edges of a type, NULL the last; undefined where it has none. */
export const edgesOf = (type: string): readonly string[] | undefined => edges[type];

/** What a type variable stands for in a sweep. */
const variableKinds = ['FLOAT64', 'STRING'];

/** One function with the types of its arguments: `f(STRING, INT64)`. */
export type Signature = { readonly name: string; readonly parameters: readonly string[] };

/** The signatures of a row of the allow-list, its type variables filled in. */
export function signaturesOf({ name, parameters, variadic }: FunctionRow): readonly Signature[] {
  const kinds = parameters.some(({ kind }) => kind !== 'exact') ? variableKinds : [''];
  return kinds.map(variable => {
    const types = parameters.map(parameter => {
      if (parameter.kind === 'exact') return typeName(parameter.type as SqlType);
      return parameter.kind === 'variable' ? variable : `ARRAY<${variable}>`;
    });
    const last = types.at(-1);
    return { name, parameters: variadic && last !== undefined ? [...types, last] : types };
  });
}

/** A call with the edges of each of its arguments: one statement for all of them, and each call by itself. */
export type Sweep = { readonly template: string; readonly sql: string; readonly calls: readonly string[] };

/**
 * For each argument of a call all edges of its type, the other arguments as they are: an array for each, NULL where the call fails.
 * @param template the call, a hole `{TYPE}` for each argument
 * @returns undefined where a type has no edges
 */
export function sweepOf(template: string): Sweep | undefined {
  const holes = [...template.matchAll(/\{([\w<>]+)\}/g)].map(([, type]) => type!);
  if (holes.length === 0 || holes.some(type => !Object.hasOwn(edges, type))) return undefined;
  const usual = holes.map(type => edges[type]![0]!);
  const arrays = holes.map((type, at) => {
    const rows = edges[type]!.map(value => `struct(${value} as z)`).join(', ');
    const call = filled(template, usual.with(at, 'z'));
    return `array(select as struct ${guarded(call)} as v from unnest([${rows}]) with offset o order by o) as c${at}`;
  });
  const calls = holes.flatMap((type, at) =>
    edges[type]!.map(value => filled(template, usual.with(at, value))),
  );
  return { template, sql: `select ${arrays.join(', ')}`, calls };
}

/** A call that gives NULL where it would fail; an operator stays as it is. */
export function guarded(call: string): string {
  if (call.startsWith('cast(')) return `safe_${call}`;
  return call.startsWith('(') ? call : `safe.${call}`;
}

/** A call with a usual value for each hole; undefined where a type has none. */
export function filledWithUsual(template: string): string | undefined {
  const holes = [...template.matchAll(/\{([\w<>]+)\}/g)].map(([, type]) => type!);
  if (holes.some(type => !Object.hasOwn(edges, type))) return undefined;
  return filled(
    template,
    holes.map(type => edges[type]![0]!),
  );
}

function filled(template: string, values: readonly string[]): string {
  const rest = [...values];
  return template.replace(/\{[\w<>]+\}/g, () => rest.shift()!);
}

/** The template of a signature: `f({STRING}, {INT64})`. */
export const templateOf = ({ name, parameters }: Signature): string =>
  `${name}(${parameters.map(type => `{${type}}`).join(', ')})`;

/** Signatures without a sweep, and why. */
export const notSwept: readonly (readonly [template: RegExp, reason: string])[] = [
  [/^(?:RAND|GENERATE_UUID|CURRENT_\w+)\(/, 'has no answer that two engines share'],
  [/INTERVAL/, 'the reference has no INTERVAL'],
  [/^(?:GENERATE_RANGE_ARRAY|MAKE_INTERVAL)\(/, 'the reference has no INTERVAL'],
  [
    /^(?:JSON_KEYS|EDIT_DISTANCE|REGEXP_SUBSTR|(?:DATE|DATETIME|TIMESTAMP)_BUCKET)\(/,
    'the reference lacks it',
  ],
];

/** Calls of functions that take a date part, a format, a pattern or a path as a constant. */
export const specialTemplates: readonly string[] = [
  'typeof({INT64})',
  'typeof({ARRAY<FLOAT64>})',
  'range_start(range({DATE}, null))',
  'range_end(range({DATETIME}, {DATETIME}))',
  'range_start(range_intersect({RANGE<DATE>}, {RANGE<DATE>}))',
  '({RANGE<DATE>} < {RANGE<DATE>})',
  'timestamp_trunc({TIMESTAMP}, day)',
  'timestamp_trunc({TIMESTAMP}, week)',
  'timestamp_trunc({TIMESTAMP}, isoyear)',
  "timestamp_trunc({TIMESTAMP}, hour, 'America/New_York')",
  'datetime_trunc({DATETIME}, week)',
  'date_trunc({DATE}, week(monday))',
  'date_trunc({DATE}, quarter)',
  'timestamp_add({TIMESTAMP}, interval {INT64} microsecond)',
  'timestamp_add({TIMESTAMP}, interval {INT64} day)',
  'timestamp_sub({TIMESTAMP}, interval {INT64} hour)',
  'datetime_add({DATETIME}, interval {INT64} month)',
  'datetime_sub({DATETIME}, interval {INT64} second)',
  'date_add({DATE}, interval {INT64} day)',
  'date_sub({DATE}, interval {INT64} month)',
  'date_add({DATE}, interval {INT64} year)',
  'date_add({DATE}, interval {INT64} week)',
  'timestamp_diff({TIMESTAMP}, {TIMESTAMP}, microsecond)',
  'timestamp_diff({TIMESTAMP}, {TIMESTAMP}, day)',
  'datetime_diff({DATETIME}, {DATETIME}, month)',
  'datetime_diff({DATETIME}, {DATETIME}, microsecond)',
  'date_diff({DATE}, {DATE}, day)',
  'date_diff({DATE}, {DATE}, week)',
  'date_diff({DATE}, {DATE}, year)',
  "format_timestamp('%Y-%m-%d %H:%M:%E6S', {TIMESTAMP})",
  "format_datetime('%F %T', {DATETIME})",
  "format_date('%D %e %G %V', {DATE})",
  "parse_timestamp('%F %T', {STRING})",
  "parse_date('%F', {STRING})",
  "parse_datetime('%F', {STRING})",
  'timestamp({STRING})',
  'timestamp({DATE})',
  'timestamp({DATETIME})',
  "timestamp({DATETIME}, 'America/New_York')",
  'datetime({TIMESTAMP})',
  "datetime({TIMESTAMP}, 'Asia/Tokyo')",
  'datetime({DATE})',
  'date({TIMESTAMP})',
  "date({TIMESTAMP}, 'America/New_York')",
  'date({DATETIME})',
  'time({TIMESTAMP})',
  'time({DATETIME})',
  'string({TIMESTAMP})',
  "json_value({STRING}, '$.a')",
  "json_value({JSON}, '$.a')",
  "json_query({JSON}, '$.a')",
  "json_query({STRING}, '$')",
  'json_query_array({STRING})',
  'json_value_array({JSON})',
  'json_value_array({STRING})',
  'to_json_string({STRING})',
  'to_json_string({INT64})',
  'to_json_string({JSON})',
  'regexp_contains({STRING}, {STRING})',
  "regexp_contains({STRING}, 'a|^b$')",
  "regexp_extract({STRING}, '(b)?')",
  "regexp_extract_all({STRING}, '.')",
  "regexp_replace({STRING}, 'b*', 'x')",
  'array_length({ARRAY<INT64>})',
  "format_time('%H:%M:%E*S', {TIME})",
  "parse_time('%T', {STRING})",
  'time_add({TIME}, interval {INT64} minute)',
  'time_sub({TIME}, interval {INT64} microsecond)',
  'time_diff({TIME}, {TIME}, microsecond)',
  'time_trunc({TIME}, hour)',
  'last_day({DATE}, quarter)',
  'last_day({DATETIME})',
  'concat({STRING}, {STRING}, {STRING})',
  'concat({BYTES}, {BYTES})',
  'concat({STRING}, {INT64}, {FLOAT64})',
  "json_extract({STRING}, '$.a')",
  "json_extract({JSON}, '$.a')",
  "json_extract_scalar({STRING}, '$.a')",
  'json_extract_array({STRING})',
  'json_extract_string_array({JSON})',
  'string({JSON})',
  'float64({JSON})',
  "float64({JSON}, wide_number_mode => 'round')",
  'int64({JSON})',
  'bool({JSON})',
  'parse_json({STRING})',
  'to_json({STRING})',
  'to_json({FLOAT64})',
  'to_json({NUMERIC})',
  'to_json({TIMESTAMP})',
  'to_json({ARRAY<INT64>})',
  'to_json({JSON})',
  'to_json({INT64}, stringify_wide_numbers => {BOOL})',
  'to_json_string({FLOAT64})',
  'to_json_string({NUMERIC})',
  'to_json_string({BYTES})',
  'to_json_string({TIME})',
  'to_json_string({DATETIME})',
  'to_json_string({TIMESTAMP})',
  'json_array({INT64}, {STRING}, {JSON})',
  "json_object('a', {FLOAT64}, 'b', {ARRAY<STRING>})",
  'json_object({ARRAY<STRING>}, {ARRAY<STRING>})',
  "json_set({JSON}, '$.a', {STRING})",
  "json_set({JSON}, '$[1]', {INT64})",
  "json_remove({JSON}, '$.a')",
  "json_array_append({JSON}, '$', {BOOL})",
  "json_array_insert({JSON}, '$[0]', {STRING})",
  'json_strip_nulls({JSON})',
  "format('%d|%x|%o|%5d|%-5d|%05d|%+d', {INT64}, {INT64}, {INT64}, {INT64}, {INT64}, {INT64}, {INT64})",
  "format('%f', {FLOAT64})",
  "format('%10.3e|%g|%G', {FLOAT64}, {FLOAT64}, {FLOAT64})",
  "format('%s|%10s|%-4s|%.2s', {STRING}, {STRING}, {STRING}, {STRING})",
  "format('%t|%T', {STRING}, {STRING})",
  "format('%t|%T', {BYTES}, {BYTES})",
  "format('%t|%T', {FLOAT64}, {FLOAT64})",
  "format('%t|%T', {NUMERIC}, {NUMERIC})",
  "format('%t|%T', {TIMESTAMP}, {DATETIME})",
  "format('%t|%T', {DATE}, {TIME})",
  "format('%t|%T', {ARRAY<STRING>}, {ARRAY<FLOAT64>})",
  "format('%p|%T', {JSON}, {JSON})",
  "format('%f|%d', {NUMERIC}, {INT64})",
  'normalize({STRING}, NFC)',
  'normalize({STRING}, NFKD)',
  'normalize_and_casefold({STRING}, NFC)',
  "regexp_extract({STRING}, 'b', {INT64}, {INT64})",
  "regexp_instr({STRING}, 'b', {INT64})",
  "cast({TIMESTAMP} as string format 'YYYY-MM-DD HH24:MI:SS.FF6')",
  "cast({DATE} as string format 'DAY, DD MONTH YYYY')",
  "cast({INT64} as string format '999,999S')",
  "cast({FLOAT64} as string format '9.99EEEE')",
  "cast({NUMERIC} as string format 'FM999990.000')",
  "cast({BYTES} as string format 'base64')",
  "cast({STRING} as bytes format 'hex')",
  "cast({STRING} as date format 'YYYY-MM-DD')",
  'cast({FLOAT64} as int64)',
  'cast({FLOAT64} as numeric)',
  'cast({NUMERIC} as int64)',
  'cast({STRING} as int64)',
  'cast({STRING} as float64)',
  'cast({STRING} as bool)',
  'cast({BYTES} as string)',
  'cast({TIMESTAMP} as string)',
  'cast({DATETIME} as timestamp)',
  'cast({TIMESTAMP} as datetime)',
  'cast({FLOAT64} as string)',
  'cast({STRING} as timestamp)',
  "array_to_string({ARRAY<STRING>}, ',', 'n')",
  'array_reverse({ARRAY<FLOAT64>})',
];
