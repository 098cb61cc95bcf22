import { isDeepStrictEqual } from 'node:util';
import { toCallersError } from '../../src/duckdb/engine-errors.ts';
import type { ReferenceInput, ReferenceServer } from './reference-server.ts';
import type { SmallEngine } from './small-engine.ts';
import type { Spellings } from './spellings.ts';
import { comparableRows } from './wire-values.ts';

/**
 * The outcome of one statement on both engines; `detail` says what differs, or why it was refused.
 * A refusal comes from the front-end, or from a check that it printed and that names what it does not support.
 */
export type Verdict = {
  readonly kind: 'equal' | 'bothFail' | 'refused' | 'unknownToReference' | 'wrong';
  readonly detail: string;
};

/**
 * Words with which the reference implementation says that it lacks a function, not that the query is wrong. To it no two WITH expressions are the
 * same, so that one after DISTINCT is another than its twin in ORDER BY. It lacks base 32, and reads
 * no name of a month in a format of CAST, and no chained calls, though all are documented.
 */
const lacking =
  /Function not found|not supported|Unsupported|Unimplemented|not implemented|optional function|Unexpected INTERVAL|got keyword (BY|INNER|OUTER)|(an array of|subquery expression as) patterns|does not match for function JSON_SET|Invalid format 'BASE32'|string at 0 with format element ' '|a type that is not compared|DATE - INT64 \[|Type not found: `interval`|Unimplemented cast|both DISTINCT and ORDER BY arguments|Function call cannot be applied to this/i;

/** Runs a statement on the reference and on ours, and compares names, types, values and, where it counts, order. */
export async function compareEngines(
  reference: ReferenceServer,
  engine: SmallEngine,
  statement: string | Spellings,
  input: ReferenceInput,
): Promise<Verdict> {
  const { sql, plain } = typeof statement === 'string' ? { sql: statement, plain: statement } : statement;
  const [first, actual] = await Promise.all([
    reference.evaluate(plain, input),
    engine.evaluate(sql, input.parameters),
  ]);
  const twin = withOneElement(plain);
  const isEager = 'error' in first && first.error.startsWith('More than one element') && 'rows' in actual;
  const expected = isEager && twin !== plain ? await reference.evaluate(twin, input) : first;
  if ('refusal' in actual)
    return { kind: 'error' in expected ? 'bothFail' : 'refused', detail: actual.refusal };
  if ('error' in expected) {
    if ('error' in actual) return { kind: 'bothFail', detail: expected.error };
    const kind = lacking.test(expected.error) ? 'unknownToReference' : 'wrong';
    return { kind, detail: `the reference fails: ${expected.error}\nours: ${JSON.stringify(actual.rows)}` };
  }
  const show = (rows: unknown) => JSON.stringify(rows);
  if ('error' in actual) {
    const { message } = toCallersError(
      new Error(actual.error.replace(/^Error: /, '')),
      '',
      () => undefined,
    ) as Error;
    const refusal = /not supported/.test(message) ? message : undefined;
    if (refusal) return { kind: 'refused', detail: refusal };
    return { kind: 'wrong', detail: `reference: ${show(expected.rows)}\nours fails: ${actual.error}` };
  }
  if (!isDeepStrictEqual(actual.columns, expected.columns)) {
    return {
      kind: 'wrong',
      detail: `columns of the reference: ${show(expected.columns)}\nours: ${show(actual.columns)}`,
    };
  }
  const isOrdered = endsInOrder(plain);
  const [wanted, got] = [expected.rows, actual.rows].map(rows => comparableRows(rows, isOrdered));
  if (isDeepStrictEqual(wanted, got)) return { kind: 'equal', detail: '' };
  return { kind: 'wrong', detail: `reference: ${show(wanted)}\nours: ${show(got)}` };
}

/**
 * The query with one element in each subquery that random queries let fail. SQL does not say that rows which no answer needs are
 * calculated, such as one side of INTERSECT where the other is empty: the reference fails in them, and we may answer as the twin does.
 */
function withOneElement(sql: string): string {
  return sql.replaceAll('(select x from unnest([1, 2]) x', '(select max(x) from unnest([1, 2]) x');
}

/** Whether the outermost query has ORDER BY; inside parentheses it is not the result's. */
function endsInOrder(sql: string): boolean {
  let text = sql;
  for (let inner = ''; inner !== text; ) {
    inner = text;
    text = text.replace(/\([^()]*\)/g, '');
  }
  return /\border\s+by\b/i.test(text);
}
