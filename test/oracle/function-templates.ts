import { compileForDuckDb } from '../../src/googlesql/compile-duckdb.ts';
import { scalarFunctionRows } from '../../src/googlesql/functions/all-functions.ts';
import { filledWithUsual, guarded, signaturesOf, specialTemplates, templateOf } from './edge-sweeps.ts';
import type { ValueKind } from './value-kinds.ts';

/** Functions that no random query calls, and why. */
export const notDrawn: Readonly<Record<string, string>> = {
  ERROR: 'always fails',
  RAND: 'has no answer that two engines share',
  GENERATE_UUID: 'has no answer that two engines share',
  'HLL_COUNT.EXTRACT': 'the reference lacks it',
  COSINE_DISTANCE: 'the reference lacks it',
  EUCLIDEAN_DISTANCE: 'the reference lacks it',
  TO_BASE32: 'the reference lacks it',
  FROM_BASE32: 'the reference lacks it',
  CONTAINS_SUBSTR: 'the reference lacks it',
  JSON_KEYS: 'the reference lacks it',
  EDIT_DISTANCE: 'the reference lacks it',
  CURRENT_TIMESTAMP: 'the reference has a clock of its own',
  CURRENT_DATETIME: 'the reference has a clock of its own',
  CURRENT_DATE: 'the reference has a clock of its own',
  CURRENT_TIME: 'the reference has a clock of its own',
  RANGE: 'gives a RANGE, which no random expression holds; templates of its own take it apart',
};

/** The same of some forms of a call. */
const notDrawnForms: readonly RegExp[] = [
  /^(?:ROUND|TRUNC)\(.*, \{STRING\}\)$/, // the reference takes no mode of rounding that is calculated
  /^GENERATE_(?:DATE_)?ARRAY\(/, // the reference makes 16,000 elements at most
  /^range_(?:start|end|intersect)\(.*DATETIME/, // fails where both bounds are one
];

/** Parts of a date are small: the reference takes a year of 2^53 + 1 for the year 1. */
const ofSmallParts = (template: string) =>
  /^(?:DATE|DATETIME|TIME)\(/.test(template)
    ? template.replaceAll('{INT64}', 'mod({INT64}, 100000)')
    : template;

/** Angles are small: of a large one the last bit, which sums and averages may differ in, is another point of the circle. */
const ofSmallAngles = (template: string) =>
  /^(?:SIN|COS|TAN|SEC|CSC|COT)\(/.test(template)
    ? template.replace('{FLOAT64}', 'least(greatest({FLOAT64}, -1e6), 1e6)')
    : template;

/** The kinds of values by the types that hold them. */
const kinds: Readonly<Record<string, ValueKind>> = {
  INT64: 'int',
  FLOAT64: 'float',
  NUMERIC: 'numeric',
  STRING: 'text',
  BYTES: 'bytes',
  BOOL: 'bool',
  TIMESTAMP: 'time',
  DATETIME: 'datetime',
  DATE: 'date',
  TIME: 'clock',
  JSON: 'document',
  'ARRAY<INT64>': 'ints',
  'ARRAY<FLOAT64>': 'floats',
  'ARRAY<STRING>': 'texts',
};

/** Keeps a value so small that what is calculated with it does not fail. */
const bounded: Partial<Record<ValueKind, (value: string) => string>> = {
  int: value => `mod(${value}, 1000003)`,
  float: value => `least(greatest(${value}, -1e12), 1e12)`,
  numeric: value => `least(greatest(${value}, numeric '-1e12'), numeric '1e12')`,
  text: value => `substr(${value}, 1, 30)`,
  bytes: value => `substr(${value}, 1, 30)`,
  time: value => `least(greatest(${value}, timestamp '1900-01-01 00:00:00+00'), timestamp '2100-01-01 00:00:00+00')`,
  datetime: value => `least(greatest(${value}, datetime '1900-01-01 00:00:00'), datetime '2100-01-01 00:00:00')`,
  date: value => `least(greatest(${value}, date '1900-01-01'), date '2100-01-01')`,
}; // biome-ignore format: one kind a line

/** A call as random expressions have it, a hole `{kind}` for each argument, and the kind that it gives. */
export type FunctionTemplate = { readonly text: string; readonly kind: ValueKind };

/**
 * A template for every signature of the allow-list, and for every call with a form of its own, that takes and gives what random
 * expressions know. Each gives NULL where it would fail, for engines differ in when they look.
 */
export function functionTemplates(): readonly FunctionTemplate[] {
  const calls = scalarFunctionRows
    .filter(({ name, template }) => template && /^[A-Z]/.test(name) && !Object.hasOwn(notDrawn, name))
    .flatMap(row => signaturesOf(row).map(templateOf));
  const isDrawn = (template: string) => !notDrawnForms.some(form => form.test(template));
  return [...new Set([...calls, ...specialTemplates])]
    .filter(isDrawn)
    .map(ofSmallParts)
    .map(ofSmallAngles)
    .flatMap(template => drawn(template) ?? []);
}

function drawn(template: string): FunctionTemplate | undefined {
  const holes = [...template.matchAll(/\{([\w<>]+)\}/g)].map(([, type]) => type!);
  if (holes.some(type => !Object.hasOwn(kinds, type))) return undefined;
  for (const call of [guarded(template), template]) {
    const kind = kinds[typeOf(filledWithUsual(call)!) ?? ''];
    if (!kind) continue;
    const text = call.replace(/\{([\w<>]+)\}/g, (_hole, type: string) => `{${kinds[type]}}`);
    return { text: bounded[kind]?.(text) ?? text, kind };
  }
  return undefined;
}

/** The type of an expression, as our front-end finds it; undefined where it refuses the expression. */
function typeOf(expression: string): string | undefined {
  try {
    const sql = `select ${expression} as v`;
    const { columns } = compileForDuckDb({ sql, catalog: new Map(), parameterNames: [], maxRows: 1 });
    const [{ type, mode } = { type: '', mode: '' }] = columns;
    return mode === 'REPEATED' ? `ARRAY<${type}>` : type;
  } catch {
    return undefined;
  }
}
