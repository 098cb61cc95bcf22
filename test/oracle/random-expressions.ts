import fc, { type Arbitrary } from 'fast-check';

/** What an expression gives; `ints` and `texts` are arrays. */
export type ValueKind = 'int' | 'float' | 'text' | 'json' | 'bool' | 'time' | 'date' | 'ints' | 'texts';

/** The columns that expressions may name, by what they hold. */
export type ExpressionScope = Readonly<Record<ValueKind, readonly string[]>>;

export const noColumns: ExpressionScope = {
  int: [],
  float: [],
  text: [],
  json: [],
  bool: [],
  time: [],
  date: [],
  ints: [],
  texts: [],
};

const literals: ExpressionScope = {
  int: ['0', '1', '-1', '2', '7', '100', 'cast(null as int64)'],
  float: ['0.0', '1.5', '-2.5', '0.1', '1e3', 'cast(null as float64)'],
  text: ["''", "'a'", "'Abc'", "'héé'", "'a,b'", "' x '", "'12'", 'cast(null as string)'],
  json: [`'{"a": 7, "b": [1.50, null]}'`, "'no json'", 'cast(null as string)'],
  bool: ['true', 'false', 'cast(null as bool)'],
  time: [
    "timestamp '2026-01-15 10:00:00+00'",
    "timestamp '1969-12-31 23:59:59.5+00'",
    'cast(null as timestamp)',
  ],
  date: ["date '2026-01-15'", "date '2024-02-29'", 'cast(null as date)'],
  ints: ['[1, 2, 3]', '[5, null]', 'cast([] as array<int64>)'],
  texts: ["['a', 'b']", "['x', null, '']", 'cast([] as array<string>)'],
};

