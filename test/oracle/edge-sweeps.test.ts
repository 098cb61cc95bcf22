import { afterAll, beforeAll, expect, it } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import { toCallersError } from '../../src/duckdb/engine-errors.ts';
import { scalarFunctionRows, specialFunctions } from '../../src/googlesql/functions/all-functions.ts';
import { aggregateRows, windowRows } from '../../src/googlesql/functions/functions-aggregate.ts';
import * as aggregates from './aggregate-sweeps.ts';
import { compareEngines } from './compare-engines.ts';
import { notSwept, signaturesOf, specialTemplates, sweepOf, templateOf } from './edge-sweeps.ts';
import { knownRefusals } from './known-refusals.ts';
import { type ReferenceServer, startReferenceServer } from './reference-server.ts';
import { openSmallEngine, type SmallEngine } from './small-engine.ts';

const templates = new Set([
  ...scalarFunctionRows.filter(({ template }) => template).flatMap(row => signaturesOf(row).map(templateOf)),
  ...specialTemplates,
]);
const sweeps = [...templates].flatMap(template => sweepOf(template) ?? []);
const aggregateSweeps = [
  ...aggregateRows.flatMap(row => aggregates.aggregateSweepsOf(row, false)),
  ...windowRows.flatMap(row => aggregates.aggregateSweepsOf(row, true)),
];
const nothing = { tables: [], rows: {}, parameters: {} };

/** Calls whose answer is known to differ, and why. */
const known: readonly (readonly [calls: RegExp, reason: string])[] = [
  [/^(?:DATETIME|TIME)\(.*-9223372036854775808/, 'the reference keeps 32 bits of a part'],
  [/^GENERATE_DATE_ARRAY\(/, 'the reference makes 16,000 elements at most'],
  [/^GENERATE_ARRAY\(/, 'the reference makes 16,000 elements at most'],
  [/^CONTAINS_SUBSTR\(/, 'the reference lacks it'],
  [/^(?:RANGE|RANGE_INTERSECT)\(/, 'no RANGE is compared, but what is made of it'],
  [/^(?:RANGE_CONTAINS|HLL_COUNT\.EXTRACT)\(/, 'the reference lacks it'],
  [/^(?:(?:TO|FROM)_BASE32|(?:COSINE|EUCLIDEAN)_DISTANCE)\(/, 'the reference lacks it'],
  [/^(?:ROUND|TRUNC)\(.*, .*, /, 'a rounding mode is no STRING to the reference'],
  [/AVG\(a\).*9223372036854775807.*-9223372036854775808/, 'the reference rounds on the way'],
  [
    /ANY_VALUE\(a\) from unnest\(\[struct\(cast\(null/,
    'the reference takes NULL, which the documentation passes over',
  ],
];

/** Words that only DuckDB would use. */
const words =
  /Error:|Conversion|Binder|Out of Range|Overflow in|\b(?:INT32|INT128|HUGEINT|VARCHAR|DOUBLE|BIGINT|DECIMAL\()|Could not (?:convert|cast (?!literal)|parse|decode)|can't be cast|ICU|A value is out of range, or/;

let reference: ReferenceServer;
let engine: SmallEngine;
beforeAll(async () => {
  reference = await startReferenceServer();
  engine = remembering(await openSmallEngine([]));
});
afterAll(() => {
  reference?.stop();
  engine?.stop();
});

/** An engine that answers what it was asked before from memory: both tests below ask for the same calls. */
function remembering(of: SmallEngine): SmallEngine {
  const known = new Map<string, ReturnType<SmallEngine['evaluate']>>();
  const evaluate: SmallEngine['evaluate'] = (sql, parameters) => {
    const answer = known.get(sql) ?? of.evaluate(sql, parameters);
    known.set(sql, answer);
    return answer;
  };
  return { ...of, evaluate };
}

it('sweeps every signature of the allow-list and every function with a form of its own', () => {
  const swept = new Set([...sweeps, ...aggregateSweeps].map(({ template }) => template));
  const isListed = (template: string) => notSwept.some(([form]) => form.test(template));
  const own = Object.keys(specialFunctions).filter(
    name => ![...swept].some(template => template.toUpperCase().startsWith(`${name}(`)),
  );
  const missing = [
    ...[...templates, ...own.map(name => `${name}(`)].filter(name => !swept.has(name)),
    ...[...aggregateRows, ...windowRows]
      .filter(({ name, template }) => template && !Object.hasOwn(aggregates.notSwept, name))
      .map(({ name }) => `${name}(`)
      .filter(name => ![...swept].some(template => template.startsWith(name))),
  ];
  expect(missing.filter(template => !isListed(template))).toEqual([]);
});

it('answers every signature like the reference at the edges of its types, NULL among them', async () => {
  const wrong: string[] = [];
  for (const { sql, calls } of [...sweeps, ...aggregateSweeps]) {
    if ((await compareEngines(reference, engine, sql, nothing)).kind === 'equal') continue;
    for (const call of calls.filter(text => !known.some(([pattern]) => pattern.test(text)))) {
      const { kind, detail } = await compareEngines(reference, engine, `select ${call} as v`, nothing);
      const isRefused = kind === 'refused' && knownRefusals.some(([message]) => message.test(detail));
      if (kind !== 'equal' && kind !== 'bothFail' && !isRefused) wrong.push(`${call}: ${kind} ${detail}`);
    }
  }
  expect(sweeps.length).toBeGreaterThan(150);
  expect(wrong).toEqual([]);
});

it("says in BigQuery's words why a call fails, never in DuckDB's, and that it is the caller's", async () => {
  const strange: string[] = [];
  let failures = 0;
  for (const { sql, calls } of sweeps) {
    const answer = await engine.evaluate(sql, {});
    const values = 'rows' in answer ? (answer.rows[0] as readonly (readonly unknown[][])[]).flat(2) : [];
    for (const [i, call] of calls.entries()) {
      const isAnswered = values.length === calls.length && values[i] !== null;
      if (isAnswered || call.includes('cast(null as')) continue;
      const alone = await engine.evaluate(`select ${call} as v`, {});
      if (!('error' in alone)) continue;
      failures += 1;
      const error = toCallersError(new Error(alone.error.replace(/^Error: /, '')), 'sweep', () => undefined);
      const isCallers = error instanceof GatewayError && error.code === 'invalid_query';
      if (!isCallers || words.test(error.message)) strange.push(`${call}: ${String(error)}`);
    }
  }
  expect(failures).toBeGreaterThan(50);
  expect(strange).toEqual([]);
});
