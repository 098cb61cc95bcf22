import { isDeepStrictEqual } from 'node:util';
import { GatewayError } from '../../src/base/errors.ts';
import { toCallersError } from '../../src/duckdb/engine-errors.ts';
import { compareEngines } from '../oracle/compare-engines.ts';
import type { ReferenceServer } from '../oracle/reference-server.ts';
import type { EngineAnswer, SmallEngine } from '../oracle/small-engine.ts';
import { comparableRows, type WireColumn, type WireValue } from '../oracle/wire-values.ts';
import { drawnAs } from './drawn-values.ts';
import { withoutTexts } from './sql-text.ts';
import { anyName, type SuiteCase } from './suite-case.ts';

/**
 * `equal`: as the suite says. `like the reference`: the suite says otherwise, Google's reference implementation what we say
 * (pages are drawn by hand, and their default time zone is not UTC). `failed`: the gateway would answer with 5xx.
 */
export type Judgement = {
  readonly kind: 'equal' | 'like the reference' | 'wrong' | 'failed' | 'refused' | 'unsteady' | 'skipped';
  readonly detail: string;
};

export async function judgeCase(
  suiteCase: SuiteCase,
  engine: SmallEngine,
  reference: ReferenceServer,
): Promise<Judgement> {
  const { sql, expected, skipped, isUnsteady, isOfOtherZone } = suiteCase;
  if (skipped !== undefined) return { kind: 'skipped', detail: skipped };
  const answer = await engine.evaluate(sql, {});
  const outcome = callersView(answer);
  if (outcome.kind === 'failed') return outcome;
  if (outcome.kind === 'refused')
    return expected.kind === 'error' && !lacking.test(outcome.detail)
      ? { kind: 'equal', detail: '' }
      : outcome;
  const difference = differenceOf(outcome, suiteCase);
  if (difference === '') return { kind: 'equal', detail: '' };
  const verdict = await compareEngines(reference, engine, withTables(suiteCase), noInput).catch(
    (error: unknown) => ({ kind: 'wrong' as const, detail: String(error) }),
  );
  if (verdict.kind === 'equal' || (verdict.kind === 'bothFail' && outcome.kind === 'fails'))
    return { kind: 'like the reference', detail: difference };
  const isTied = difference.startsWith(otherOrder) || areSameElements(outcome, suiteCase);
  const isShifted = isOfOtherZone && verdict.kind !== 'wrong' && outcome.kind === 'answers';
  if ((isUnsteady && expected.kind === 'rows') || isTied || isShifted)
    return { kind: 'unsteady', detail: difference };
  return {
    kind: 'wrong',
    detail: `${difference}\n[against the reference: ${verdict.kind}: ${verdict.detail.split('\n').slice(0, 2).join('\n').slice(0, 1500)}]`,
  };
}

/** Words with which the front-end says that it lacks something, not that the query is wrong. */
const lacking = /not supported|not found|No matching signature|Syntax error|too complex/i;

type Outcome =
  | {
      readonly kind: 'answers';
      readonly columns: readonly WireColumn[];
      readonly rows: readonly (readonly WireValue[])[];
    }
  | { readonly kind: 'fails'; readonly detail: string }
  | { readonly kind: 'failed' | 'refused'; readonly detail: string };

/** What a caller of the gateway would get. */
function callersView(answer: EngineAnswer): Outcome {
  if ('rows' in answer) return { kind: 'answers', ...answer };
  if ('refusal' in answer) return { kind: 'refused', detail: answer.refusal };
  const error = toCallersError(new Error(answer.error.replace(/^Error: /, '')), '', () => {});
  const words = error instanceof Error ? error.message : String(error);
  if (!(error instanceof GatewayError) || error.code === 'engine_failed')
    return { kind: 'failed', detail: `${answer.error.split('\n')[0]}` };
  return { kind: /not supported/.test(words) ? 'refused' : 'fails', detail: words };
}

