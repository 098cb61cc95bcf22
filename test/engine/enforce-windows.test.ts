import { expect, test } from 'vitest';
import { enforceWindows } from '../../src/engine/bound-window.ts';
import type { Engine, Statement } from '../../src/engine/engine.ts';
import { createStandingClock } from '../support/standing-clock.ts';

test('no statement reaches an engine without the bounds of its window, to be run or to be explained', async () => {
  const reached: Statement[] = [];
  const engine: Engine = {
    run: async statement => {
      reached.push(statement);
      return { columns: [], rowsJson: Buffer.from('[]'), rowCount: 0 };
    },
    explain: async statement => {
      reached.push(statement);
      return { columns: [], sources: [] };
    },
    describe: async () => [],
    subsets: async () => [],
    tablesVersion: async () => '',
    usage: () => ({ waiting: 0, memoryBytes: 0 }),
    check: async () => [],
    close: async () => undefined,
  };
  const kept = enforceWindows(engine, createStandingClock());
  const window = {
    start: 'since',
    end: 'until',
    default: { text: '1h', ms: 3_600_000 },
    max: { text: '2h', ms: 7_200_000 },
  };
  const parameters = [
    { name: 'since', value: null },
    { name: 'until', value: null },
  ];
  const statement = { endpoint: 'e', sql: 'select 1 as n', parameters, maxRows: 1 };
  const options = { signal: new AbortController().signal, timeoutMs: 1000 };
  await kept.run({ ...statement, window }, options);
  await kept.explain({ ...statement, window }, options);
  await kept.run(statement, options);
  const bounded = {
    ...statement,
    parameters: [
      { name: 'since', value: '2026-01-15T11:00:00.000000Z' },
      { name: 'until', value: '2026-01-15T12:00:00.000000Z' },
    ],
  };
  expect(reached).toEqual([bounded, bounded, statement]);

  const tooFarBack = [{ name: 'since', value: '2026-01-15T09:59:59.999999Z' }];
  for (const ask of [kept.run, kept.explain]) {
    const refused = ask({ ...statement, parameters: tooFarBack, window }, options);
    await expect(refused).rejects.toMatchObject({ code: 'invalid_parameter' });
  }
  expect(reached).toHaveLength(3);
});
