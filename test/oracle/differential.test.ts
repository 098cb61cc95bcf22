import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CaseGroup, statementOf } from './case-group.ts';
import { aggregateCases } from './cases-aggregates.ts';
import { arrayCases } from './cases-arrays.ts';
import { callerCases } from './cases-callers.ts';
import { castCases } from './cases-casts.ts';
import { conditionCases } from './cases-conditions.ts';
import { formatCases } from './cases-formats.ts';
import { joinCases } from './cases-joins.ts';
import { jsonCases } from './cases-json.ts';
import { numberCases } from './cases-numbers.ts';
import { patternCases } from './cases-patterns.ts';
import { queryCases } from './cases-queries.ts';
import { textCases } from './cases-texts.ts';
import { timeCases } from './cases-times.ts';
import { windowCases } from './cases-windows.ts';
import { compareEngines, type Verdict } from './compare-engines.ts';
import { type ReferenceServer, startReferenceServer } from './reference-server.ts';
import { openSmallEngine, type SmallEngine } from './small-engine.ts';
import { type Layout, smallRows, smallTables } from './small-tables.ts';
import { unitCases } from './unit-cases.ts';

const groups: readonly (readonly [string, CaseGroup])[] = [
  ['numbers', numberCases],
  ['casts', castCases],
  ['texts', textCases],
  ['patterns', patternCases],
  ['json', jsonCases],
  ['aggregates', aggregateCases],
  ['arrays', arrayCases],
  ['conditions', conditionCases],
  ['formats', formatCases],
  ['times', timeCases],
  ['units', unitCases],
  ['windows', windowCases],
  ['joins', joinCases],
  ['queries', queryCases],
];
const parameters = { p: 'x', q: null };

let reference: ReferenceServer;
const engines: Partial<Record<Layout, SmallEngine>> = {};
beforeAll(async () => {
  reference = await startReferenceServer();
  for (const layout of ['list', 'single'] as const) {
    const engine = await openSmallEngine(smallTables(layout));
    await engine.fill(smallRows);
    engines[layout] = engine;
  }
});
afterAll(() => {
  reference?.stop();
  engines.list?.stop();
  engines.single?.stop();
});

function compare(layout: Layout, text: string): Promise<Verdict> {
  const input = { tables: smallTables(layout), rows: smallRows, parameters };
  return compareEngines(reference, engines[layout]!, statementOf(text), input);
}

describe.each(groups)('%s', (_name, { same, fail = [], agree = [], refused = [], answered = [] }) => {
  if (same.length > 0)
    it.each(same)('answers like the reference: %s', async text => {
      expect(await compare('list', text)).toEqual({ kind: 'equal', detail: '' });
    });

  if (agree.length > 0)
    it.each(agree)('answers or fails like the reference: %s', async text => {
      expect(await compare('list', text)).toMatchObject({ kind: expect.stringMatching(/equal|bothFail/) });
    });

  if (fail.length > 0)
    it.each(fail)('fails like the reference: %s', async text => {
      expect(await compare('list', text)).toMatchObject({ kind: 'bothFail' });
    });

  if (refused.length > 0)
    it.each(refused)('refuses by name what it cannot answer rightly: %s', async text => {
      expect(await compare('list', text)).toMatchObject({
        kind: 'refused',
        detail: expect.stringMatching(/./),
      });
    });

  if (answered.length > 0)
    it.each(answered)('answers where the reference cannot: %s', async (text, rows) => {
      expect(await compare('list', text)).toMatchObject({ kind: 'unknownToReference' });
      expect(await engines.list!.evaluate(statementOf(text), parameters)).toMatchObject({ rows });
    });
});

/** The one known difference: the reference reads JSON as far as it must, and never sees that it breaks off. */
it.each([`json_value('{"a":1', '$.a')`, `json_value('{"a":1} x', '$.a')`, `json_value("{'a':1}", '$.a')`])(
  'answers NULL for text that is not JSON as a whole: %s',
  async text => {
    expect(await engines.list!.evaluate(statementOf(text), parameters)).toMatchObject({ rows: [[null]] });
  },
);

describe.each(['list', 'single'] as const)("a caller's query on the %s layout", layout => {
  it.each(callerCases)('%s', async (sql, rows) => {
    expect(await compare(layout, sql)).toEqual({ kind: 'equal', detail: '' });
    expect(await engines[layout]!.evaluate(sql, parameters)).toMatchObject({ rows });
  });
});
