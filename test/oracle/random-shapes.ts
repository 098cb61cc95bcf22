import fc, { type Arbitrary } from 'fast-check';
import { filled, randomExpressions, stableMean } from './random-expressions.ts';
import { spelled } from './spellings.ts';
import type { ValueKind } from './value-kinds.ts';

type Expressions = ReturnType<typeof randomExpressions>;

/** What a query reads: FROM, expressions over it, and a condition. */
export type ShapeInput = {
  readonly from: string;
  readonly expressions: Expressions;
  /** Over an INT64 `x`, a STRING `y` and what `from` has. */
  readonly inner: Expressions;
  readonly where: Arbitrary<string | undefined>;
};

const clause = (condition: string | undefined): string => (condition ? ` where ${condition}` : '');

/** Queries with columns `c0` (INT64), `c1` (STRING) and `c2` (BOOL). */
function threeColumns({ from, expressions: { int, text, bool }, where }: ShapeInput): Arbitrary<string> {
  return fc
    .tuple(int, text, bool, where)
    .map(
      ([a, b, c, condition]) => `select ${a} as c0, ${b} as c1, ${c} as c2 from ${from}${clause(condition)}`,
    );
}

/** Every shape of this file. */
export function randomShapes(input: ShapeInput): readonly Arbitrary<string>[] {
  return [
    subsets(input),
    recursive(input),
    unpivoted(input),
    setOperations(input),
    groupingSets(input),
    groupedAll(input),
    aggregated(input),
    framed(input),
    piped(input),
    nested(input),
    groupedWindows(input),
    shadowed(input),
  ];
}

const overSubset = [
  'select * except (c1) from w',
  'select * replace (coalesce(c0, 0) as c0) from w',
  'select a.c0, b.c1 from w a join w b on a.c0 = b.c0',
  'select w.*, count(*) over (partition by c0) as n from w',
  'select c0 from w where c0 in (select c0 from w where c2)',
  'select c0 from w where c0 = (select max(c0) from w)',
  `select c1, array_agg(c0 ignore nulls order by c0 limit 3) as l from w group by ${spelled('all', 'c1')}`,
  'select count(*) as n, count(distinct c1) as m from w having count(*) > 0',
  'select x.c0, x.c1 from (select *, row_number() over (partition by c1 order by c0) as r from w) x where r = 1',
  'select c0, c2 from w qualify dense_rank() over (order by c0 desc) <= 2',
  'select c2, max(n) as n from (select c1, c2, count(*) as n from w group by 1, c2) group by c2 having max(n) > 0',
  'select c1 from w order by c1 desc nulls last limit 2 offset 1',
  'select distinct c0, c2 from w',
  'select (select count(*) from w v where v.c0 = w.c0) as n, exists(select 1 from w v where v.c1 > w.c1) as m from w',
  'select w.c0, l.words from w left join (lists l join facts f using (id)) on l.id = w.c0',
  'select * from w cross join unnest([c0, c0 + 1]) as x with offset o where x > o',
  'with v as (select c1 from w where c2) select count(*) as n from v',
  spelled(
    'select hll_count.merge(s) as n from (select c2, hll_count.init(c1) as s from w group by c2)',
    'select count(distinct c1) as n from w',
  ),
  spelled(
    'select hll_count.extract(hll_count.merge_partial(s)) as n from (select c2, hll_count.init(c0) as s from w group by c2)',
    'select count(distinct c0) as n from w',
  ),
];

/** WITH, and what is asked of a subset. */
function subsets(input: ShapeInput): Arbitrary<string> {
  return fc
    .tuple(threeColumns(input), fc.constantFrom(...overSubset))
    .map(([query, asked]) => `with w as (${query}) ${asked}`);
}

function recursive({ from, expressions: { int, bool }, where }: ShapeInput): Arbitrary<string> {
  return fc
    .tuple(int, bool, where, fc.constantFrom('n + depth', 'n * 2', 'div(n, 2)', 'depth'))
    .map(
      ([start, flag, condition, step]) =>
        `with recursive r as (select mod(${start}, 10) as n, 0 as depth, ${flag} as b from ${from}${clause(condition)} union all select ${step}, depth + 1, not b from r where depth < 3 and n is not null) select n, depth, count(*) as c, countif(b) as t from r group by n, depth`,
    );
}