/** What differs from what the suite says; empty where nothing does. */
function differenceOf(given: Outcome, { expected, sql }: SuiteCase): string {
  if (expected.kind === 'error') {
    if (given.kind === 'fails') return '';
    return `expected: ${expected.message}\nours: ${show(given)}`;
  }
  if (given.kind !== 'answers') return `expected: ${show(expected.rows)}\nours fails: ${show(given)}`;
  if (expected.kind === 'rows') {
    const outcome = asWritten(given, expected.columns);
    if (!isDeepStrictEqual(outcome.columns, expected.columns))
      return `columns expected: ${show(expected.columns)}\nours: ${show(outcome.columns)}`;
    const plain = expected.hasUnorderedArrays ? sortedArrays : (value: WireValue) => value;
    const [wanted, got] = [expected.rows, outcome.rows].map(rows =>
      comparableRows(
        rows.map(row => row.map(plain)),
        expected.isOrdered,
      ),
    );
    return isDeepStrictEqual(wanted, got) ? '' : `expected: ${show(wanted)}\nours: ${show(got)}`;
  }
  const { columns, rows } = given;
  const difference = `expected: ${show(expected.names)} ${show(expected.rows)}\nours: ${show(columns.map(c => c.name))} ${show(rows)}`;
  const isNamed = (name: string, i: number) =>
    columns[i]?.name.toLowerCase() === name.toLowerCase() || /^$|^f\d+_$|^\$col\d+$|^_.*_$/.test(name);
  if (expected.names.length > 0 && expected.names.length !== columns.length) return difference;
  if (!expected.names.every(isNamed) || rows.length !== expected.rows.length) return difference;
  const isDrawn = (row: readonly WireValue[], cells: readonly string[]) =>
    cells.length === row.length && row.every((value, i) => drawnAs(columns[i]!, value, cells[i]!));
  const isOrdered = /\border\s+by\b[^)]*$/i.test(withoutTexts(sql));
  if (isOrdered && rows.every((row, i) => isDrawn(row, expected.rows[i]!))) return '';
  const left = [...expected.rows];
  for (const row of rows) {
    const i = left.findIndex(cells => isDrawn(row, cells));
    if (i === -1) return difference;
    left.splice(i, 1);
  }
  return isOrdered ? `${otherOrder}${difference}` : '';
}

/** The rows as the suite writes them: of SELECT AS STRUCT as if their fields were columns, of a value table without a name. */
function asWritten(
  outcome: Extract<Outcome, { kind: 'answers' }>,
  expected: readonly WireColumn[],
): Pick<typeof outcome, 'columns' | 'rows'> {
  const [column, ...others] = outcome.columns;
  const isOfValues = expected.length === 1 && expected[0]?.name === anyName;
  if (column && others.length === 0 && isOfValues)
    return { columns: [{ ...column, name: anyName }], rows: outcome.rows };
  if (others.length > 0 || column?.mode === 'REPEATED' || !isDeepStrictEqual(column?.fields, expected))
    return outcome;
  return { columns: expected, rows: outcome.rows.map(([row]) => (Array.isArray(row) ? row : [row ?? null])) };
}

/** Begins what is said where the rows are right and stand in another order, as ties of ORDER BY may. */
const otherOrder = 'another order: ';

/** The value with every array in it sorted: SQL gives ARRAY_AGG without ORDER BY no order. */
function sortedArrays(value: WireValue): WireValue {
  if (!Array.isArray(value)) return value;
  const texts = value.map(element => JSON.stringify(sortedArrays(element)));
  return texts.sort();
}

/** Whether rows differ in the order of the elements of an array only, and nothing in the query gives them one. */
function areSameElements(outcome: Outcome, { expected, sql }: SuiteCase): boolean {
  if (outcome.kind !== 'answers' || expected.kind !== 'table') return false;
  if (!/\barray(_agg|_concat_agg)?\s*\(|string_agg/i.test(sql)) return false;
  const letters = (value: unknown) => [...JSON.stringify(value)].filter(c => /\w/.test(c)).sort();
  return letters(outcome.rows).join('') === letters(expected.rows).join('');
}

const noInput = { tables: [], rows: {}, parameters: {} };

/** The statement with its tables as subsets: the reference implementation then needs no catalogue. */
function withTables({ sql, tables }: SuiteCase): string {
  const read = tables.filter(({ name }) => new RegExp(`\\b${name}\\b`, 'i').test(sql));
  if (read.length === 0) return sql;
  const list = read.map(table => `${table.name} AS (${table.sql})`).join(', ');
  const own = /^\s*with\s+(recursive\s+)?/i.exec(sql);
  return own ? `WITH ${own[1] ?? ''}${list}, ${sql.slice(own[0].length)}` : `WITH ${list} ${sql}`;
}

function show(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 1500 ? `${text.slice(0, 1500)}…` : text;
}
