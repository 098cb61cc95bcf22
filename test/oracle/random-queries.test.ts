import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { compareEngines } from './compare-engines.ts';
import { randomJsonQueries } from './random-json.ts';
import { randomQueries } from './random-queries.ts';
import { randomRows } from './random-rows.ts';
import { type ReferenceServer, startReferenceServer } from './reference-server.ts';
import { openSmallEngine, type SmallEngine } from './small-engine.ts';
import { smallTables } from './small-tables.ts';

const layouts = ['list', 'single'] as const;
/** Fixed, so that a run of CI compares the same queries whatever the machine; `npm run fuzz:dialect` looks further. */
const [runs, jsonRuns] = [150, 150];

let reference: ReferenceServer;
const engines = new Map<string, SmallEngine>();
beforeAll(async () => {
  reference = await startReferenceServer();
  for (const layout of layouts) engines.set(layout, await openSmallEngine(smallTables(layout)));
});
afterAll(() => {
  reference?.stop();
  for (const engine of engines.values()) engine.stop();
});

it.each(layouts)(
  'answers random queries over random rows like the reference, on the %s layout',
  async layout => {
    const engine = engines.get(layout)!;
    let compared = 0;
    // A failure prints the seed and the path that repeat it.
    const property = fc.asyncProperty(randomRows, randomQueries(), async (rows, sql) => {
      await engine.fill(rows);
      const input = { tables: smallTables(layout), rows, parameters: {} };
      expect(await compareEngines(reference, engine, sql, input)).not.toMatchObject({ kind: 'wrong' });
      compared += 1;
    });
    await fc.assert(property, { numRuns: runs });
    expect(compared).toBe(runs);
  },
  120_000,
);

it('reads JSON in random texts, whole and broken, like the reference', async () => {
  const engine = engines.get('list')!;
  let compared = 0;
  const property = fc.asyncProperty(randomJsonQueries(), async sql => {
    const verdict = await compareEngines(reference, engine, sql, { tables: [], rows: {}, parameters: {} });
    expect(verdict).toEqual({ kind: 'equal', detail: '' });
    compared += 1;
  });
  await fc.assert(property, { numRuns: jsonRuns });
  expect(compared).toBe(jsonRuns);
});

it('takes the answer without a failing subquery that no row of it needs, and no other', async () => {
  const engine = engines.get('list')!;
  const failing = '(select x from unnest([1, 2]) x where x > length(w))';
  const verdictOf = (sql: string) =>
    compareEngines(reference, engine, sql, { tables: [], rows: {}, parameters: {} });
  const side = `select w, ${failing} as n from unnest(['']) w`;
  expect(await verdictOf(`${side} intersect distinct select w, 2 from unnest(['b']) w where false`)).toEqual({
    kind: 'equal',
    detail: '',
  });
  expect(await verdictOf(side)).toMatchObject({ kind: 'bothFail' });
  // Of the row that is asked for, the twin has another answer.
  const other = await compareEngines(
    reference,
    { ...engine, evaluate: async () => engine.evaluate("select '' as w, 1 as n", {}) },
    side,
    { tables: [], rows: {}, parameters: {} },
  );
  expect(other.kind).toBe('wrong');
});
