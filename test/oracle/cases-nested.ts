/** A nested value, and where it stands: an ARRAY or a STRUCT of the table `logs`, in both of its layouts. */
type Nested = {
  readonly name: string;
  readonly kind: 'ARRAY' | 'STRUCT';
  readonly from: string;
  /** Whether the value is tried in everything that may stand around it, and not in the first few only. */
  readonly isSwept: boolean;
};

const unnested = 'logs cross join unnest(metadata) as m';

const values: readonly Nested[] = [
  { name: 'metadata', kind: 'ARRAY', from: 'logs', isSwept: true },
  { name: 'm.request', kind: 'ARRAY', from: unnested, isSwept: false },
  { name: 'm', kind: 'STRUCT', from: unnested, isSwept: true },
  { name: 'numbers', kind: 'ARRAY', from: 'lists', isSwept: false },
];

/** Everything that can hand a nested value on, for an array or a record; `$x` stands for the value. */
const constructs: Readonly<Record<'ANY' | 'ARRAY' | 'STRUCT', readonly string[]>> = {
  ANY: [
    '$x',
    '($x)',
    'coalesce($x, $x)',
    'coalesce(null, $x)',
    'ifnull($x, $x)',
    'if(true, $x, $x)',
    'if(id is null, null, $x)',
    'case when true then $x end',
    'case when id is null then null else $x end',
    'case id when id then $x else $x end',
    '(select $x)',
    '(select y from (select $x as y))',
    '(select any_value(y) from (select $x as y))',
    'struct($x as f).f',
    'struct($x as f, 1 as n)',
    '($x, 1)',
    '[struct($x as f)]',
    '[struct($x as f)][offset(0)].f',
    'array(select as struct $x as f)',
    '(select as struct $x as f, id)',
    'first_value($x) over (order by id)',
    'last_value($x) over (order by id)',
    'nth_value($x, 1) over (order by id)',
    'first_value($x ignore nulls) over (order by id)',
    'last_value($x ignore nulls) over (order by id)',
    'lag($x) over (order by id)',
    'lead($x) over (order by id)',
    'lag($x, 1, null) over (order by id)',
    'lead($x, 0) over (order by id)',
    'any_value($x) over (partition by id)',
    'array_agg(struct($x as f)) over (order by id)',
  ],
  ARRAY: [
    'coalesce($x, [])',
    'if(true, $x, [])',
    'array_concat($x)',
    'array_concat($x, $x)',
    'array_concat($x, [], $x)',
    '$x || $x',
    'array_reverse($x)',
    'array(select e from unnest($x) e)',
    'array(select as struct e from unnest($x) e)',
    '(select array_agg(e) from unnest($x) e)',
    '(select array_agg(e limit 1) from unnest($x) e)',
    '(select any_value(e) from unnest($x) e where e is not null)',
    '(select count(*) from unnest($x) e)',
    '(select count(e) from unnest($x) e)',
    '(select count(*) over () from unnest($x) e)',
    '(select max(o) from unnest($x) e with offset o)',
    '$x[safe_offset(0)]',
    '[$x[safe_offset(0)]]',
    'if(array_length($x) > 0, array_first($x), null)',
    'if(array_length($x) > 0, array_last($x), null)',
    'if(array_length($x) > 0, $x[offset(0)], null)',
  ],
  STRUCT: [
    '$x.request',
    '$x.request[safe_offset(0)]',
    '[$x]',
    '[$x, $x]',
    'array(select $x)',
    'array(select y from (select $x as y))',
    'array_agg($x) over (order by id)',
  ],
};

const aggregates: readonly string[] = [
  'any_value($x)',
  'any_value($x having max id)',
  'any_value($x having min id)',
  'max_by($x, id)',
  'min_by($x, id)',
  'array_agg(struct($x as f))',
  'array_agg(struct($x as f) limit 1)',
  'array_agg(struct(coalesce($x, $x) as f))[offset(0)]',
  'coalesce(any_value($x), any_value($x))',
  'struct(any_value($x) as f)',
  'count($x)',
];

/** What may stand around a value in a query: `$v` is the value, `$from` where its parts are. */
const surroundings: readonly string[] = [
  'select id, $v as v from $from order by id',
  'select id, struct($v as f) as v from $from order by id',
  'select id, [struct($v as f)] as v from $from order by id',
  'select id, coalesce($v, $v) as v from $from order by id',
  'select id, (select $v) as v from $from order by id',
  'select id, $v as v from $from union all select id, $v from $from',
  'select id, $v as v from $from union all select id, null from $from',
  'select id, $v as v from $from union all select id, coalesce($v, $v) from $from',
  'with t as (select id, $v as v from $from) select id, v from t order by id',
  'with t as (select id, $v as v from $from) select a.id, a.v, b.v as w from t a join t b using (id) order by id',
  'with t as (select id, $v as v from $from) select id, a.v, b.v as w from t a full join t b using (id) order by id',
  'with t as (select id, $v as v from $from) select id, lag(v) over (order by id) as v from t order by id',
  'with t as (select id, $v as v from $from) select id, any_value(v) as v from t group by id order by id',
  'with t as (select id, $v as v from $from) select array_agg(t order by id) as v from t',
  'with t as (select id, $v as v from $from) select t.*, t as r from t order by t.id',
];

/** A value as a table stores it beside one that was calculated. */
const mixed: readonly string[] = [
  'select id, $x as v from $from union all select id, coalesce($x, $x) from $from',
  'select id, coalesce($x, $x) as v from $from union all select id, $x from $from',
  "select id, if(cast(id as string) < 'b', $x, coalesce($x, $x)) as v from $from order by id",
  "select id, case when cast(id as string) < 'b' then coalesce($x, $x) else $x end as v from $from order by id",
  'select id, $x as v, any_value($x) over (partition by id) as w, struct($x as f, ifnull($x, $x) as g) as s from $from order by id',
];

/** Statements over nested values: everything that hands one on, in everything that may stand around it. */
export function nestedStatements(): readonly string[] {
  return values.flatMap(value => {
    const fill = (text: string, construct: string) =>
      text.replaceAll('$v', construct).replaceAll('$from', value.from).replaceAll('$x', value.name);
    const around = [...constructs.ANY, ...constructs[value.kind]].flatMap(construct =>
      surroundings.slice(0, value.isSwept ? undefined : 4).map(text => fill(text, construct)),
    );
    const grouped = aggregates.map(text =>
      fill('select id, $v as v from $from group by id order by id', text),
    );
    return [...around, ...grouped, ...mixed.map(text => fill(text, ''))];
  });
}
