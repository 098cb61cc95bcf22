import { LRUCache } from 'lru-cache';
import { RE2JS, RE2JSSyntaxException } from 're2js';
import { quoted } from '../../base/errors.ts';
import type { ParameterType, QueryParameter } from '../../engine/engine.ts';
import { compilePattern, patternProblem, patternSize } from '../../googlesql/values/patterns.ts';
import type { Parameter, ParameterValue } from './parameter.ts';
import { floatText, type ValueType, valueTypes } from './value-types.ts';

/** The canonical value of a parameter, or what is wrong with the value sent and what is allowed. */
export type ReadParameter = { readonly value: ParameterValue | null } | Refused;

type Refused = { readonly wrong: string; readonly allowed: string };

/** Maximum characters of a value. */
export const maxValueLength = 4096;
/** Maximum characters of a pattern. */
export const maxPatternLength = 1024;
/** Maximum elements of a repeated parameter, and maximum characters of all elements together. */
const maxElements = 1000;
const maxListLength = 65_536;

/** Parameters as a caller sent them: text from a query string, JSON values from a body or a GraphQL argument. */
export type RawParameters = Readonly<Record<string, unknown>>;

/** The value sent for a parameter. Own members only: a parameter may be named `constructor`, which every object inherits. */
export function sentValue(raw: RawParameters, name: string): unknown {
  const value = raw[name];
  return typeof value === 'function' ? undefined : value;
}

/**
 * Reads the value of a parameter: text from a query string, JSON values from a body, a header or a GraphQL argument. Equal values
 * become equal texts, however they are spelled. Without a value the result is the default, or null, or an empty list.
 */
export function readParameter(parameter: Parameter, raw: unknown): ReadParameter {
  return parameter.repeated ? readList(parameter, raw) : readOne(parameter, raw);
}

/** The allowed values of a parameter, in words. */
export function allowedValues(parameter: Parameter): string {
  const { type, values, min, max, minLength, maxLength, pattern } = parameter;
  if (values) return values.length === 1 ? values[0]! : `one of ${values.join(', ')}`;
  const bounds = [
    min !== undefined && `at least ${min}`,
    max !== undefined && `at most ${max}`,
    minLength !== undefined && `at least ${minLength} characters`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    pattern !== undefined && `a match of ${pattern}`,
  ].filter(bound => bound !== false);
  return [typeOf(type).allowed, ...bounds].join(', ');
}

const pattern: ValueType = {
  read: text => text,
  allowed: `an RE2 regular expression of 1 to ${maxPatternLength} characters`,
};

/** How the texts of a parameter's type are read. */
export function typeOf(type: Parameter['type']): ValueType {
  if (type === 'regexp') return pattern;
  if (type === 'timestamp') return valueTypes.TIMESTAMP;
  return valueTypes[type === 'string' || type === 'enum' ? 'STRING' : type];
}

function readOne(parameter: Parameter, raw: unknown): ReadParameter {
  const text = toText(parameter.type, raw);
  if (typeof text !== 'string') return text;
  if (text !== '') return readText(parameter, text);
  if (parameter.required) return { wrong: 'is required', allowed: allowedValues(parameter) };
  return { value: parameter.default ?? null };
}

function readList(parameter: Parameter, raw: unknown): ReadParameter {
  const elements = elementsOf(parameter.type, raw);
  if (elements.length === 0) {
    if (parameter.required) {
      return { wrong: 'is required', allowed: `a list of at least one: ${allowedValues(parameter)}` };
    }
    return { value: parameter.default ?? [] };
  }
  if (elements.length > maxElements) {
    return { wrong: `has ${elements.length} elements`, allowed: `at most ${maxElements}` };
  }
  const values: string[] = [];
  let length = 0;
  for (const [at, element] of elements.entries()) {
    const found = readElement(parameter, element);
    if ('wrong' in found) return { ...found, wrong: `${found.wrong} as element ${at + 1}` };
    length += String(found.value).length;
    values.push(String(found.value));
  }
  if (length > maxListLength) {
    return { wrong: `has ${length} characters in all`, allowed: `at most ${maxListLength}` };
  }
  return { value: values };
}

