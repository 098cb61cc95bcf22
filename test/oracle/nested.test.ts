import { afterAll, beforeAll, expect, test } from 'vitest';
import { nestedStatements } from './cases-nested.ts';
import { compareEngines } from './compare-engines.ts';
import { type ReferenceServer, startReferenceServer } from './reference-server.ts';
import { openSmallEngine } from './small-engine.ts';
import { smallRows, smallTables } from './small-tables.ts';

let reference: ReferenceServer;
beforeAll(async () => {
  const server = await startReferenceServer();
  // It knows no layout, so what it answered for one holds for the other.
  const answers = new Map<string, ReturnType<ReferenceServer['evaluate']>>();
  const evaluate: ReferenceServer['evaluate'] = (sql, input) => {
    const known = answers.get(sql) ?? server.evaluate(sql, input);
    answers.set(sql, known);
    return known;
  };
  reference = { ...server, evaluate };
});
afterAll(() => reference?.stop());

/** Of how many statements one is compared: the layouts differ in how records are read alone, and random queries compare both, too. */
const layouts = [
  ['list', 2],
  ['single', 5],
] as const;

test.each(layouts)(
  'a nested value is answered like the reference whatever hands it on, on the %s layout',
  async (layout, step) => {
    const tables = smallTables(layout);
    const engine = await openSmallEngine(tables);
    await engine.fill(smallRows);
    const counts = { equal: 0, bothFail: 0, refused: 0, unknownToReference: 0, wrong: 0 };
    const wrong: { sql: string; detail: string }[] = [];
    for (const [at, sql] of nestedStatements().entries()) {
      if (at % step !== 0) continue;
      const input = { tables, rows: smallRows, parameters: {} };
      const { kind, detail } = await compareEngines(reference, engine, sql, input);
      counts[kind] += 1;
      if (kind === 'wrong') wrong.push({ sql, detail });
    }
    engine.stop();
    expect(wrong).toEqual([]);
    // What is refused is a scalar subquery of an array inside a function that asks whether it is NULL.
    expect(counts.refused + counts.unknownToReference).toBeLessThan(counts.equal / 20);
    expect(counts.bothFail).toBeLessThan(counts.equal / 20);
  },
  300_000,
);
