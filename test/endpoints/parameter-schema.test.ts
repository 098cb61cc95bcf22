import { expect, test } from 'vitest';
import { DefinitionError, parseDefinition } from '../../src/endpoints/parse-definition.ts';

const withParameter = (lines: string) => `/*
id: 11111111-2222-3333-4444-555555555555
name: one
description: The number one.
parameters:
  p:
    description: A parameter.
${lines.replace(/^/gm, '    ')}
columns: { n: { type: INT64, description: One. } }
*/
select 1 as n
`;

const parameterOf = (lines: string) => parseDefinition('one.sql', withParameter(lines)).parameters[0];

function problemsOf(lines: string): string[] {
  try {
    parameterOf(lines);
  } catch (error) {
    if (error instanceof DefinitionError) return error.message.split('\n');
    throw error;
  }
  return [];
}

test('contract 10.4: bounds, default and examples of a header are canonical values of the type', () => {
  expect(
    parameterOf(
      'type: TIMESTAMP\nmin: 2026-01-01 00:00:00+01:00\ndefault: 2026-01-02\nexamples: [2026-01-03T00:00]',
    ),
  ).toMatchObject({
    min: '2025-12-31T23:00:00.000000Z',
    default: '2026-01-02T00:00:00.000000Z',
    examples: ['2026-01-03T00:00:00.000000Z'],
  });
  expect(parameterOf('type: INT64\nrepeated: true\ndefault: [1, 2]\nexamples: [[+3], "4,5"]')).toMatchObject({
    default: ['1', '2'],
    examples: [['3'], ['4', '5']],
  });
  expect(parameterOf('type: NUMERIC\nvalues: [1.50, 2]\naliases: { two: 2.0, "3": 3 }')).toMatchObject({
    values: ['1.5', '2'],
    aliases: { two: '2', 3: '3' },
  });
  expect(parameterOf('type: FLOAT64\nrepeated: true\nmax: .inf\ndefault: [-.inf, 1]')).toMatchObject({
    max: 'Infinity',
    default: ['-Infinity', '1'],
  });
});

test.each([
  ['an unknown type', 'type: INTEGER', '8: parameters.p.type: is "INTEGER"; allowed: string, enum'],
  ['a bound of another type', 'type: INT64\nmin: a', '9: parameters.p.min: is "a"; allowed: an integer of 64 bits'],
  ['a bound of a type without order', 'type: BOOL\nmin: true', '9: parameters.p.min: is for numbers, dates and times alone'],
  ['an empty range', 'type: DATE\nmin: 2026-01-02\nmax: 2026-01-01', '10: parameters.p.max: must not be less than min'],
  ['an empty range of lengths', 'type: STRING\nminLength: 3\nmaxLength: 2', '10: parameters.p.maxLength: must not be less than minLength'],
  ['a length of a number', 'type: INT64\nmaxLength: 2', '9: parameters.p.maxLength: is for the type STRING alone'],
  ['a pattern that RE2 does not know', 'type: STRING\npattern: (?=a)', '9: parameters.p.pattern: is not a valid pattern'],
  ['a default out of bounds', 'type: INT64\nmax: 9\ndefault: 10', '10: parameters.p.default: is "10"; allowed: an integer of 64 bits, at most 9'],
  ['a default that is never used', 'type: INT64\nrequired: true\ndefault: 1', '10: parameters.p.default: must not stand beside required'],
  ['an example out of bounds', 'type: STRING\npattern: "^a"\nexamples: [a, b]', '10: parameters.p.examples.1: is "b"; allowed: a non-empty string, a match of ^a'],
  ['a list where there is one value', 'type: INT64\ndefault: [1]', '9: parameters.p.default: is an array; allowed: a string'],
  ['an enum without values', 'type: enum', '6: parameters.p.values: must list the values of the enum'],
  ['an enum with two values of one GraphQL name', 'type: enum\nvalues: [a, A]', '9: parameters.p.values: must not have the GraphQL name A twice'],
  ['a value that is no name', 'type: enum\nvalues: [a-b]', '9: parameters.p.values: "a-b" must be letters, digits and "_"'],
  ['aliases without values', 'type: STRING\naliases: { b: a }', '9: parameters.p.aliases: is for parameters with values alone'],
  ['an alias of what is no value', 'type: enum\nvalues: [one]\naliases: { 1st: onw }', '10: parameters.p.aliases: must give 1st one of the values, or 1st itself'],
  ['an alias that is a value', 'type: enum\nvalues: [one, two]\naliases: { one: two }', '10: parameters.p.aliases: must not have one, which is one of the values'],
  ['an alias of a value of another type', 'type: INT64\nvalues: [1]\naliases: { one: x }', '10: parameters.p.aliases.one: is "x"; allowed: an integer of 64 bits'],
  ['a default that is an alias', 'type: enum\nvalues: [one]\naliases: { 1st: one }\ndefault: 1st', '11: parameters.p.default: is "1st"; allowed: one'],
  ['a key that is not known', 'type: INT64\nmaximum: 3', '9: parameters.p.maximum: is not a known key'],
])('refuses %s, with line and key', (_, lines, problem) => {
  expect(problemsOf(lines).join('\n')).toContain(problem);
}); // biome-ignore format: a table

test('says all that is wrong with all parameters at once', () => {
  const two = 'type: INT64\nmin: a\nmax: b\n  q: { type: BOOL, max: 1, pattern: x, description: Q. }'.replace(
    '    q',
    'q',
  );
  const text = withParameter(two).replace(/^ {6}q:/m, '  q:');
  expect(() => parseDefinition('one.sql', text)).toThrow(DefinitionError);
  try {
    parseDefinition('one.sql', text);
  } catch (error) {
    const keys = String(error).match(/parameters\.[\w.]+/g);
    expect(keys).toEqual([
      'parameters.p.min',
      'parameters.p.max',
      'parameters.q.max',
      'parameters.q.pattern',
    ]);
  }
});

test('the type of a parameter and whether it is repeated name other rows, its bounds do not', () => {
  const hashOf = (lines: string) => parseDefinition('one.sql', withParameter(lines)).hash;
  const hash = hashOf('type: INT64');
  expect(hashOf('type: NUMERIC')).not.toBe(hash);
  expect(hashOf('type: INT64\nrepeated: true')).not.toBe(hash);
  expect(hashOf('type: INT64\nmax: 3')).toBe(hash);
});
