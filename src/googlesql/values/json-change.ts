import { writeJsonString } from '../json/json-string.ts';
import { compareBytes, JsonNumber, readJson, writeJson } from '../json/parse-json.ts';
import type { EngineFunctions } from './engine-function.ts';

/** A member's name, or a position. */
type Step = string | number;
type Container = Record<string, unknown> | unknown[];

const maxArraySize = 1_000_000;
/** Maximum characters of a value that is made. */
const maxLength = 16_000_000;

/**
 * Functions that make or change a value of the type JSON, which comes and goes as its text. A path is a JSON array of names and
 * positions, as `parseStrictPath` makes it.
 */
export const jsonChange: EngineFunctions = {
  'bq_json_object(ARRAY<STRING>, ARRAY<STRING>) STRING': (
    names: readonly (string | null)[],
    values: readonly string[],
  ) => {
    if (names.length !== values.length)
      throw new Error('Invalid input to JSON_OBJECT: The number of keys and values must match');
    const members = new Map<string, string>();
    for (const [i, name] of names.entries()) {
      if (name === null) throw new Error('Invalid input to JSON_OBJECT: A key cannot be NULL');
      if (!members.has(name)) members.set(name, values[i]!);
    }
    const sorted = [...members].sort(([a], [b]) => compareBytes(a, b));
    return checked(`{${sorted.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`);
  },
  'bq_json_set(STRING, STRING, STRING, BOOL) STRING': (
    text: string,
    path: string,
    value: string,
    creates: boolean,
  ) =>
    change(text, root => {
      const steps = JSON.parse(path) as readonly Step[];
      const added = readJson(value);
      if (steps.length === 0) return added;
      return set(root, steps, 0, { added, creates, fill: { left: maxArraySize } });
    }),
  'bq_json_remove(STRING, STRING) STRING': (text: string, path: string) =>
    change(text, root => {
      const steps = JSON.parse(path) as readonly Step[];
      const holder = find(root, steps.slice(0, -1));
      const last = steps.at(-1)!;
      if (Array.isArray(holder) && typeof last === 'number' && last < holder.length) holder.splice(last, 1);
      else if (isObject(holder) && typeof last === 'string') delete holder[last];
      return root;
    }),
  'bq_json_array_append(STRING, STRING, STRING, BOOL) STRING': addition((root, steps, added) =>
    replaced(root, steps, target => {
      if (target === null) return added;
      if (!Array.isArray(target)) return target;
      refuseLongArray(target.length + added.length);
      return [...target, ...added];
    }),
  ),
  'bq_json_array_insert(STRING, STRING, STRING, BOOL) STRING': addition((root, steps, added) => {
    const at = steps.at(-1);
    if (typeof at !== 'number') return root;
    return replaced(root, steps.slice(0, -1), target => {
      const elements = target === null ? [] : target;
      if (!Array.isArray(elements)) return target;
      refuseLongArray(Math.max(at, elements.length) + added.length);
      while (elements.length < at) elements.push(null);
      elements.splice(at, 0, ...added);
      return elements;
    });
  }),
  'bq_json_strip_nulls(STRING, STRING, BOOL, BOOL) STRING': (
    text: string,
    path: string,
    arrays: boolean,
    empty: boolean,
  ) =>
    change(text, root =>
      replaced(root, JSON.parse(path) as readonly Step[], target => {
        const stripped = strip(target, arrays, empty);
        return empty && isEmpty(stripped, arrays) ? null : stripped;
      }),
    ),
  'bq_json_keys(STRING, INT64, STRING) ARRAY<STRING>': (text: string, depth: bigint, mode: string) => {
    if (depth < 1n) throw new Error('max_depth must be positive.');
    if (!['strict', 'lax', 'lax recursive', 'recursive lax'].includes(mode.toLowerCase()))
      throw new Error(`Invalid JSON mode specified: ${mode}`);
    const found = new Set<string>();
    collectKeys(readJson(text), '', { left: Number(depth), mode: mode.toLowerCase(), found, inArray: false });
    return [...found].sort(compareBytes);
  },
};

function change(text: string, make: (root: unknown) => unknown): string {
  return checked(writeJson(make(readJson(text))));
}

/** A change that puts a value in an array; with `each`, the elements of an array one by one. */
function addition(add: (root: unknown, steps: readonly Step[], added: readonly unknown[]) => unknown) {
  return (text: string, path: string, value: string, each: boolean) =>
    change(text, root => add(root, JSON.parse(path) as readonly Step[], elementsOf(value, each)));
}