function readElement(parameter: Parameter, raw: unknown): ReadParameter {
  const text = toText(parameter.type, raw);
  if (typeof text !== 'string') return text;
  // An empty pattern would match everything.
  const isNothing = raw === null || (text === '' && parameter.type === 'regexp');
  return isNothing ? { wrong: 'is empty', allowed: allowedValues(parameter) } : readText(parameter, text);
}

/** The elements of a repeated parameter. A single text is split at its commas, and empty parts are dropped; JSON is not split. */
function elementsOf(type: Parameter['type'], raw: unknown): readonly unknown[] {
  if (raw === undefined || raw === null || raw === '') return [];
  if (Array.isArray(raw)) return raw;
  if (typeof raw !== 'string' || type === 'JSON') return [raw];
  return raw.split(',').filter(part => part !== '');
}

/** The text of the value sent; empty if none was. */
function toText(type: Parameter['type'], raw: unknown): string | Refused {
  if (raw === undefined || raw === null) return '';
  if (typeof raw === 'number') return numberText(type, raw);
  const text = type === 'JSON' && typeof raw === 'object' ? jsonText(raw) : raw;
  if (text === undefined) return { wrong: 'is too deep, or has integers beyond 2^53', allowed: 'JSON text' };
  return readPlainText(text, maxValueLength);
}

/** Checks that a value is a text that every engine accepts, and returns it unchanged. */
export function readPlainText(raw: unknown, maxLength: number): string | Refused {
  if (raw === undefined || raw === null) return '';
  const text = typeof raw === 'number' || typeof raw === 'boolean' ? String(raw) : raw;
  if (typeof text !== 'string') {
    return { wrong: `is ${Array.isArray(text) ? 'an array' : 'an object'}`, allowed: 'a string' };
  }
  if (text.length > maxLength) {
    return { wrong: `has ${text.length} characters`, allowed: `at most ${maxLength}` };
  }
  if (text.includes('\0')) return { wrong: 'contains a NUL character', allowed: 'any other text' };
  if (!text.isWellFormed()) {
    return { wrong: 'contains half of a surrogate pair', allowed: 'well-formed Unicode text' };
  }
  return text;
}

/** Digits that every FLOAT64 keeps; a JSON number with more may lose some. */
const keptDigits = 15;

function numberText(type: Parameter['type'], value: number): string | Refused {
  if (!Number.isFinite(value))
    return { wrong: 'is a JSON number beyond FLOAT64', allowed: typeOf(type).allowed };
  if (type === 'FLOAT64') return floatText(value);
  if (isExactNumber(value) || (type === 'JSON' && !Number.isInteger(value))) return String(value);
  const what = Number.isInteger(value) ? 'beyond 2^53' : `of more than ${keptDigits} digits`;
  return { wrong: `is ${value}, a JSON number ${what}`, allowed: 'its digits as a string' };
}

/** Whether a parsed JSON number certainly equals its text. */
function isExactNumber(value: number): boolean {
  if (Number.isInteger(value)) return Number.isSafeInteger(value);
  const digits = String(value)
    .replace(/e.*|\D/g, '')
    .replace(/^0+/, '');
  return digits.length <= keptDigits;
}

