import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ReferenceServer, startReferenceServer } from './reference-server.ts';
import { openSmallEngine, type SmallEngine } from './small-engine.ts';
import { smallRows, smallTables } from './small-tables.ts';
import { comparableRows } from './wire-values.ts';

/** What GROUP BY says, and the sets of keys that it stands for; `x` and `y` are the keys. */
const groupings: readonly (readonly [string, readonly string[]])[] = [
  ['rollup(x, y)', ['x, y', 'x', '']],
  ['rollup((x, y))', ['x, y', '']],
  ['cube(x, y)', ['x, y', 'x', 'y', '']],
  ['grouping sets (x, y, ())', ['x', 'y', '']],
  ['grouping sets ((x, y), (x, y), x)', ['x, y', 'x, y', 'x']],
  ['grouping sets (rollup(x, y), cube((x, y)))', ['x, y', 'x', '', 'x, y', '']],
];

/** FROM with WHERE, and the two keys. */
const sources: readonly (readonly [string, string, string])[] = [
  ['facts', 'b', 'd'],
  ['facts', 'i > 0', 'round(f / 1000, 2)'],
  ['facts where false', 'b', 's'],
  ['lists, unnest(numbers) as n', 'n', 'id'],
  ['logs, unnest(metadata) as m left join unnest(m.request) as r', 'm.project', 'r.method'],
  ["(select 'k' as k, b from facts)", 'k', 'b'],
];

const input = { tables: smallTables('single'), rows: smallRows, parameters: {} };
let reference: ReferenceServer;
let engine: SmallEngine;
beforeAll(async () => {
  reference = await startReferenceServer();
  engine = await openSmallEngine(input.tables);
  await engine.fill(smallRows);
});
afterAll(() => {
  reference?.stop();
  engine?.stop();
});

it.each(sources.flatMap(source => groupings.map(grouping => [source, grouping] as const)))(
  'contract 4.12: a grouping set is a GROUP BY of its own: %j %j',
  async ([from, x, y], [grouping, sets]) => {
    const keyed = (keys: string) => keys.replace(/\b[xy]\b/g, name => (name === 'x' ? x : y));
    const shown = (keys: string) =>
      [x, y].map((key, i) => (keys.includes('xy'[i]!) ? key : `if(true, null, any_value(${key}))`));
    const apart = sets.map(set => {
      const list = `${shown(set).join(', ')}, count(*) as total, max(${y}) as most`;
      return `select ${list} from ${from} group by ${set === '' ? 'ceil(0)' : keyed(set)}`;
    });
    // Without rows the grand total is still a row, which no GROUP BY gives.
    const total = apart.map((text, i) => (sets[i] === '' ? text.replace(' group by ceil(0)', '') : text));
    const together = `select ${x}, ${y}, count(*) as total, max(${y}) as most from ${from} group by ${keyed(grouping)}`;
    const expected = await reference.evaluate(total.map(text => `(${text})`).join(' union all '), input);
    const actual = await engine.evaluate(together, {});
    if (!('rows' in expected && 'rows' in actual)) throw new Error(JSON.stringify([expected, actual]));
    expect(comparableRows(actual.rows, false)).toEqual(comparableRows(expected.rows, false));
  },
);
