import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compileForDuckDb } from '../../src/googlesql/compile-duckdb.ts';
import { isExpression, statementOf } from './case-group.ts';
import { caseGroups } from './case-groups.ts';
import { callerCases } from './cases-callers.ts';
import { compareEngines, type Verdict } from './compare-engines.ts';
import { type ReferenceServer, startReferenceServer } from './reference-server.ts';
import { openSmallEngine, type SmallEngine } from './small-engine.ts';
import { type Layout, smallRows, smallTables } from './small-tables.ts';

const parameters = { p: 'x', q: null };
const inputs = {
  list: { tables: smallTables('list'), rows: smallRows, parameters },
  single: { tables: smallTables('single'), rows: smallRows, parameters },
};

let reference: ReferenceServer;
const engines: Partial<Record<Layout, SmallEngine>> = {};
beforeAll(async () => {
  reference = await startReferenceServer();
  for (const layout of ['list', 'single'] as const) {
    const engine = await openSmallEngine(inputs[layout].tables);
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
  return compareEngines(reference, engines[layout]!, statementOf(text), inputs[layout]);
}

/** Expressions of a statement: to ask each by itself takes four times as long. */
const askedTogether = 40;

/** Compares expressions as columns of one statement, and by itself each of those that are not all equal, and what can be no column. */
function compareTogether(texts: readonly string[]): (text: string) => Promise<Verdict> {
  const expressions = texts.filter(text => isExpression(text) && isAccepted(statementOf(text)));
  const verdicts = new Map<number, Promise<Verdict>>();
  const ask = (batch: number) => {
    const asked = expressions.slice(batch * askedTogether, (batch + 1) * askedTogether);
    return compare('list', `select ${asked.map((expression, i) => `${expression} as v${i}`).join(', ')}`);
  };
  return async text => {
    const at = expressions.indexOf(text);
    if (at === -1) return compare('list', text);
    const batch = Math.floor(at / askedTogether);
    const verdict = verdicts.get(batch) ?? ask(batch);
    verdicts.set(batch, verdict);
    return (await verdict).kind === 'equal' ? verdict : compare('list', text);
  };
}

function isAccepted(sql: string): boolean {
  const catalog = new Map(inputs.list.tables.map(table => [table.name, table]));
  try {
    compileForDuckDb({ sql, catalog, parameterNames: Object.keys(parameters), maxRows: 1 });
    return true;
  } catch {
    return false;
  }
}

describe.each(caseGroups)(
  'contract 4.12: %s',
  (_name, { same, fail = [], agree = [], refused = [], answered = [] }) => {
    const verdictOf = compareTogether(same);
    if (same.length > 0)
      it.each(same)('answers like the reference: %s', async text => {
        expect(await verdictOf(text)).toEqual({ kind: 'equal', detail: '' });
      });

    const eitherOf = compareTogether(agree);
    if (agree.length > 0)
      it.each(agree)('answers or fails like the reference: %s', async text => {
        expect(await eitherOf(text)).toMatchObject({ kind: expect.stringMatching(/equal|bothFail/) });
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
        for (const engine of Object.values(engines))
          expect(await engine.evaluate(statementOf(text), parameters)).toMatchObject({ rows });
      });
  },
);

describe.each(['list', 'single'] as const)("contract 4.12: a caller's query on the %s layout", layout => {
  it.each(callerCases)('%s', async (sql, rows) => {
    expect(await compare(layout, sql)).toEqual({ kind: 'equal', detail: '' });
    expect(await engines[layout]!.evaluate(sql, parameters)).toMatchObject({ rows });
  });
});
