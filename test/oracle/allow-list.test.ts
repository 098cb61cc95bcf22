import { expect, it } from 'vitest';
import { scalarFunctionRows, specialFunctions } from '../../src/googlesql/functions/all-functions.ts';
import { unsupported } from '../../src/googlesql/functions/function-row.ts';
import { aggregateRows, windowRows } from '../../src/googlesql/functions/functions-aggregate.ts';
import { caseGroups } from './case-groups.ts';
import { callerCases } from './cases-callers.ts';

const rows = [...aggregateRows, ...windowRows, ...scalarFunctionRows].filter(
  ({ template }) => template !== unsupported,
);
const names = [
  ...new Set([...rows.map(row => row.name), ...Object.keys(specialFunctions), 'ARRAY_LENGTH']),
].sort();

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
