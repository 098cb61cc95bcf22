import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Parameter } from '../../src/endpoints/parameters/parameter.ts';
import { readParameter } from '../../src/endpoints/parameters/read-parameter.ts';
import { valueTypes } from '../../src/endpoints/parameters/value-types.ts';
import type { ParameterType } from '../../src/engine/engine.ts';

const parameter = (type: Parameter['type'], more: Partial<Parameter> = {}): Parameter => ({
  type,
  description: 'Test.',
  repeated: false,
  required: false,
  ...more,
});

describe('contract 5.1: all spellings of a value are one text', () => {
  test.each([
    ['INT64', ['7', '+7', '007', 7], '7'],
    ['INT64', ['-9223372036854775808'], '-9223372036854775808'],
    ['INT64', ['-0', 0], '0'],
    ['BOOL', ['TRUE', 'true', true], 'true'],
    ['FLOAT64', ['1e2', '100.0', '+100', 100], '100'],
    ['FLOAT64', ['nan', 'NaN'], 'NaN'],
    ['FLOAT64', ['-inf', '-Infinity'], '-Infinity'],
    ['NUMERIC', ['1.50', '1.5', '+001.5', '15e-1', '0.15E1', 1.5], '1.5'],
    ['NUMERIC', ['-0.0', '.0', '0'], '0'],
    ['NUMERIC', ['.000000001', '1e-9'], '0.000000001'],
    ['NUMERIC', ['1e3', '1000'], '1000'],
    ['BIGNUMERIC', ['0.00000000000000000000000000000000000001'], '0.00000000000000000000000000000000000001'],
    ['TIMESTAMP', ['2026-01-15T10:00:00Z', '2026-01-15 12:00:00+02:00'], '2026-01-15T10:00:00.000000Z'],
    ['DATETIME', ['2026-1-5 1:2:3.50', '2026-01-05T01:02:03.5Z'], '2026-01-05T01:02:03.5'],
    ['DATETIME', ['2026-01-05'], '2026-01-05T00:00:00'],
    ['DATE', ['2026-1-5', '2026-01-05'], '2026-01-05'],
    ['TIME', ['1:02:03', '01:02:03.000'], '01:02:03'],
    ['BYTES', ['AP8=', 'AP8'], 'AP8='],
    ['BYTES', ['-_8=', '+/8'], '+/8='],
    ['JSON', ['{"b": 1, "a": [1.0]}', '{"a":[1.0],"b":1}'], '{"a":[1.0],"b":1}'],
    ['JSON', [{ b: 1, a: null }], '{"a":null,"b":1}'],
  ] as const)('%s %j', (type, spellings, value) => {
    for (const spelling of spellings) expect(readParameter(parameter(type), spelling)).toEqual({ value });
  }); // biome-ignore format: a table

  const written: Record<ParameterType, fc.Arbitrary<string>> = {
    STRING: fc.string({ minLength: 1 }).filter(text => !text.includes('\0')),
    BYTES: fc.uint8Array({ minLength: 1 }).map(bytes => Buffer.from(bytes).toString('base64')),
    BOOL: fc.boolean().map(String),
    INT64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
    FLOAT64: fc.double().map(String),
    NUMERIC: fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 29n - 1n }), fc.nat({ max: 999_999_999 })).map(([a, b]) => `-${a}.${b}`),
    BIGNUMERIC: fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 38n }), fc.nat()).map(([a, b]) => `${a}.${b}`),
    TIMESTAMP: fc.date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true }).map(at => at.toISOString().replace(/^[+-]00/, '')),
    DATETIME: fc.date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true }).map(at => at.toISOString().slice(0, -1)),
    DATE: fc.date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true }).map(at => at.toISOString().slice(0, 10)),
    TIME: fc.date({ noInvalidDate: true }).map(at => at.toISOString().slice(-13, -1)),
    JSON: fc.json(),
  }; // biome-ignore format: a table

  test.each(Object.keys(valueTypes) as ParameterType[])('what %s became is read as itself', type => {
    fc.assert(
      fc.property(written[type], text => {
        const { read } = valueTypes[type];
        const canonical = read(text);
        // Some JSON has no exact value in BigQuery.
        if (type === 'JSON' && canonical === undefined) return;
        expect(canonical).toBeDefined();
        expect(read(canonical!)).toBe(canonical);
      }),
    );
  });
});

