import { afterAll, beforeAll, expect, it } from 'vitest';
import { openSmallEngine, type SmallEngine } from './small-engine.ts';

let engine: SmallEngine;
beforeAll(async () => {
  engine = await openSmallEngine([]);
});
afterAll(() => engine?.stop());

const counting = (end: string) =>
  `with recursive r as (select 0 as n union all select n + 1 from r where ${end}) select max(n) as n from r`;

it('contract 4.12: the query of a recursive subset runs 500 times', async () => {
  expect(await engine.evaluate(counting('n < 500'), {})).toMatchObject({ rows: [['500']] });
});

it.each(['n < 501', 'true'])('contract 4.12: a recursive subset that goes on fails: %s', async end => {
  expect(await engine.evaluate(counting(end), {})).toMatchObject({
    error: expect.stringContaining('A recursive CTE has reached the maximum number of iterations: 500'),
  });
});
