import fc, { type Arbitrary } from 'fast-check';
import { randomExpressions, stableMean } from './random-expressions.ts';
import { randomShapes } from './random-shapes.ts';
import { type Spellings, spellingsOf } from './spellings.ts';
import { type ExpressionScope, noColumns, type ValueKind } from './value-kinds.ts';

type Source = { readonly from: string; readonly scope: ExpressionScope };

const facts = (alias: string): Partial<ExpressionScope> => ({
  int: [`${alias}.id`, `${alias}.i`],
  float: [`${alias}.f`],
  text: [`${alias}.s`],
  json: [`${alias}.s`],
  bool: [`${alias}.b`],
  time: [`${alias}.t`],
  date: [`${alias}.d`],
});
const lists = (alias: string): Partial<ExpressionScope> => ({
  int: [`${alias}.id`],
  ints: [`${alias}.numbers`],
  texts: [`${alias}.words`],
});
const logs: Partial<ExpressionScope> = {
  text: ['l.id', 'event_message'],
  json: ['event_message'],
  time: ['l.timestamp'],
};
const metadata: Partial<ExpressionScope> = { text: ['m.project'], float: ['score'] };
const request: Partial<ExpressionScope> = { text: ['r.method', 'path'], int: ['r.bytes'] };

function source(from: string, ...scopes: readonly Partial<ExpressionScope>[]): Source {
  const entries = Object.keys(noColumns).map(kind => [kind, scopes.flatMap(s => s[kind as ValueKind] ?? [])]); // its own keys
  return { from, scope: Object.fromEntries(entries) };
}

const sources: readonly Source[] = [
  source('facts a', facts('a')),
  source('lists b', lists('b')),
  source('facts a join lists b on a.id = b.id', facts('a'), lists('b')),
  source('facts a left join lists b on a.id = b.id and b.id > 2', facts('a'), lists('b')),
  source('facts a full join lists b on a.id = b.id', facts('a'), lists('b')),
  source('facts a cross join (select id, words from lists where id < 4) b', facts('a'), {
    int: ['b.id'],
    texts: ['b.words'],
  }),
  source('lists b, unnest(b.numbers) n with offset o', lists('b'), { int: ['n', 'o'] }),
  source("lists b left join unnest(b.words) w with offset o on w != 'a'", lists('b'), {
    int: ['o'],
    text: ['w'],
  }),
  source('lists b left join b.numbers n on n > 1 and b.id < 5', lists('b'), { int: ['n'] }),
  source('logs l', logs, {}),
  source(
    'logs l cross join unnest(metadata) as m cross join unnest(m.request) as r',
    logs,
    metadata,
    request,
  ),
  source(
    'logs l left join unnest(l.metadata) as m left join unnest(m.request) as r on true',
    logs,
    metadata,
    request,
  ),
  source(
    "logs l, l.metadata m left join m.request r with offset o on r.method = 'GET'",
    logs,
    metadata,
    request,
    {
      int: ['o'],
    },
  ),
  source('(select id, max(i) as i, count(*) as n from facts group by id) a', { int: ['a.id', 'a.i', 'n'] }),
  source('(select id, if(b, [i, id], null) as l from facts) a', { int: ['a.id'], ints: ['a.l'] }),
  source('(select id, numbers, words from lists union all select i, [id], null from facts) b', lists('b')),
  source('facts a left join logs l on l.id = a.s cross join lists b', facts('a'), logs, lists('b')),
  source('(select as struct id, i, f, s, b, t, d from facts) a', facts('a')),
  source(
    '(select as value m from logs, unnest(metadata) m) m left join unnest(m.request) r',
    metadata,
    request,
  ),
  source('facts a right join lists b using (id)', facts('a'), lists('b'), { int: ['id'] }),
  source('(select s, f from facts union all select event_message, 2.5 from logs) u', {
    text: ['u.s'],
    float: ['u.f'],
  }),
];

const scalarKinds: readonly ValueKind[] = [
  ...(['int', 'float', 'numeric', 'text', 'bytes', 'bool', 'time', 'datetime', 'date', 'clock'] as const),
];

/** Valid queries over the tables of small-tables.ts. Rows are ordered by every column, so that LIMIT means one thing. */
export function randomQueries(): Arbitrary<Spellings> {
  const queries = sources.flatMap(({ from, scope }) => {
    const expressions = randomExpressions(scope);
    const inner = randomExpressions({
      ...scope,
      int: [...scope.int, 'x', 'zz.x'],
      text: [...scope.text, 'y', 'zz.y'],
    });
    const item = fc.oneof(...scalarKinds.map(kind => expressions[kind]));
    const arrays = fc.oneof(expressions.ints, expressions.texts, expressions.floats, expressions.document);
    const where = fc.option(expressions.bool, { nil: undefined });
    return [
      plainSelect(from, fc.array(item, { minLength: 1, maxLength: 3 }), where),
      arraySelect(from, arrays, where),
      grouped(from, expressions, item, where),
      groupedByStruct(from, expressions, where),
      joined(from, expressions, where),
      pivoted(from, expressions, where),
      windowed(from, expressions, item, where),
      ranged(from, expressions, where),
      ...randomShapes({ from, expressions, inner, where }),
    ];
  });
  return fc.oneof(...queries, pairs()).map(spellingsOf);
}

