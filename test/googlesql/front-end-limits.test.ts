import { expect, test } from 'vitest';
import { compileCaller } from '../sandbox/compile-caller.ts';
import { growingTexts, textOfLength } from './growing-texts.ts';
import { openSmallDatabase } from './small-database.ts';

const list = (count: number, item: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => item(n)).join(', ');

const columns = (count: number) => list(count, n => `${n} as c${n}`);

test('answers a query of 1,000 columns, and refuses one more with the limit and its place', () => {
  expect(compileCaller(`select ${columns(1000)}`).columns).toHaveLength(1000);
  expect(() => compileCaller(`select ${columns(1001)}`)).toThrow(
    'The query selects too many columns; the limit is 1000 at [1:12788]',
  );
});

test('contract 11.2: answers a query of 20,000 tokens, and refuses one more with the limit and its place', () => {
  // Two tokens for each number but the last, eleven for the rest.
  const numbers = (count: number) =>
    compileCaller(`select 1 as x from edge_logs where 1 in (${list(count, () => '1')})`);
  expect(() => numbers(9995)).not.toThrow();
  expect(() => numbers(9996)).toThrow('The query has too many tokens; the limit is 20000 at [1:');
});

test('contract 11.1: answers arrays that are fifteen deep, and refuses one more with the limit and its place', () => {
  // DuckDB takes twice as long to plan each further level: of 24 it planned for 14 s.
  const nested = (levels: number) =>
    compileCaller(`select struct(${'[struct('.repeat(levels)}1 as b${')] as a'.repeat(levels)}) as x`);
  expect(() => nested(15)).not.toThrow();
  expect(() => nested(16)).toThrow('Arrays are nested too deeply; the limit is 15 levels at [1:8]');
});

test('counts the columns that stars stand for', () => {
  const wide = `select * from (select ${columns(600)}) a, (select ${columns(600)}) b`;
  expect(() => compileCaller(wide)).toThrow('too many columns; the limit is 1000 at [1:8]');
});

test('refuses subsets that double their columns before they have filled the memory', () => {
  const doubled = list(30, n => `c${n + 1} as (select *, * from c${n})`);
  expect(() => compileCaller(`with c0 as (select 1 as a), ${doubled} select 1 as x from c30`)).toThrow(
    'too many columns; the limit is 1000',
  );
});

test('refuses more than 20,000 columns in all parts of a query', () => {
  const wide = `with w as (select ${columns(1000)}) select 1 as x from`;
  expect(() => compileCaller(`${wide} ${list(18, n => `w as w${n}`)}`)).not.toThrow();
  expect(() => compileCaller(`${wide} ${list(20, n => `w as w${n}`)}`)).toThrow(
    'The query has too many columns in all its parts; the limit is 20000',
  );
});

test('refuses a wide record that is selected too often', () => {
  const rows = (count: number) =>
    `with w as (select t from (select ${columns(900)}) t) select 1 as x from (select * from ${list(count, n => `w w${n}`)})`;
  expect(() => compileCaller(rows(50))).not.toThrow();
  expect(() => compileCaller(rows(60))).toThrow('in the records of all its parts; the limit is 50000');
});

test('refuses records that are named too often, each field once for each record around it', () => {
  const rows = (count: number, depth: number) =>
    `select ${list(count, n => `s is null as n${n}`)} from (select ${'struct('.repeat(depth)}${list(400, () => '1')}${')'.repeat(depth)} as s)`;
  expect(() => compileCaller(rows(120, 1))).not.toThrow();
  expect(() => compileCaller(rows(130, 1))).toThrow('too many fields in records; the limit is 50000');
  expect(() => compileCaller(rows(40, 3))).not.toThrow();
  expect(() => compileCaller(rows(42, 3))).toThrow('too many fields in records; the limit is 50000');
  expect(() => compileCaller(rows(1, 51))).toThrow('The query is too complex');
});

