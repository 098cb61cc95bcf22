import type { FunctionRow } from '../../src/googlesql/functions/function-row.ts';
import { edgesOf, type Sweep, signaturesOf } from './edge-sweeps.ts';

/** Aggregates that no sweep calls, and why. */
export const notSwept: Readonly<Record<string, string>> = {
  GROUPING: 'takes a key of groups alone',
  APPROX_COUNT_DISTINCT: 'the reference lacks it',
  APPROX_QUANTILES: 'the reference lacks it',
  APPROX_TOP_COUNT: 'the reference lacks it',
  APPROX_TOP_SUM: 'the reference lacks it',
  'HLL_COUNT.INIT': 'the reference lacks it',
  'HLL_COUNT.MERGE': 'the reference lacks it',
  'HLL_COUNT.MERGE_PARTIAL': 'the reference lacks it',
};

/** Arguments that must be constants, from the second on, by a function or a function and its first type. */
const constants: Readonly<Record<string, readonly string[]>> = {
  'STRING_AGG(STRING': ["'-'"],
  'STRING_AGG(BYTES': ["b'-'"],
  NTH_VALUE: ['2'],
  PERCENTILE_CONT: ['0.25'],
  PERCENTILE_DISC: ['0.75'],
  LAG: ['2'],
  LEAD: ['1'],
};

/** Calls by a name of their own where the reference has another. */
const spelledAs: Readonly<Record<string, string>> = {
  MAX_BY: 'any_value(a having max b)',
  MIN_BY: 'any_value(a having min b)',
};

/** What makes the answer of an aggregate one, whatever the order of its rows. */
const ordered: Readonly<Record<string, string>> = {
  STRING_AGG: ' order by a',
  ARRAY_AGG: ' ignore nulls order by a',
};

/** The sweeps of an aggregate or analytic function, one for each signature. */
export function aggregateSweepsOf(row: FunctionRow, isAnalytic: boolean): readonly Sweep[] {
  if (!row.template || Object.hasOwn(notSwept, row.name)) return [];
  const signatures = signaturesOf({ ...row, variadic: false });
  // What is taken says nothing of how it is found.
  return (Object.hasOwn(spelledAs, row.name) ? signatures.slice(0, 1) : signatures).flatMap(
    ({ name, parameters }) => {
      const lists = parameters.map(edgesOf);
      if (lists.some(list => list === undefined)) return [];
      const [first = [], second = ['0']] = lists as readonly (readonly string[])[];
      const texts =
        constants[name] ??
        constants[`${name}(${parameters[0]}`] ??
        (isAnalytic && parameters.length > 1 ? ['1'] : []);
      const wanted = texts.length > 0 || parameters.length < 2 ? texts : ['b'];
      const last = parameters.length === 3 ? [first[0]!] : [];
      const inside =
        name === 'COUNT' && parameters.length === 0
          ? ['*']
          : name === 'NTILE'
            ? ['2']
            : parameters.length === 0
              ? []
              : ['a', ...wanted.slice(0, parameters.length - 1), ...last];
      const call =
        spelledAs[name] ?? `${name}(${inside.join(', ')}${isAnalytic ? '' : (ordered[name] ?? '')})`;
      const calls = isAnalytic ? overRows(name, call, first) : overSets(call, first, second);
      return [{ template: `${name}(${parameters.join(', ')})`, calls, sql: together(calls) }];
    },
  );
}

const together = (calls: readonly string[]) =>
  `select ${calls.map((call, i) => `${call} as c${i}`).join(', ')}`;

/** Over each edge alone, some beside NULL and another, over all of them and over nothing. */
function overSets(call: string, first: readonly string[], second: readonly string[]): readonly string[] {
  const row = (a: string, b: string) => `struct(${a} as a, ${b} as b)`;
  const missing = first.at(-1)!;
  const all = first.map((a, i) => row(a, second[i % second.length]!));
  const sets = [
    ...first.map((a, i) => [row(a, second[i % second.length]!)]),
    ...first.slice(0, 3).map(a => [row(a, second[0]!), row(missing, second[0]!)]),
    first.slice(0, 2).map((a, i) => row(a, second[i % second.length]!)),
    all,
  ];
  const over = (rows: readonly string[], where: string) =>
    `(select ${call} from unnest([${rows.join(', ')}])${where})`;
  return [...sets.map(rows => over(rows, '')), over(all, ' where false')];
}

/** Over the edges in order, in windows of all rows and of two. */
function overRows(name: string, call: string, edges: readonly string[]): readonly string[] {
  const values = edges.length > 0 ? edges : ['1', '2'];
  const rows = values.map((a, o) => `struct(${a} as a, ${o} as o)`).join(', ');
  const windows = /^PERCENTILE/.test(name)
    ? ['()']
    : /^(?:FIRST|LAST|NTH)_VALUE/.test(name)
      ? ['(order by o)', '(order by o rows between 1 preceding and current row)']
      : ['(order by o)'];
  return windows.map(
    window => `array(select as struct ${call} over ${window} as v from unnest([${rows}]) order by o)`,
  );
}