/** Joins of two calculated tables, on a key that both calculate. */
function pairs(): Arbitrary<string> {
  const sides = sources.map(({ from, scope }) => {
    const { int, text, bool } = randomExpressions(scope);
    return fc
      .tuple(int, text, fc.option(bool, { nil: undefined }))
      .map(
        ([key, value, where]) => `(select ${key} as k, ${value} as v from ${from}${clause('where', where)})`,
      );
  });
  const side = fc.oneof(...sides);
  const joins = ['join', 'left join', 'right join', 'full join'];
  return fc
    .tuple(
      side,
      side,
      fc.constantFrom(...joins),
      fc.constantFrom('using (k)', 'on p.k = q.k and p.v < q.v', 'on p.k > q.k'),
    )
    .map(([p, q, join, on]) => {
      const kind = on.startsWith('using') || join !== 'full join' ? join : 'left join';
      const key = on.startsWith('using') ? 'k' : 'p.k';
      return `select ${key} as k, p.v as pv, q.v as qv from ${p} p ${kind} ${q} q ${on}`;
    });
}

const clause = (word: string, text: string | undefined): string =>
  text === undefined ? '' : ` ${word} ${text}`;
const named = (items: readonly string[]): string => items.map((item, i) => `${item} as c${i}`).join(', ');

/** `order by 1, 2 desc …`, over all columns. */
function everyColumn(count: number): Arbitrary<string> {
  const directions = fc.array(fc.constantFrom('', ' desc', ' nulls last', ' desc nulls first'), {
    minLength: count,
    maxLength: count,
  });
  return directions.map(words => words.map((word, i) => `${i + 1}${word}`).join(', '));
}

const limits = fc.option(fc.constantFrom('3', '1 offset 1', '0'), { nil: undefined, freq: 3 });

function plainSelect(
  from: string,
  items: Arbitrary<string[]>,
  where: Arbitrary<string | undefined>,
): Arbitrary<string> {
  return fc
    .tuple(items, where, fc.constantFrom('', '', 'distinct '), limits)
    .chain(([list, condition, distinct, limit]) =>
      everyColumn(list.length).map(
        order =>
          `select ${distinct}${named(list)} from ${from}${clause('where', condition)} order by ${order}${clause('limit', limit)}`,
      ),
    );
}

function arraySelect(
  from: string,
  arrays: Arbitrary<string>,
  where: Arbitrary<string | undefined>,
): Arbitrary<string> {
  return fc
    .tuple(fc.array(arrays, { minLength: 1, maxLength: 2 }), where)
    .map(([list, condition]) => `select ${named(list)} from ${from}${clause('where', condition)}`);
}

type Expressions = ReturnType<typeof randomExpressions>;

function grouped(
  from: string,
  { int, float, text, bool, time, date }: Expressions,
  item: Arbitrary<string>,
  where: Arbitrary<string | undefined>,
): Arbitrary<string> {
  const aggregate = fc.oneof(
    fc.constant('count(*)'),
    item.map(e => `count(${e})`),
    fc.oneof(int, text, date).map(e => `count(distinct ${e})`),
    int.map(e => `sum(${e})`),
    int.map(e => `avg(${e})`),
    float.map(e => stableMean.replaceAll('{e}', () => e)),
    item.map(e => `min(${e})`),
    item.map(e => `max(${e})`),
    bool.map(e => `countif(${e})`),
    bool.map(e => `logical_or(${e})`),
    text.map(e => `string_agg(${e}, ',' order by ${e})`),
    int.map(e => `array_length(array_agg(${e} ignore nulls))`),
    fc.tuple(bool, int).map(([c, e]) => `sum(if(${c}, ${e}, 0))`),
  );
  const keys = fc.array(fc.oneof(int, text, bool, time, date), { maxLength: 2 });
  const having = fc.option(fc.constantFrom('count(*) > 1', 'max(1) is not null'), {
    nil: undefined,
    freq: 4,
  });
  return fc
    .tuple(keys, fc.array(aggregate, { minLength: 1, maxLength: 3 }), where, having)
    .chain(([by, aggregates, condition, filter]) => {
      const list = [...by, ...aggregates];
      const positions = by.map((_, i) => (i % 2 === 0 ? String(i + 1) : `c${i}`)).join(', ');
      return everyColumn(list.length).map(
        order =>
          `select ${named(list)} from ${from}${clause('where', condition)}${clause('group by', positions || undefined)}${clause('having', filter)} order by ${order}`,
      );
    });
}