/** A hole `{kind}` takes any expression of that kind. Nothing here fails on its own: engines differ in when they look. */
const templates: ExpressionScope = {
  int: [
    '({int} + {int})',
    '({int} - {int})',
    '({int} * 3)',
    'div({int}, 4)',
    'mod({int}, 5)',
    'abs({int})',
    'sign({int})',
    '({int} & 6)',
    'length({text})',
    'byte_length({text})',
    "strpos({text}, 'a')",
    'safe_cast({text} as int64)',
    'cast({bool} as int64)',
    'array_length({ints})',
    'array_length({texts})',
    '{ints}[safe_offset(1)]',
    '{ints}[safe_ordinal({int})]',
    'extract(hour from {time})',
    'extract(dayofweek from {date})',
    'extract(week from {date})',
    'extract(isoweek from {time})',
    'extract(millisecond from {time})',
    'unix_millis({time})',
    'timestamp_diff({time}, {time}, minute)',
    'date_diff({date}, {date}, week)',
    'date_diff({date}, {date}, isoweek)',
    'date_diff({date}, {date}, month)',
    'if({bool}, {int}, {int})',
    'coalesce({int}, {int})',
    'nullif({int}, {int})',
    'case when {bool} then {int} when {bool} then {int} end',
    'case {int} when {int} then 1 else {int} end',
    'greatest({int}, {int})',
    'least({int}, {int}, {int})',
    '(select count(*) from unnest({ints}) x where x > 1)',
    '(select sum(x) from unnest({ints}) x)',
    "safe_cast(json_value({json}, '$.a') as int64)",
  ],
  float: [
    '({float} + {int})',
    '({float} - {float})',
    '({float} * 0.5)',
    '({int} / 4)',
    'safe_divide({float}, {float})',
    'round({float})',
    'round({float}, 2)',
    'floor({float})',
    'ceil({float})',
    'trunc({float})',
    'abs({float})',
    'cast({int} as float64)',
    'safe_cast({text} as float64)',
    'ifnull({float}, {int})',
    'if({bool}, {float}, {float})',
    '(select avg(x) from unnest({ints}) x)',
    'greatest({float}, {float})',
  ],
  text: [
    'concat({text}, {text})',
    "({text} || '-' || {text})",
    'upper({text})',
    'lower({text})',
    'trim({text})',
    'reverse({text})',
    'substr({text}, 2)',
    'substr({text}, -2, 1)',
    'left({text}, 2)',
    'right({text}, 1)',
    "lpad({text}, 4, '*')",
    "rpad({text}, 3, 'ab')",
    "replace({text}, 'a', 'é')",
    'repeat({text}, 2)',
    "regexp_extract({text}, r'[a-z]+')",
    "regexp_extract({text}, r'(\\w)\\w')",
    "regexp_replace({text}, r'[a-c]', '<\\\\0>')",
    "json_value({json}, '$.a')",
    "json_query({json}, '$.b')",
    "split({text}, ',')[safe_offset(0)]",
    '{texts}[safe_offset(0)]',
    "array_to_string({texts}, '+')",
    "array_to_string({texts}, '+', '?')",
    'cast({int} as string)',
    'cast({float} as string)',
    'cast({bool} as string)',
    'cast({time} as string)',
    'cast({date} as string)',
    "format_timestamp('%Y-%m-%d %H:%M:%E3S', {time})",
    "format_date('%a %d %b %j', {date})",
    'coalesce({text}, {text})',
    'ifnull({text}, {text})',
    'if({bool}, {text}, {text})',
    'case when {bool} then {text} else {text} end',
    'nullif({text}, {text})',
    "(select string_agg(x, '|' order by x) from unnest({texts}) x)",
    'to_hex(md5({text}))',
    'to_json_string({text})',
  ],
  json: ['if({bool}, {json}, {json})', 'coalesce({json}, {json})'],
  bool: [
    '({int} = {int})',
    '({int} < {int})',
    '({float} >= {int})',
    '({float} != {float})',
    '({text} < {text})',
    '({text} = {text})',
    '({time} > {time})',
    '({date} <= {date})',
    "({time} > '2026-01-15T10:00:00Z')",
    '({bool} and {bool})',
    '({bool} or {bool})',
    '(not {bool})',
    '({int} is null)',
    '({text} is not null)',
    '({bool} is true)',
    '({bool} is not false)',
    '({int} in ({int}, {int}, 7))',
    '({int} not in (1, {int}))',
    "({text} in ('a', {text}))",
    '({int} in unnest({ints}))',
    '({text} not in unnest({texts}))',
    '({int} between {int} and {int})',
    '({date} not between {date} and {date})',
    "({text} like '%a%')",
    "({text} like '_b%')",
    "starts_with({text}, 'a')",
    'ends_with({text}, {text})',
    "regexp_contains({text}, r'^[a-z]+$')",
    '({int} is distinct from {int})',
    'exists(select 1 from unnest({ints}) x where x > {int})',
    'exists(select 1 from unnest({texts}) x where x = {text})',
    '({int} in (select x from unnest({ints}) x))',
    '(select logical_or(x > 2) from unnest({ints}) x)',
  ],
  time: [
    'timestamp_trunc({time}, minute)',
    'timestamp_trunc({time}, day)',
    'timestamp_trunc({time}, week)',
    'timestamp_trunc({time}, month)',
    "timestamp_trunc({time}, day, 'America/New_York')",
    'timestamp_add({time}, interval 90 second)',
    'timestamp_sub({time}, interval 1 day)',
    'timestamp({date})',
    'coalesce({time}, {time})',
    'if({bool}, {time}, {time})',
    'timestamp_millis(unix_millis({time}))',
  ],
  date: [
    'date({time})',
    "date({time}, 'Asia/Tokyo')",
    'date_trunc({date}, month)',
    'date_trunc({date}, week)',
    'date_trunc({date}, isoweek)',
    'date_add({date}, interval 1 month)',
    'date_sub({date}, interval 3 day)',
    'last_day({date})',
    'greatest({date}, {date})',
    'if({bool}, {date}, {date})',
  ],
  ints: [
    'array_reverse({ints})',
    'array_concat({ints}, {ints})',
    '[{int}, {int}]',
    'array(select x + 1 from unnest({ints}) x order by x)',
    'array(select distinct x from unnest({ints}) x where x is not null order by x desc)',
    'array(select x from unnest({ints}) x with offset o where o > 0 order by o)',
    'generate_array(1, mod(abs({int}), 4))',
  ],
  texts: [
    "split({text}, ',')",
    "split({text}, '')",
    '[{text}, {text}]',
    'array_concat({texts}, {texts})',
    "regexp_extract_all({text}, r'[a-z]')",
    'array(select upper(x) from unnest({texts}) x order by x)',
  ],
};

const kinds: readonly ValueKind[] = ['int', 'float', 'text', 'json', 'bool', 'time', 'date', 'ints', 'texts'];

/** Expressions of every kind over a scope; columns come up as often as everything else. */
export function randomExpressions(scope: ExpressionScope): Readonly<Record<ValueKind, Arbitrary<string>>> {
  const built = fc.letrec(tie => {
    const rule = (kind: ValueKind): Arbitrary<string> => {
      const leaves = fc.constantFrom(...literals[kind]);
      const columns = scope[kind].length > 0 ? fc.constantFrom(...scope[kind]) : leaves;
      const calls = templates[kind].map(template => filled(template, hole => tie(hole)));
      return fc.oneof(
        { depthSize: 'small', maxDepth: 3, depthIdentifier: 'expression' },
        { arbitrary: columns, weight: 6 },
        { arbitrary: leaves, weight: 2 },
        { arbitrary: fc.oneof(...calls), weight: 8 },
      );
    };
    return Object.fromEntries(kinds.map(kind => [kind, rule(kind)]));
  });
  // `letrec` gives back the keys that it was given.
  return built as Readonly<Record<ValueKind, Arbitrary<string>>>;
}

/** A template with each hole filled by an expression of its own. */
function filled(template: string, expression: (kind: string) => Arbitrary<unknown>): Arbitrary<string> {
  const holes = [...template.matchAll(/\{(\w+)\}/g)].map(([, kind]) => expression(kind!));
  return fc.tuple(...holes).map(values => {
    const rest = [...values];
    return template.replace(/\{\w+\}/g, () => String(rest.shift()));
  });
}