function unpivoted({ from, expressions, where }: ShapeInput): Arbitrary<string> {
  const kind = fc.constantFrom<ValueKind>('int', 'float', 'text', 'date', 'bool');
  return kind.chain(of =>
    fc
      .tuple(
        expressions.int,
        expressions[of],
        expressions[of],
        where,
        fc.constantFrom('', 'include nulls ', 'exclude nulls '),
      )
      .map(
        ([key, a, b, condition, nulls]) =>
          `select * from (select ${key} as g, if(true, ${a}, null) as a, if(true, ${b}, null) as b from ${from}${clause(condition)}) unpivot ${nulls}(v for k in (a, b as 'second'))`,
      ),
  );
}

/** Set operations with duplicates, of three queries, and by names. */
function setOperations({ from, expressions: { int, text }, where }: ShapeInput): Arbitrary<string> {
  const operators = ['intersect all', 'except all', 'union all', 'union distinct', 'intersect distinct'];
  const rows = fc.tuple(int, text, where);
  return fc
    .tuple(rows, rows, rows, fc.constantFrom(...operators), fc.integer({ min: 0, max: 3 }))
    .map(([[a, b, c], [d, e, f], [g, h, i], operator, form]) => {
      const first = `select mod(${a}, 3) as c0, left(${b}, 1) as c1 from ${from}${clause(c)}`;
      const second = `select mod(${d}, 3) as c0, left(${e}, 1) as c1 from ${from}${clause(f)}`;
      const swapped = `select left(${h}, 1) as c1, mod(${g}, 3) as c0 from ${from}${clause(i)}`;
      const third = `select c0, c1 from (${swapped})`;
      if (form === 0) return `(${first} ${operator} ${second}) except distinct (${third})`;
      if (form === 1) return `${first} union all corresponding ${swapped}`;
      if (form === 2) return `${first} ${spelled(`union all by name ${swapped}`, `union all ${third}`)}`;
      const alone = `select left(${h}, 1) as c1 from ${from}${clause(i)}`;
      return spelled(
        `select c0 from (${first}) full union all by name ${alone}`,
        `select c0, cast(null as string) as c1 from (${first}) union all select null, c1 from (${alone})`,
      );
    });
}

/** What GROUP BY says of the keys `x` and `y`, and the sets of keys that it stands for. */
const groupings: readonly (readonly [string, readonly string[]])[] = [
  ['rollup(x, y)', ['x, y', 'x', '']],
  ['cube(x, y)', ['x, y', 'x', 'y', '']],
  ['grouping sets (x, y, ())', ['x', 'y', '']],
  ['grouping sets ((x, y), rollup(y))', ['x, y', 'y', '']],
];

/** The reference runs no grouping sets: for it each set is a query of its own. */
function groupingSets({
  from,
  expressions: { int, text, bool, date },
  where,
}: ShapeInput): Arbitrary<string> {
  return fc
    .tuple(fc.oneof(text, bool), fc.oneof(int, date), int, where, fc.constantFrom(...groupings))
    .map(([x, y, e, condition, [grouping, sets]]) => {
      const rows = `(select ${x} as x, ${y} as y, ${e} as e from ${from}${clause(condition)})`;
      const shown = (set: string) =>
        [...'xy']
          .map(key => `${set.includes(key) ? key : `if(true, null, any_value(${key}))`} as ${key}`)
          .join(', ');
      const apart = sets.map(
        set =>
          `select ${shown(set)}, count(*) as n, max(e) as m, ${set.includes('x') ? 0 : 1} as g from ${rows}${set && ` group by ${set}`}`,
      );
      return spelled(
        `select x, y, count(*) as n, max(e) as m, grouping(x) as g from ${rows} group by ${grouping}`,
        apart.join(' union all '),
      );
    });
}