/** Set operations of two queries over the same rows. */
function joined(
  from: string,
  { int, text, bool, numeric }: Expressions,
  where: Arbitrary<string | undefined>,
): Arbitrary<string> {
  const operators = ['union all', 'union distinct', 'intersect distinct', 'except distinct', 'except all'];
  const row = fc.tuple(int, fc.oneof(text), numeric, bool, where);
  const query = row.map(
    ([a, b, c, d, condition]) =>
      `select ${a} as c0, ${b} as c1, struct(${c} as x, ${d}) as c2 from ${from}${clause('where', condition)}`,
  );
  return fc
    .tuple(query, query, fc.constantFrom(...operators))
    .map(([first, second, operator]) => `${first} ${operator} ${second}`);
}

/** PIVOT of calculated columns. */
function pivoted(
  from: string,
  { int, bool, text }: Expressions,
  where: Arbitrary<string | undefined>,
): Arbitrary<string> {
  return fc
    .tuple(
      int,
      bool,
      text,
      where,
      fc.constantFrom('count(*)', 'sum(v)', 'max(v)', 'string_agg(w, "," order by w)'),
    )
    .map(
      ([value, key, word, condition, aggregate]) =>
        `select * from (select ${value} as v, ${key} as k, ${word} as w, length(${word}) as g from ${from}${clause('where', condition)}) pivot (${aggregate} as n for k in (true as yes, false as nay))`,
    );
}

/** A STRUCT as the key of groups and of windows. */
function groupedByStruct(
  from: string,
  { int, text, bool, float }: Expressions,
  where: Arbitrary<string | undefined>,
): Arbitrary<string> {
  return fc
    .tuple(int, fc.oneof(text, bool), float, where, fc.boolean())
    .map(([a, b, c, condition, isWindow]) =>
      isWindow
        ? `select ${c} as c0, count(*) over (partition by struct(${a}, ${b})) as n from ${from}${clause('where', condition)}`
        : `select struct(${a} as a, ${b}, ${c}) as k, count(*) as n, any_value(${a}) as x from ${from}${clause('where', condition)} group by k`,
    );
}

const frames = [
  'between 1 preceding and 2 following',
  'between 1 preceding and current row',
  'between unbounded preceding and 3 following',
  'between 1 following and unbounded following',
];

/** Frames along the values of a number: rows of equal value are in the same frames. */
function ranged(
  from: string,
  { int, float, bool }: Expressions,
  where: Arbitrary<string | undefined>,
): Arbitrary<string> {
  const analytic = fc.oneof(
    fc.constant('count(*)'),
    int.map(e => `sum(${e})`),
    int.map(e => `min(${e})`),
    bool.map(e => `countif(${e})`),
  );
  const order = fc.constantFrom('', ' desc', ' nulls last', ' desc nulls first');
  return fc
    .tuple(fc.oneof(int, float), bool, analytic, where, order, fc.constantFrom(...frames))
    .chain(([key, group, call, condition, direction, frame]) =>
      everyColumn(3).map(
        rows =>
          `select ${key} as c0, ${group} as c1, ${call} over (partition by ${group} order by ${key}${direction} range ${frame}) as c2 from ${from}${clause('where', condition)} order by ${rows}`,
      ),
    );
}

/** Each window is ordered by everything that the select list shows, so that ties change nothing. */
function windowed(
  from: string,
  { int, text, bool }: Expressions,
  item: Arbitrary<string>,
  where: Arbitrary<string | undefined>,
): Arbitrary<string> {
  const analytic = fc.oneof(
    fc.constantFrom('rank()', 'dense_rank()', 'count(*)', 'percent_rank()', 'cume_dist()'),
    int.map(e => `sum(${e})`),
    int.map(e => `max(${e})`),
    bool.map(e => `countif(${e})`),
  );
  return fc
    .tuple(item, fc.oneof(int, text), analytic, where, fc.constantFrom('', ' desc'), fc.boolean())
    .chain(([shown, key, call, condition, direction, qualifies]) => {
      const over = `over (partition by ${key} order by ${shown}${direction})`;
      const qualify = qualifies ? ` qualify rank() ${over} < 3` : '';
      return everyColumn(3).map(
        order =>
          `select ${shown} as c0, ${key} as c1, ${call} ${over} as c2 from ${from}${condition ? ` where ${condition}` : qualify ? ' where true' : ''}${qualify} order by ${order}`,
      );
    });
}