function checked(text: string): string {
  if (text.length > maxLength) throw new Error('The JSON value is too large');
  return text;
}

function refuseLongArray(length: number): void {
  if (length > maxArraySize) throw new Error(`Exceeded maximum array size of ${maxArraySize}`);
}

/** Counts the elements that one call adds to reach positions, and refuses too many. */
function takeFrom(fill: { left: number }, count: number): void {
  fill.left -= count + 1;
  if (fill.left < 0) refuseLongArray(maxArraySize + 1);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber);

function child(holder: unknown, step: Step): unknown {
  if (Array.isArray(holder)) return typeof step === 'number' ? holder[step] : undefined;
  return isObject(holder) && typeof step === 'string' && Object.hasOwn(holder, step)
    ? holder[step]
    : undefined;
}

const find = (root: unknown, steps: readonly Step[]): unknown => steps.reduce(child, root);

/** Replaces the value at a path by what `make` returns for it; changes nothing if there is no value. */
function replaced(root: unknown, steps: readonly Step[], make: (target: unknown) => unknown): unknown {
  if (steps.length === 0) return make(root);
  const holder = find(root, steps.slice(0, -1));
  const last = steps.at(-1)!;
  const target = child(holder, last);
  // `child` found it by this very step.
  if (target !== undefined) put(holder as Container, last, make(target));
  return root;
}

function put(holder: Container, step: Step, value: unknown): void {
  Object.defineProperty(holder, step, { value, writable: true, enumerable: true, configurable: true });
}

/** The value with another one at the path; missing members, elements and their containers are created. */
function set(
  target: unknown,
  steps: readonly Step[],
  at: number,
  change: { added: unknown; creates: boolean; fill: { left: number } },
): unknown {
  const { added, creates, fill } = change;
  if (at === steps.length) return added;
  const step = steps[at]!;
  if (target === null || target === undefined) {
    if (!creates) return target;
    if (typeof step === 'number') takeFrom(fill, step);
    const holder: Container = typeof step === 'number' ? Array.from({ length: step }, () => null) : {};
    put(holder, step, set(undefined, steps, at + 1, change));
    return holder;
  }
  const isArray = Array.isArray(target) && typeof step === 'number';
  if (!isArray && !(isObject(target) && typeof step === 'string')) return target;
  const inner = child(target, step);
  if (inner === undefined && !creates) return target;
  if (isArray) {
    takeFrom(fill, Math.max(0, step - target.length));
    refuseLongArray(step + 1);
    while (target.length < step) target.push(null);
  }
  // An array or an object, as tested above.
  put(target as Container, step, set(inner, steps, at + 1, change));
  return target;
}

function elementsOf(value: string, each: boolean): unknown[] {
  const added = readJson(value);
  return each && Array.isArray(added) ? added : [added];
}

const isEmpty = (value: unknown, arrays: boolean): boolean =>
  Array.isArray(value) ? arrays && value.length === 0 : isObject(value) && Object.keys(value).length === 0;

function strip(value: unknown, arrays: boolean, empty: boolean): unknown {
  const keeps = (inner: unknown) => inner !== null && !(empty && isEmpty(inner, arrays));
  if (Array.isArray(value)) {
    const stripped = value.map(inner => strip(inner, arrays, empty));
    return arrays ? stripped.filter(keeps) : stripped;
  }
  if (!isObject(value)) return value;
  const members = Object.entries(value).map(([name, inner]) => [name, strip(inner, arrays, empty)] as const);
  return Object.fromEntries(members.filter(([, inner]) => keeps(inner)));
}

type KeySearch = {
  readonly left: number;
  readonly mode: string;
  readonly found: Set<string>;
  readonly inArray: boolean;
};

/** Names as they stand in a path: `a.b`, in quotes unless they are plain. */
function collectKeys(value: unknown, path: string, search: KeySearch): void {
  if (Array.isArray(value)) {
    if (search.mode === 'strict' || (search.mode === 'lax' && search.inArray)) return;
    for (const inner of value) collectKeys(inner, path, { ...search, inArray: true });
    return;
  }
  if (!isObject(value) || search.left === 0) return;
  for (const [name, inner] of Object.entries(value)) {
    const own = /^[A-Za-z_]\w*$/.test(name) ? name : writeJsonString(name);
    const key = path ? `${path}.${own}` : own;
    search.found.add(key);
    collectKeys(inner, key, { ...search, left: search.left - 1, inArray: false });
  }
}