/** GROUP BY ALL, with arrays among the keys. */
function groupedAll({
  from,
  expressions: { int, text, bytes, datetime, numeric },
  where,
}: ShapeInput): Arbitrary<string> {
  return fc
    .tuple(fc.oneof(text, bytes, datetime, numeric), int, int, where)
    .map(
      ([key, element, value, condition]) =>
        `select k, [e] as l, count(*) as n, min(v) as m from (select ${key} as k, ${element} as e, ${value} as v from ${from}${clause(condition)}) group by ${spelled('all', 'k, l')}`,
    );
}

/** Aggregates, whose answers depend on no order of rows. */
const aggregates = [
  spelled("max_by(concat('v', cast({int} as string)), {1})", "any_value(concat('v', cast({1} as string)) having max {1})"),
  spelled("min_by(concat('v', {text}), {1})", "any_value(concat('v', {1}) having min {1})"),
  spelled('approx_count_distinct({text})', 'count(distinct {1})'),
  spelled('approx_quantiles({int}, 2)[offset(0)]', 'min({1})'),
  spelled('approx_quantiles({float}, 4)[offset(4)]', 'max({1})'),
  spelled('array_length(approx_top_count({text}, 100))', 'nullif(count(distinct {1}) + if(countif({1} is null) > 0, 1, 0), 0)'),
  spelled('array_length(approx_top_sum({text}, abs({int}), 100))', 'nullif(count(distinct {1}) + if(countif({1} is null) > 0, 1, 0) + 0 * count(abs({2})), 0)'),
  spelled('hll_count.extract(hll_count.init({int}))', 'count(distinct {1})'),
    'sum({int})', 'sum(distinct {int})', 'avg(distinct {int})', 'count(distinct {int})', 'countif({bool})', 'bit_and({int})', 'bit_or({int})',
    'bit_xor({int})', 'bit_xor(distinct {int})', 'var_samp({int})', 'var_pop({int})', 'variance({int})', 'stddev({int})', 'stddev_pop({int})', 'stddev_samp(distinct {int})',
    'round(corr({int}, {int}), 9)', 'round(covar_pop(mod({int}, 1000), least(greatest({float}, -1e3), 1e3)), 6)', 'round(covar_samp(mod({int}, 1000), mod({int}, 1000)), 6)', 'min({int})', 'max({int})',
    'array_length(array_agg(distinct {int} ignore nulls))', 'array_length(array_concat_agg({ints}))',
    "array_agg(struct({int} as a, {text} as b) order by {1}, {2} limit 2)",
    'array_agg({int} ignore nulls order by {1} desc limit 3)', 'array_agg({text} respect nulls order by {1} limit 1)',
    'array_agg(distinct {date} ignore nulls order by {1})',
    'sum({numeric})', 'avg({numeric})', 'min({numeric})', 'max({numeric})', 'min({float})', 'max({float})', 'min({bytes})', 'max({text})', 'min({datetime})', 'max({clock})',
    'stddev({numeric})', 'logical_and({bool})', 'logical_or({bool})', "string_agg(distinct {text}, '|' order by {1})", "string_agg({text}, '' order by {1} desc limit 2)",
    'any_value(if({bool}, 1, 1))', "any_value(concat('v', cast({int} as string)) having max {1})", "any_value(concat('v', {text}) having min {1})",
    'count({document})', 'count(struct({int}))',
    'count(distinct {float})', 'count(distinct {bytes})', 'count(distinct {ints})', "string_agg({bytes}, b',' order by {1})",
    'sum(distinct {numeric})', 'max(extract(hour from {time}))', 'countif({text} = {text})',
]; // biome-ignore format: a list

/** Every aggregate, over all rows and in groups. */
function aggregated({ from, expressions, where }: ShapeInput): Arbitrary<string> {
  const calls = aggregates.map(template => filled(template, kind => expressions[kind as ValueKind]));
  const call = fc.oneof(...calls);
  return fc
    .tuple(
      fc.array(call, { minLength: 1, maxLength: 3 }),
      fc.option(fc.oneof(expressions.bool, expressions.text)),
      where,
    )
    .map(([list, key, condition]) => {
      const named = list.map((text, i) => `${text} as a${i}`).join(', ');
      return key === null
        ? `select ${named} from ${from}${clause(condition)}`
        : `select ${key} as k, ${named} from ${from}${clause(condition)} group by k`;
    });
}