test('refuses records whose JSON DuckDB would prepare for seconds, but not those that need no conversion', () => {
  const record = (depth: number, count: number, type: string) =>
    `select cast(null as ${'struct<a '.repeat(depth - 1)}struct<${list(count, n => `c${n} ${type}`)}>${'>'.repeat(depth - 1)}) as x`;
  expect(() => compileCaller(record(1, 1000, 'float64'))).not.toThrow();
  expect(() => compileCaller(record(15, 80, 'float64'))).not.toThrow();
  for (const [depth, count] of [
    [1, 1100],
    [15, 100],
    [90, 20],
  ] as const) {
    // biome-ignore format: a list
    expect(() => compileCaller(record(depth, count, 'float64'))).toThrow('The query is too complex');
    expect(() => compileCaller(record(depth, count, 'int64'))).not.toThrow();
  }
  const half = record(1, 800, 'float64').replace('select ', '').replace(' as x', '');
  expect(() => compileCaller(`select ${half} as x`)).not.toThrow();
  expect(() => compileCaller(`select ${half} as x, ${half} as y`)).toThrow('The query is too complex');
});

test('contract 11.2: calls in one another are bound once each', () => {
  const nested = (depth: number) => `${'last_day('.repeat(depth)}date(timestamp)${')'.repeat(depth)}`;
  expect(() => compileCaller(`select ${nested(40)} as x from edge_logs`)).not.toThrow();
});

test.each([
  ['a position in ORDER BY', 'order by', ', ', '1'],
  ['a position in GROUP BY', 'group by', ', ', '1'],
  ['an alias in ORDER BY', 'order by', ', ', "a || ''"],
  ['an alias in QUALIFY', 'qualify count(*) over () > 0 and', ' and ', "a != ''"],
])('contract 11.2: %s counts as what it stands for', (_, clause, separator, term) => {
  const sql = (times: number) =>
    `select concat(${list(1000, () => 'id')}) as a from edge_logs ${clause} ${Array(times).fill(term).join(separator)}`;
  expect(() => compileCaller(sql(10))).not.toThrow();
  expect(() => compileCaller(sql(100))).toThrow('The query is too complex; the limit is 100000');
});

test('contract 11.2: each value of PIVOT counts as the whole call', () => {
  const sql = (values: number) =>
    `select * from (select 1 as a, 2 as b) pivot (greatest(sum(a), ${list(1000, () => '1')}) for b in (${list(values, n => `${n}`)}))`;
  expect(() => compileCaller(sql(50))).not.toThrow();
  expect(() => compileCaller(sql(100))).toThrow('The query is too complex; the limit is 100000');
});

test('contract 11.2: texts in one another are looked through for names up to a limit', () => {
  const sql = (length: number) =>
    `select ${'greatest(1, '.repeat(50)}length(concat(${list(length, () => 'id')}))${')'.repeat(50)} as x from edge_logs`;
  expect(() => compileCaller(sql(1000))).not.toThrow();
  expect(() => compileCaller(sql(9_000))).toThrow('The query is too complex');
});

test('refuses WITH expressions with more than 200 names', () => {
  const names = (count: number) => `select with(${list(count, n => `a${n} as ${n}`)}, a0) as x`;
  expect(() => compileCaller(names(200))).not.toThrow();
  expect(() => compileCaller(names(201))).toThrow(
    'The query has too many names in WITH expressions; the limit is 200',
  );
  const twice = 'select with(a as 1, A as 2, a) as x';
  expect(() => compileCaller(twice)).toThrow('Duplicate alias A in WITH expression at [1:21]');
});

test('refuses more than 200 operators in a row, but takes as many terms of AND and OR as the text holds', () => {
  const chain = (count: number, operator: string) =>
    `select ${Array(count + 1)
      .fill("'a'")
      .join(operator)} as x`;
  expect(() => compileCaller(chain(200, ' || '))).not.toThrow();
  expect(() => compileCaller(chain(201, ' || '))).toThrow('Too many operators in a row; the limit is 200');
  const calls = (count: number) => `select 'a'${'.lower()'.repeat(count)} as x`;
  expect(() => compileCaller(calls(201))).toThrow('The query is nested too deeply');
  const terms = Array(8_000).fill('true').join(' or ');
  expect(() => compileCaller(`select ${terms} as x`)).not.toThrow();
});

