import type { CaseGroup } from './case-group.ts';

const aggregates = 'any_value bit_and bit_or bit_xor logical_and logical_or max min count sum avg'.split(' ');
const argument = (name: string) =>
  name.startsWith('logical') ? 'b' : name.startsWith('bit') ? 'mod(i, 100)' : 'id';

/** DISTINCT, LIMIT and OVER in aggregates; LIKE with quantifiers. */
export const modifierCases: CaseGroup = {
  same: [
    "select string_agg(s, '-' order by id limit 2) as v from facts",
    'select string_agg(s order by id desc limit 3) as v from facts',
    "select string_agg(distinct s, '|' order by s limit 2) as v from facts",
    'select b, string_agg(s order by id limit 1) as v from facts group by b order by b',
    'select string_agg(s limit 2) as v from facts where false',
    'select string_agg(s limit 2) as v from facts where s is null',
    'select id, count(distinct i) over () as n, sum(distinct i) over (partition by b) as s from facts where id != 7 order by id',
    'select id, array_agg(distinct b ignore nulls) over (partition by b) as a from facts order by id',
    'select id, bit_and(mod(i, 9)) over (order by id) as a, bit_or(mod(i, 9)) over (order by id) as o, bit_xor(mod(i, 9)) over (order by id) as x from facts order by id',
    'select (select b from facts where id = 4) is unknown as u, (select b from facts where id = 3) is not unknown as v',
    "select 'a' like any ('a', null) as v, 'a' like all ('a', null) as w, 'a' like some ('b', '%') as x",
  ],
  agree: aggregates.flatMap(name => [
    `select ${name}(distinct ${argument(name)}) as v from facts where id in (1, 2, 3)`.replace(
      'any_value(distinct id)',
      'any_value(distinct 7)',
    ),
    `select id, ${name}(distinct ${argument(name)}) over (partition by id) as v from facts where id != 7 order by id`,
  ]),
  fail: [
    'select count(distinct i) over (order by id) as n from facts',
    'select count(distinct i) over (order by id rows unbounded preceding) as n from facts',
    'select string_agg(s limit -1) as v from facts',
    'select 1 is unknown as v',
    "select 'a' is unknown as v",
  ],
  answered: [
    [
      "select id from facts where s like any (select concat(word, '%') from lists, unnest(words) as word where word != '') order by id",
      [['2']],
    ],
    [
      "select id, s like any unnest(['A%', '%a']) as v, s like all unnest(['%a%', null]) as w, s not like any unnest(['b%', 'x']) as x from facts where id in (1, 2, 4) order by id",
      [
        ['1', true, null, true],
        ['2', true, null, true],
        ['4', null, null, null],
      ],
    ],
    [
      "select 'a' like any unnest([]) as a, 'a' like all unnest(cast(null as array<string>)) as b, 'a' not like all unnest(['b', 'c']) as c, 'a' not like all unnest(['a', null]) as d",
      [[false, true, true, false]],
    ],
    [
      "select id, 'b' like any unnest(words) as v from lists order by id",
      [
        ['1', true],
        ['2', false],
        ['3', false],
        ['4', true],
      ],
    ],
    [
      "select 'a' not like any ('a', 'b') as v, 'a' not like any ('a', null) as w, 'a' not like all ('a', 'b') as x, 'a' like any unnest(['b']) as y",
      [[true, null, false, false]],
    ],
  ],
};