/** Calls over a window that is ordered by their argument: rows that tie are the same in what they give. */
const navigation = [
  'row_number()', 'rank()', 'dense_rank()', 'ntile(3)', 'percent_rank()', 'cume_dist()', 'lag({e})', 'lag({e}, 2)', 'lead({e}, 1, {e})',
]; // biome-ignore format: a list
const framedCalls = [
  'first_value({e})', 'last_value({e})', 'nth_value({e}, 2)', 'first_value({e} ignore nulls)', 'last_value({e} ignore nulls)',
  'nth_value({e}, 2 ignore nulls)', 'count({e})', 'min({e})', 'max({e})', 'count(*)', 'any_value(1)',
  "string_agg(cast({e} as string), '|')",
]; // biome-ignore format: a list
const wholeCalls = [
  'count(distinct {e})',
  'percentile_disc({e}, 0.5)',
  'percentile_disc({e}, 0.9 respect nulls)',
];
const numberCalls = [stableMean, 'percentile_cont({e}, 0.25)', 'percentile_cont({e}, 1 respect nulls)'];

const rowFrames = [
  '',
  ' rows between 1 preceding and 1 following',
  ' rows 2 preceding',
  ' rows between unbounded preceding and 1 preceding',
  ' rows between current row and unbounded following',
];

/** Named windows, frames of rows, navigation and percentiles, over floats too. */
function framed({ from, expressions, where }: ShapeInput): Arbitrary<string> {
  const kind = fc.constantFrom<ValueKind>('int', 'float', 'float', 'text', 'date', 'datetime', 'numeric');
  const order = fc.constantFrom('', ' desc', ' nulls last', ' desc nulls first');
  return kind.chain(of => {
    const whole =
      of === 'int' || of === 'float'
        ? [...wholeCalls, ...numberCalls]
        : of === 'numeric'
          ? ['count(*)']
          : wholeCalls;
    return fc
      .tuple(
        expressions[of],
        fc.oneof(expressions.bool, expressions.int),
        fc.constantFrom(...navigation),
        fc.constantFrom(...framedCalls),
        fc.constantFrom(...whole),
        fc.constantFrom(...rowFrames),
        order,
        where,
      )
      .map(([e, key, first, second, third, frame, direction, condition]) => {
        const call = (text: string) => text.replaceAll('{e}', 'e');
        const rows = `(select ${e} as e, ${key} as k from ${from}${clause(condition)})`;
        return `select e, ${call(first)} over w as c1, ${call(second)} over (w${frame}) as c2, ${call(third)} over (partition by k) as c3 from ${rows} window w as (partition by k order by e${direction})`;
      });
  });
}

