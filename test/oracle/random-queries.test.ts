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
const [runs, jsonRuns] = [300, 200];

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
}, 60_000);
