import { expect, it } from 'vitest';
import { aggregateRows, windowRows } from '../../src/googlesql/functions/functions-aggregate.ts';
import { arrayRows } from '../../src/googlesql/functions/functions-array.ts';
import { conditionalRows } from '../../src/googlesql/functions/functions-conditional.ts';
import { jsonFunctions, jsonRows } from '../../src/googlesql/functions/functions-json.ts';
import { mathRows } from '../../src/googlesql/functions/functions-math.ts';
import { stringFunctions, stringRows } from '../../src/googlesql/functions/functions-string.ts';
import { timeFunctions, timeRows } from '../../src/googlesql/functions/functions-time.ts';
import { caseGroups } from './case-groups.ts';
import { callerCases } from './cases-callers.ts';

const rows = [
  ...aggregateRows,
  ...windowRows,
  ...stringRows,
  ...mathRows,
  ...conditionalRows,
  ...arrayRows,
  ...jsonRows,
  ...timeRows,
];
const special = [stringFunctions, jsonFunctions, timeFunctions].flatMap(table => Object.keys(table));
const names = [...new Set([...rows.map(row => row.name), ...special, 'ARRAY_LENGTH'])].sort();

/** The texts that both engines answer, or that have a written answer: a refusal shows nothing of a function. */
const answeredTexts = [
  ...caseGroups.flatMap(([, { same, agree = [], answered = [] }]) => [
    ...same,
    ...agree,
    ...answered.map(([sql]) => sql),
  ]),
  ...callerCases.map(([sql]) => sql),
].join('\n');

it('answers every function of the allow-list in some written case', () => {
  const missing = names.filter(name => !new RegExp(`\\b${name}\\s*\\(`, 'i').test(answeredTexts));
  expect(missing).toEqual([]);
});