/** Subqueries that read the rows around them, in each clause. `rows` has `x` and `y`. */
function nested({
  from,
  expressions: { int, text, bool, ints },
  inner,
  where,
}: ShapeInput): Arbitrary<string> {
  const rows = fc.constantFrom(
    "unnest([struct(1 as x, 'a' as y), (2, null), (null, 'b'), (-3, 'héé')])",
    '(select id as x, s as y from facts)',
    '(select zz.id as x, w as y from lists zz left join unnest(zz.words) w)',
    '(select id as x, max(s) as y from facts group by id)',
  );
  const any = fc.oneof(inner.int, inner.text, inner.bool, inner.date, inner.float, inner.time);
  const subquery = fc
    .tuple(any, inner.bool, rows, inner.int, inner.text, fc.integer({ min: 0, max: 11 }))
    .map(([value, condition, source, key, word, form]) => {
      const matched = `from ${source} zz where ${condition}`;
      return [
        `(select count(*) ${matched})`,
        `(select max(${value}) ${matched})`,
        `exists(select 1 ${matched})`,
        `array(select as struct x, y, ${value} as v ${matched} order by 1, 2, 3 limit 2)`,
        `array(select ${key} ${matched} order by 1 desc limit 3)`,
        `(select string_agg(${word}, '|' order by ${word}) ${matched})`,
        `(select as struct count(*) as n, min(${value}) as v ${matched})`,
        `${key.includes('x') || key.includes('y') ? 1 : key} in (select ${key} ${matched})`,
        `(select max(v) from (select ${value} as v, row_number() over (partition by ${key} order by ${word}, ${value}) as r ${matched}) where r = 1)`,
        `array(select v from (select x, count(*) as v ${matched} group by x) order by v, x)`,
        `(select sum(n) from (select distinct ${key} as k, 1 as n ${matched}))`,
        `(select array_length(array_agg(distinct ${word} ignore nulls)) ${matched})`,
      ][form]!;
    });
  return fc
    .tuple(int, text, bool, subquery, subquery, ints, where, fc.integer({ min: 0, max: 6 }))
    .map(([a, b, c, first, second, list, condition, form]) => {
      const filtered = `${from}${clause(condition)}`;
      return [
        `select ${a} as c0, ${first} as c1, ${second} as c2 from ${filtered}`,
        `select ${a} as c0, ${b} as c1 from ${from} where ${first} is not null${condition ? ` and ${condition}` : ''}`,
        `select if(${c}, to_json_string(${first}), to_json_string(${second})) as c0 from ${filtered}`,
        `select c0, to_json_string(c1) as c1, count(*) as n from (select ${c} as c0, ${first} as c1 from ${filtered}) group by 1, 2`,
        `with w as (select ${a} as c0, ${first} as c1 from ${filtered}) select p.c0, p.c1, q.c1 as d from w p left join w q on p.c0 < q.c0`,
        `select q.c0, q.c1, x from (select ${b} as c0, ${first} as c1, ${list} as l from ${filtered}) q left join unnest(q.l) x on x > 1`,
        `select max(c0) as m, countif(c1 is null) as n from (select ${a} as c0, ${first} as c1 from ${filtered})`,
      ][form]!;
    });
}

/** Windows over groups. */
function groupedWindows({
  from,
  expressions: { int, text, bool, date },
  where,
}: ShapeInput): Arbitrary<string> {
  const calls = [
    'sum(count(*)) over (order by k, j)',
    'rank() over (order by max(e) desc)',
    'max(max(e)) over (partition by j)',
    'count(*) - lag(count(*)) over (order by k, j)',
    'safe_divide(count(*), sum(count(*)) over (partition by j))',
    'dense_rank() over (partition by j order by count(distinct e), k)',
    'first_value(k) over (order by count(*) desc, k, j)',
    'countif(k is null) over (order by j)',
    'sum(sum(e)) over (partition by k order by j rows between 1 preceding and current row)',
    'if(min(e) > 0, row_number() over (order by k, j), -1)',
  ];
  const qualify = [
    '',
    ' qualify row_number() over (partition by j order by count(*) desc, k) <= 2',
    ' having count(*) > 0 qualify rank() over (order by max(e)) < 3',
  ];
  return fc
    .tuple(
      fc.oneof(text, int),
      fc.oneof(bool, date),
      int,
      where,
      fc.constantFrom(...calls),
      fc.constantFrom(...calls),
      fc.constantFrom(...qualify),
    )
    .map(
      ([k, j, e, condition, first, second, filter]) =>
        `select k, j, ${first} as c2, ${second} as c3 from (select ${k} as k, ${j} as j, mod(${e}, 1000) as e from ${from}${clause(condition)}) group by k, j${filter}`,
    );
}

/** Names of the list that columns have, too. */
function shadowed({ from, expressions: { int, text, bool }, where }: ShapeInput): Arbitrary<string> {
  const names = fc.constantFrom('i', 's', 'id', 'b', 'words', 'n', 'score', 'path');
  return fc
    .tuple(int, fc.oneof(text, bool), int, where, names, names, fc.integer({ min: 0, max: 7 }))
    .map(([a, b, c, condition, k, j, form]) => {
      const rows = `from ${from}${clause(condition)}`;
      return [
        `select ${a} as ${k}, count(*) as c ${rows} group by ${k} order by 1`,
        `select ${a} as ${k}, ${b} as ${j}, max(${c}) as c ${rows} group by 1, 2 having ${k} is not null`,
        `select ${a} as ${k}, ${b} as ${j} ${rows} order by ${k} desc, ${j} limit 3`,
        `select ${a} as ${k}, rank() over (order by ${a}) as r ${rows} qualify r < 3`,
        `select sum(${c}) as ${k}, ${b} as ${j} ${rows} group by ${j} order by ${k}, 2`,
        `select distinct ${a} as ${k}, ${b} as ${j} ${rows} order by ${j}, ${k}`,
        `select ${k}, count(*) as n from (select ${a} as ${k}, ${b} as y ${rows}) where ${k} is null or ${k} < 5 group by ${k}`,
        `select ${b} as ${k}, array_agg(${c} ignore nulls order by ${c} limit 2) as ${j} ${rows} group by ${k}`,
      ][form]!;
    });
}