test.each([
  ['arguments', `concat(${list(1200, () => "'a'")})`, 'a'.repeat(1200)],
  ['NULs', `'a${'\\000'.repeat(1200)}'`, `a${'\0'.repeat(1200)}`],
  [
    'elements of a format',
    `format_timestamp('${'%Y'.repeat(1200)}', timestamp '2026-01-15')`,
    '2026'.repeat(1200),
  ],
])('DuckDB takes a text of more than a thousand %s', async (_, sql, x) => {
  const database = await openSmallDatabase('single');
  expect(await database.rows(`select ${sql} as x`)).toEqual([{ x }]);
});

test('quotes no more than a thousand characters of a text in an error', () => {
  for (const sql of [
    `select ${'é'.repeat(60_000)} from edge_logs`,
    `select ${'a'.repeat(60_000)} from edge_logs`,
  ])
    expect(() => compileCaller(sql)).toThrow(
      expect.objectContaining({ message: expect.stringMatching(/^.{0,1020}$/s) }),
    );
});

/**
 * Processor time of the fastest of three compilations, in milliseconds: other load on the machine counts little.
 * @param enoughMs one that is as fast needs no other
 */
function compileMs(sql: string, enoughMs = 0): number {
  let fastest = Infinity;
  for (let run = 0; run < 3 && fastest > enoughMs; run++) {
    const before = process.cpuUsage().user;
    try {
      compileCaller(sql);
    } catch {
      // A refusal must be as quick.
    }
    fastest = Math.min(fastest, (process.cpuUsage().user - before) / 1000);
  }
  return fastest;
}

/** A text four times as long may take ten times as long; below this, in milliseconds, a ratio says nothing. */
const [mostGrowth, tooShortMs] = [10, 100];

const names = (count: number) => list(count, n => `c${n}`);

test.each<[string, (width: number) => string]>([
  ['EXCEPT', width => `select * except (${names(width - 1)}) from w`],
  ['REPLACE', width => `select * replace (${list(width, n => `${n} as c${n}`)}) from w`],
  ['GROUP BY', width => `select ${names(width)} from w group by ${names(width)}`],
  ['USING', width => `select * from w a join w b using (${names(width)})`],
])('contract 11.2: a column takes no longer among a thousand of %s than among fewer', (_, query) => {
  const sql = (times: number, width: number) =>
    `with w as (select ${columns(width)}) select 1 as x from ${list(times, n => `(${query(width)}) t${n}`)}`;
  // As many columns in both.
  const isLinear = () => compileMs(sql(3, 1000)) < 3 * Math.max(10, compileMs(sql(30, 100)));
  expect([1, 2, 3].some(isLinear)).toBe(true);
});

test('contract 11.2: refuses patterns of SAFE calls that are too large together, valid or not, before they are compiled', () => {
  // The other case of each character of a large range is found one by one: a thousand instructions.
  const matches = (count: number, end: string) =>
    compileCaller(
      `select [${list(count, n => `safe.regexp_contains('', r'(?i)[\\x{100}-\\x{10FFFF}]${n}${end}')`)}] as x`,
    );
  for (const end of ['', '(']) {
    expect(() => matches(9, end)).not.toThrow();
    expect(() => matches(10, end)).toThrow(
      'The regular expressions of calls with SAFE are too large together; the limit is 10000 instructions at [1:',
    );
  }
});

test.each(Object.entries(growingTexts))('compiles %s in time that grows as the text does', (_, text) => {
  for (const [short, long] of [
    [3_000, 12_000],
    [16_000, 65_536],
  ] as const) {
    let [before, after] = [0, Infinity];
    // On a busy machine one of the two may meet the others' work, and the other one not.
    for (let attempt = 0; attempt < 3 && after > before * mostGrowth; attempt++) {
      after = compileMs(textOfLength(text, long), tooShortMs);
      if (after > tooShortMs) before = compileMs(textOfLength(text, short));
      else break;
    }
    if (after <= tooShortMs) continue;
    expect({ long, after, fits: after <= before * mostGrowth }).toMatchObject({
      fits: true,
    });
    // Contract 11.2 wants 100 ms on a machine of its own.
    expect(after).toBeLessThan(1000);
  }
});
