import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { statementOf } from './case-group.ts';
import { caseGroups } from './case-groups.ts';
import { callerCases } from './cases-callers.ts';
import { compareEngines, type Verdict } from './compare-engines.ts';
import { type ReferenceServer, startReferenceServer } from './reference-server.ts';
import { openSmallEngine, type SmallEngine } from './small-engine.ts';
import { type Layout, smallRows, smallTables } from './small-tables.ts';

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

describe.each(caseGroups)(
  'contract 4.12: %s',
  (_name, { same, fail = [], agree = [], refused = [], answered = [] }) => {
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
  },
);

describe.each(['list', 'single'] as const)("contract 4.12: a caller's query on the %s layout", layout => {
  it.each(callerCases)('%s', async (sql, rows) => {
    expect(await compare(layout, sql)).toEqual({ kind: 'equal', detail: '' });
    expect(await engines[layout]!.evaluate(sql, parameters)).toMatchObject({ rows });
  });
});
