import { expect, test } from 'vitest';
import type { CompiledStatement } from '../../src/googlesql/compile-duckdb.ts';
import { bindCaller, catalog, compileCaller } from './compile-caller.ts';
import { plainQueries } from './plain-queries.ts';

/** Statements that stop half way through the binder, or use up one of its limits. */
const refused = [
  'select id, sum(length(id)) over w from edge_logs, unnest(metadata) as m where nothing = 1',
  `select ${Array.from({ length: 900 }, () => '*').join(', ')} from edge_logs, auth_logs, storage_logs`,
  'with edge_logs as (select 1 as x) select id from edge_logs',
  'select id from secrets',
];

const attempt = (compile: () => CompiledStatement): unknown => {
  try {
    return compile();
  } catch (error) {
    return error instanceof Error ? error.message : error;
  }
};

test('a statement compiles as if the saved subsets had been bound for it alone, whatever was sent before', () => {
  const texts = [...plainQueries, ...refused, ...plainQueries];
  const kept = texts.map(text => attempt(() => compileCaller(text)));
  // Nothing is kept for a catalogue that was never seen.
  const alone = texts.map(text => attempt(() => compileCaller(text, new Map(catalog))));
  expect(kept).toEqual(alone);
  for (const text of refused) expect(() => compileCaller(text), text).toThrow();
});

test("a caller's statement lists its own functions, reads and tables", () => {
  const first = bindCaller('select upper(id) as x from auth_logs');
  const second = bindCaller('select lower(id) as x from edge_logs');
  expect([first.functions, second.functions]).toEqual([['UPPER'], ['LOWER']]);
  expect([...second.reached].map(({ name }) => name)).toEqual(['edge_logs']);
  expect(second.tables).toEqual(first.tables);
});