type PipeStep = (query: string) => readonly [piped: string, plain: string];

/** Steps of a pipe that keep the three columns, each as a pipe and as a query around the one before. */
function pipeSteps(): Arbitrary<PipeStep> {
  const { int, text, bool } = randomExpressions({ int: ['c0'], text: ['c1'], bool: ['c2'] });
  const step =
    (piped: string, plain: (query: string) => string): PipeStep =>
    query => [piped, plain(query)];
  return fc.oneof(
    bool.map(b => step(`|> where ${b}`, q => `select * from (${q}) where ${b}`)),
    int.map(e =>
      step(`|> extend ${e} as x |> set c0 = x |> drop x`, q => `select * replace (${e} as c0) from (${q})`),
    ),
    text.map(t => step(`|> set c1 = ${t}`, q => `select * replace (${t} as c1) from (${q})`)),
    fc.constantFrom<PipeStep>(
      step(
        '|> aggregate count(*) as c0, max(c2) as c2 group by c1 |> select c0, c1, c2',
        q => `select count(*) as c0, c1, max(c2) as c2 from (${q}) group by c1`,
      ),
      step('|> distinct', q => `select distinct * from (${q})`),
      step('|> order by c0, c1, c2 |> limit 3', q => `select * from (${q}) order by c0, c1, c2 limit 3`),
      step("|> union all (select 1, 'z', true)", q => `select * from (${q}) union all select 1, 'z', true`),
      step(
        "|> except distinct (select 1, 'a', true)",
        q => `select * from (${q}) except distinct select 1, 'a', true`,
      ),
      step('|> rename c0 as z |> rename z as c0', q => `select * from (${q})`),
      step(
        '|> as t |> join lists l on t.c0 = l.id |> select t.c0, t.c1, l.id > 1 as c2',
        q => `select t.c0, t.c1, l.id > 1 as c2 from (${q}) t join lists l on t.c0 = l.id`,
      ),
      step(
        '|> extend rank() over (partition by c1 order by c0) as r |> where r = 1 |> drop r',
        q =>
          `select * except (r) from (select *, rank() over (partition by c1 order by c0) as r from (${q})) where r = 1`,
      ),
      step(
        '|> pivot (count(*) for c2 in (true as yes, false as nay)) |> select c0, c1, yes > nay as c2',
        q =>
          `select c0, c1, yes > nay as c2 from (${q}) pivot (count(*) for c2 in (true as yes, false as nay))`,
      ),
      step(
        '|> left join unnest([c0, 2]) as x with offset o |> where o = 0 |> select x as c0, c1, c2',
        q => `select x as c0, c1, c2 from (${q}) left join unnest([c0, 2]) as x with offset o where o = 0`,
      ),
    ),
  );
}

/** Made once: its expressions are over the pipe's own columns. */
const steps = pipeSteps();

function piped(input: ShapeInput): Arbitrary<string> {
  const { from, expressions: { int, text, bool }, where } = input; // biome-ignore format: one line
  return fc
    .tuple(int, text, bool, where, fc.array(steps, { minLength: 1, maxLength: 4 }))
    .map(([a, b, c, condition, list]) => {
      const shown = `select ${a} as c0, ${b} as c1, ${c} as c2`;
      let pipe = `from ${from}${condition ? ` |> where ${condition}` : ''} |> ${shown}`;
      let query = `${shown} from ${from}${clause(condition)}`;
      for (const step of list) {
        const [words, plain] = step(query);
        pipe += ` ${words}`;
        query = plain;
      }
      return spelled(pipe, query);
    });
}
