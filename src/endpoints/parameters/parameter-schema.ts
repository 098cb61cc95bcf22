import { z } from 'zod';
import type { ParameterType } from '../../engine/engine.ts';
import { type Parameter, type ParameterValue, textTypes } from './parameter.ts';
import { problemOfPattern, readParameter, typeOf } from './read-parameter.ts';
import { valueTypes } from './value-types.ts';

/** A name that is also a valid GraphQL name and an unquoted BigQuery identifier. */
export const identifier = z
  .string()
  .regex(
    /^(?!__)[A-Za-z_][A-Za-z0-9_]*$/,
    'must be letters, digits and "_", not starting with a digit or "__"',
  );

export const description = z.string().trim().min(1, 'must not be empty');

const scalarTypes = Object.keys(valueTypes) as ParameterType[]; // the keys of a record of them

const length = z.int().min(0).max(65_536);

/** A parameter as written in a header. */
const written = z.strictObject({
  type: z.enum([...textTypes, ...scalarTypes]),
  description,
  repeated: z.boolean().default(false),
  required: z.boolean().default(false),
  default: z.unknown().optional(),
  min: z.unknown().optional(),
  max: z.unknown().optional(),
  minLength: length.optional(),
  maxLength: length.optional(),
  pattern: z.string().min(1).optional(),
  values: z.array(z.unknown()).min(1).optional(),
  aliases: z.record(z.string().min(1), z.unknown()).optional(),
  examples: z.array(z.unknown()).min(1).optional(),
  typeName: identifier.optional(),
});

/** Whether values of a type are ordered, so that they can have bounds. */
function isOrdered(type: Parameter['type']): boolean {
  return typeOf(type).compare !== undefined;
}

const isText = (type: Parameter['type']) => type === 'string' || type === 'STRING';

/** Parses a parameter of a header; its bounds, default and examples become canonical, and must fit each other. */
export const parameterSchema = written.transform((raw, context): Parameter => {
  const refuse = (key: string, message: string) =>
    context.issues.push({ code: 'custom', path: [key], message, input: raw });
  rejectKeys(raw, refuse);
  const { type, repeated, required, description: text, minLength, maxLength, pattern, typeName } = raw;
  const bare: Parameter = { type, description: text, repeated, required, minLength, maxLength, typeName };
  // Each value is checked against what was read before it: bounds against the type, the default against all bounds.
  const read = (key: string, parameter: Parameter, value: unknown, path: (string | number)[] = [key]) => {
    const found = readParameter({ ...parameter, required: true }, asJson(value));
    if (!('wrong' in found)) return found.value ?? undefined;
    const message = `${found.wrong}; allowed: ${found.allowed}`;
    context.issues.push({ code: 'custom', path, message, input: raw });
    return undefined;
  };
  const one = (key: string, parameter: Parameter, value: unknown, path?: (string | number)[]) =>
    textOf(read(key, { ...parameter, repeated: false }, value, path));
  if (context.issues.length > 0) return bare;
  const typed: Parameter = { type, description: text, repeated, required };
  const min = raw.min === undefined ? undefined : one('min', typed, raw.min);
  const max = raw.max === undefined ? undefined : one('max', typed, raw.max);
  const unvalued = { ...typed, type: type === 'enum' ? ('string' as const) : type };
  const values = raw.values?.flatMap((value, at) => one('values', unvalued, value, ['values', at]) ?? []);
  const bounded: Parameter = { ...bare, min, max, pattern, values };
  if (context.issues.length > 0) return bounded;
  rejectEmptyRange(bounded, refuse);
  const given = raw.default === undefined ? undefined : read('default', bounded, raw.default);
  const examples = raw.examples?.flatMap((value, at) => {
    const example = read('examples', bounded, value, ['examples', at]);
    return example === undefined ? [] : [example];
  });
  // Aliases are read last, so that neither the default nor an example can be one: schemas show the values themselves.
  const aliases = readAliases(raw.aliases, (alias, value) =>
    one('aliases', unvalued, value, ['aliases', alias]),
  );
  rejectBadAliases(aliases, values, refuse);
  return { ...bounded, default: given, examples, aliases };
});

/** Replaces YAML's numbers that JSON lacks, such as `.inf`, by words. */
function asJson(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asJson);
  return typeof value === 'number' && !Number.isFinite(value) ? String(value) : value;
}

function readAliases(
  written: Readonly<Record<string, unknown>> | undefined,
  read: (alias: string, value: unknown) => string | undefined,
): Record<string, string> | undefined {
  if (!written) return undefined;
  const entries = Object.entries(written).map(([alias, value]) => [alias, read(alias, value) ?? ''] as const);
  return Object.fromEntries(entries);
}

/** Refuses aliases that mean neither a listed value nor themselves: they are typing errors. */
function rejectBadAliases(
  aliases: Readonly<Record<string, string>> | undefined,
  values: readonly string[] = [],
  refuse: (key: string, message: string) => void,
): void {
  for (const [alias, value] of Object.entries(aliases ?? {})) {
    if (values.includes(alias)) refuse('aliases', `must not have ${alias}, which is one of the values`);
    else if (value !== alias && !values.includes(value)) {
      refuse('aliases', `must give ${alias} one of the values, or ${alias} itself`);
    }
  }
}

function textOf(value: ParameterValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Refuses keys that have no meaning for the type. */
function rejectKeys(raw: z.output<typeof written>, refuse: (key: string, message: string) => void): void {
  const { type } = raw;
  const only = (keys: readonly (keyof typeof raw)[], isAllowed: boolean, types: string) => {
    for (const key of keys) if (raw[key] !== undefined && !isAllowed) refuse(key, `is for ${types} alone`);
  };
  only(['min', 'max'], isOrdered(type), 'numbers, dates and times');
  only(['minLength', 'maxLength', 'pattern'], isText(type), 'the type STRING');
  only(['typeName'], type === 'enum', 'the type enum');
  only(
    ['values'],
    type !== 'regexp' && type !== 'BOOL' && type !== 'JSON',
    'types with values to choose from',
  );
  only(['aliases'], raw.values !== undefined, 'parameters with values');
  if (type === 'enum') rejectBadEnum(raw.values, refuse);
  if (raw.required && raw.default !== undefined) {
    refuse('default', 'must not stand beside required: it would never be used');
  }
  if (raw.pattern !== undefined) {
    const problem = problemOfPattern(raw.pattern);
    if (problem) refuse('pattern', problem);
  }
}

/** Refuses enum values that are not valid GraphQL names. */
function rejectBadEnum(
  values: readonly unknown[] | undefined,
  refuse: (key: string, message: string) => void,
): void {
  if (!values) refuse('values', 'must list the values of the enum');
  for (const value of values ?? []) {
    const found = identifier.safeParse(value);
    if (!found.success) refuse('values', `${JSON.stringify(value)} ${found.error.issues[0]?.message}`);
  }
  const names = (values ?? []).map(value => String(value).toUpperCase());
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) refuse('values', `must not have the GraphQL name ${twice} twice`);
}

function rejectEmptyRange(parameter: Parameter, refuse: (key: string, message: string) => void): void {
  const { type, min, max, minLength = 0, maxLength = Infinity } = parameter;
  const { compare } = typeOf(type);
  if (min !== undefined && max !== undefined && compare && compare(min, max) > 0) {
    refuse('max', 'must not be less than min');
  }
  if (minLength > maxLength) refuse('maxLength', 'must not be less than minLength');
}
