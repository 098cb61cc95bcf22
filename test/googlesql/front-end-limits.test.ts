import { expect, test } from 'vitest';
import { compileCaller } from '../sandbox/compile-caller.ts';

const list = (count: number, item: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => item(n)).join(', ');

const columns = (count: number) => list(count, n => `${n} as c${n}`);

test('answers a query of 1,000 columns, and refuses one more with the limit and its place', () => {
  expect(compileCaller(`select ${columns(1000)}`).columns).toHaveLength(1000);
  expect(() => compileCaller(`select ${columns(1001)}`)).toThrow(
    'The query selects too many columns; the limit is 1000 at [1:12788]',
  );
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