describe('contract 10.3: what is no value of the type is refused, and nothing is rounded', () => {
  test.each([
    ['INT64', '9223372036854775808', 'is "9223372036854775808"'],
    ['INT64', '1.5', 'is "1.5"'],
    ['INT64', 2 ** 53, 'is 9007199254740992, a JSON number beyond 2^53'],
    ['STRING', JSON.parse('12345678901234567890'), 'is 12345678901234567000, a JSON number beyond 2^53'],
    ['STRING', JSON.parse('1e400'), 'is a JSON number beyond FLOAT64'],
    ['FLOAT64', JSON.parse('-1e400'), 'is a JSON number beyond FLOAT64'],
    ['NUMERIC', JSON.parse('1234567890123.123456789'), 'is 1234567890123.1235, a JSON number of more than 15 digits'],
    ['NUMERIC', -1.2345678901234567e-3, 'is -0.0012345678901234567, a JSON number of more than 15 digits'],
    ['BOOL', '1', 'is "1"'],
    ['FLOAT64', '1e999', 'is "1e999"'],
    ['FLOAT64', '1_000', 'is "1_000"'],
    ['NUMERIC', '0.1234567891', 'is "0.1234567891"'],
    ['NUMERIC', '100000000000000000000000000000', 'is "100000000000000000000000000000"'],
    ['NUMERIC', '.', 'is "."'],
    ['BIGNUMERIC', '5.79e38', 'is "5.79e38"'],
    ['DATE', '2026-02-30', 'is "2026-02-30"'],
    ['DATE', '2026-01-15T10:00:00Z', 'is "2026-01-15T10:00:00Z"'],
    ['DATETIME', '2026-01-15T10:00:00+01:00', 'is "2026-01-15T10:00:00+01:00"'],
    ['TIME', '24:00:00', 'is "24:00:00"'],
    ['BYTES', 'a', 'is "a"'],
    ['BYTES', 'a b=', 'is "a b="'],
    ['JSON', "{'a':1}", `is "{'a':1}"`],
    ['JSON', { a: 2 ** 60 }, 'is too deep, or has integers beyond 2^53'],
    ['JSON', { a: JSON.parse('1e400') }, 'is too deep, or has integers beyond 2^53'],
    ['STRING', ['a'], 'is an array'],
    ['STRING', '\ud800', 'contains half of a surrogate pair'],
  ] as const)('%s %j', (type, raw, wrong) => {
    expect(readParameter(parameter(type), raw)).toMatchObject({ wrong });
  }); // biome-ignore format: a table

  test('a JSON number that no digit can be missing of is taken', () => {
    const taken = (type: Parameter['type'], raw: unknown) => readParameter(parameter(type), raw);
    expect(taken('string', 2 ** 53 - 1)).toEqual({ value: '9007199254740991' });
    expect(taken('NUMERIC', -123456789.012345)).toEqual({ value: '-123456789.012345' });
    expect(taken('FLOAT64', 0.1 + 0.2)).toEqual({ value: '0.30000000000000004' });
    expect(taken('JSON', 0.1 + 0.2)).toEqual({ value: '0.30000000000000004' });
  });

  test('JSON deeper than the stack is refused', () => {
    const deep = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`);
    expect(readParameter(parameter('JSON'), deep)).toMatchObject({ allowed: 'JSON text' });
  });
});

describe('contract 10.4: bounds', () => {
  test.each([
    ['INT64', { min: '-2', max: '9223372036854775807' }, ['-2', '9223372036854775807'], ['-3']],
    ['FLOAT64', { min: '0.5' }, ['0.5', 'Infinity'], ['0.49', 'NaN']],
    ['NUMERIC', { min: '-1.5', max: '10' }, ['-1.5', '9.999999999'], ['-1.500000001', '10.1']],
    ['DATE', { max: '2026-01-15' }, ['2026-1-15', '0001-01-01'], ['2026-01-16']],
    ['TIMESTAMP', { max: '2026-01-15T00:00:00.000000Z' }, ['2026-01-15T01:00:00+01:00'], ['2026-01-15T00:00:00.000001Z']],
    ['TIME', { min: '10:00:00' }, ['10:00:00.5'], ['9:59:59']],
    ['STRING', { minLength: 2, maxLength: 2 }, ['ab', '😀😀'], ['a', 'abc']],
    ['STRING', { pattern: 'b+$' }, ['abb'], ['ba']],
    ['STRING', { values: ['a', 'b'] }, ['a'], ['A']],
    ['NUMERIC', { values: ['1.5'] }, ['1.50'], ['1.51']],
  ] as const)('%s within %j', (type, bounds, allowed, refused) => {
    for (const text of allowed) expect(readParameter(parameter(type, bounds), text)).toHaveProperty('value');
    for (const text of refused) expect(readParameter(parameter(type, bounds), text)).toMatchObject({ wrong: `is "${text}"` });
  }); // biome-ignore format: a table

  test('absent and empty values are the default; without one null, or no elements', () => {
    for (const raw of [undefined, null, '']) {
      expect(readParameter(parameter('INT64', { default: '5' }), raw)).toEqual({ value: '5' });
      expect(readParameter(parameter('INT64'), raw)).toEqual({ value: null });
      expect(readParameter(parameter('INT64', { repeated: true }), raw)).toEqual({ value: [] });
      expect(readParameter(parameter('INT64', { repeated: true, default: ['1'] }), raw)).toEqual({
        value: ['1'],
      });
    }
  });
});

describe('contract 10.3: lists', () => {
  const list = (type: Parameter['type'], more: Partial<Parameter> = {}) =>
    parameter(type, { repeated: true, ...more });

  test.each([
    ['INT64', '1,02,,3', ['1', '2', '3']],
    ['INT64', ['1', '2'], ['1', '2']],
    ['INT64', [1, 2], ['1', '2']],
    ['INT64', 7, ['7']],
    ['STRING', 'a,b', ['a', 'b']],
    ['STRING', ['a,b', ''], ['a,b', '']],
    ['JSON', '[1, 2]', ['[1,2]']],
    ['JSON', ['1', '{"a":1}'], ['1', '{"a":1}']],
  ] as const)('%s %j', (type, raw, value) => {
    expect(readParameter(list(type), raw)).toEqual({ value });
  });

  test.each([
    [list('INT64'), [1, 'x'], 'is "x" as element 2'],
    [list('INT64', { max: '5' }), '1,6', 'is "6" as element 2'],
    [list('INT64'), [1, null], 'is empty as element 2'],
    [list('regexp'), ['a', ''], 'is empty as element 2'],
    [list('INT64', { required: true }), [], 'is required'],
    [list('INT64'), Array.from({ length: 1001 }, () => 1), 'has 1001 elements'],
    [list('STRING'), Array.from({ length: 100 }, () => 'x'.repeat(1000)), 'has 100000 characters in all'],
    [list('STRING'), [['a']], 'is an array as element 1'],
  ] as const)('refuses elements by their number', (declared, raw, wrong) => {
    expect(readParameter(declared, raw)).toMatchObject({ wrong });
  });
});