function jsonText(value: object): string | undefined {
  let isExact = true;
  const check = (_name: string, inner: unknown) => {
    // JSON.stringify would turn a number beyond FLOAT64 into null.
    if (typeof inner === 'number')
      isExact &&= Number.isInteger(inner) ? Number.isSafeInteger(inner) : Number.isFinite(inner);
    return inner;
  };
  try {
    const text = JSON.stringify(value, check);
    return isExact ? text : undefined;
  } catch (error) {
    // It is nested deeper than the stack.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function readText(parameter: Parameter, text: string): ReadParameter {
  const { type, values, aliases } = parameter;
  if (aliases && Object.hasOwn(aliases, text)) return { value: aliases[text]! };
  const refuse = (wrong: string) => ({ wrong, allowed: allowedValues(parameter) });
  if (type === 'regexp') {
    const problem = text.length > maxPatternLength ? `has ${text.length} characters` : problemOfPattern(text);
    if (problem) return refuse(problem);
  }
  const value = typeOf(type).read(text);
  if (value === undefined) return refuse(`is ${quoted(text)}`);
  if (values && !values.includes(value)) return refuse(`is ${quoted(text)}`);
  return isWithinBounds(parameter, value) ? { value } : refuse(`is ${quoted(text)}`);
}

function isWithinBounds(parameter: Parameter, value: string): boolean {
  const { type, min, max, minLength, maxLength, pattern: wanted } = parameter;
  const { compare } = typeOf(type);
  if (compare && (min !== undefined || max !== undefined)) {
    // NaN is within no bounds.
    if (min !== undefined && !(compare(value, min) >= 0)) return false;
    if (max !== undefined && !(compare(value, max) <= 0)) return false;
  }
  if (minLength !== undefined || maxLength !== undefined) {
    const length = [...value].length;
    if (length < (minLength ?? 0) || length > (maxLength ?? Infinity)) return false;
  }
  return wanted === undefined || compiled(wanted).matcher(value).find();
}

/** Compiled patterns of headers; there are few. */
const compiledPatterns = new Map<string, RE2JS>();

function compiled(text: string): RE2JS {
  const known = compiledPatterns.get(text) ?? RE2JS.compile(text);
  compiledPatterns.set(text, known);
  return known;
}

/** Recently seen patterns, accepted and refused: compiling one is most of the work of planning a request. */
const verdicts = new LRUCache<string, { readonly problem: string | undefined }>({ max: 1000 });

/** Most instructions of a pattern that is compiled in a turn of the event loop with others: less than two milliseconds. */
const cheapSize = 100;

/**
 * Finds the patterns among the values sent that are costly to compile, up to ten milliseconds each, and not known yet. Whoever plans a request calls
 * `problemOfPattern` with each of them in a turn of the event loop of its own, which remembers the result.
 */
export function costlyPatterns(
  { parameters }: { readonly parameters: readonly (Parameter & { readonly name: string })[] },
  raw: Readonly<Record<string, unknown>>,
): string[] {
  return parameters
    .filter(({ type }) => type === 'regexp')
    .flatMap(({ type, name, repeated }) => {
      const value = sentValue(raw, name);
      const texts = repeated ? elementsOf(type, value).slice(0, maxElements) : [value];
      return texts.filter(text => typeof text === 'string');
    })
    .filter(text => text.length <= maxPatternLength && !verdicts.has(text) && patternSize(text) > cheapSize);
}

/** Why RE2 in the warehouse would refuse a pattern, found before a query is paid for; undefined if it would not. */
export function problemOfPattern(text: string): string | undefined {
  let verdict = verdicts.get(text);
  if (!verdict) {
    verdict = { problem: findProblem(text) };
    verdicts.set(text, verdict);
  }
  return verdict.problem;
}

function findProblem(text: string): string | undefined {
  const tooLarge = patternProblem(text);
  if (tooLarge) return `is refused: ${tooLarge}`;
  try {
    compilePattern(text);
    return undefined;
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    return `is not a valid pattern (${error.message})`;
  }
}

/** The type of a parameter in the SQL. */
export function scalarTypeOf({ type }: Pick<Parameter, 'type'>): ParameterType {
  return type in valueTypes ? (type as ParameterType) : 'STRING'; // a key of the table of types
}

/** A parameter's value with its type in the SQL. */
export function typedParameter(
  name: string,
  declared: Pick<Parameter, 'type'> | undefined,
  value: QueryParameter['value'],
): QueryParameter {
  const type = scalarTypeOf(declared ?? { type: 'string' });
  return type === 'STRING' ? { name, value } : { name, value, type };
}

/** A parameter without a value: NULL, or an empty list. */
export function withoutValue(
  declared: Pick<Parameter, 'type' | 'repeated'> & { readonly name: string },
): QueryParameter {
  return typedParameter(declared.name, declared, declared.repeated ? [] : null);
}
