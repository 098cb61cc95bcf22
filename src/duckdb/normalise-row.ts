import { randomUUID } from 'node:crypto';
import { quoted } from '../base/errors.ts';
import { formatTimestamp } from '../base/format-timestamp.ts';
import {
  isJsonObject,
  keptDigits,
  mayHaveLongNumber,
  parseExactJson,
  parseExactNumbers,
} from '../base/json.ts';
import { maxTimestamp, minTimestamp, parseTimestamp } from '../base/parse-timestamp.ts';
import { valueTypes } from '../endpoints/parameters/value-types.ts';
import { type EpochUnit, epochUnits, guessEpochUnit, isCoarser, readEpoch } from '../endpoints/read-epoch.ts';
import type { Source, SourceField, SourceFields } from '../endpoints/source.ts';
import type { ParameterType } from '../engine/engine.ts';

/** What the rows of an import reveal about their source's table. */
export type Findings = {
  /** Dotted paths of fields that the source lacks. */
  readonly ignoredFields: Set<string>;
  /** Dotted paths of repeated records that held more than one element. */
  readonly severalElements: Set<string>;
  /** The units of times that are counts, by dotted path, in the order in which they were found. Default: all are microseconds. */
  readonly epochUnits?: Map<string, Set<EpochUnit>>;
};

/** Maximum values of a row, NULLs included: a short list of empty records would otherwise grow to millions of fields. */
const maxValues = 1_000_000;

/** Maximum ignored fields that are remembered: each row may have different ones. */
const maxIgnored = 1000;

/** Digits of a BIGNUMERIC that DuckDB's DECIMAL(38, 9) holds too. */
export const heldDigits = /^-?\d{1,29}(?:\.\d{1,9})?$/;

/** A row that can't be stored: which field, and why. */
export class RowError extends Error {
  override readonly name = 'RowError';
}

/** The JSON parser for rows of a source: exact if it has NUMERIC or BIGNUMERIC columns; otherwise decimals are FLOAT64. */
export function parserFor({ columns }: Pick<Source, 'columns'>): (text: string) => unknown {
  return JSON.stringify(columns).includes('NUMERIC"') ? parseExactNumbers : parseExactJson;
}

/**
 * Converts a parsed JSON row to the source's logical form: every column present, every repeated record a list, all scalars except BOOL and
 * FLOAT64 as text that DuckDB casts without loss. A generated column gets a UUID if the row has no value for it.
 * @throws RowError
 */
export function normaliseRow(
  source: Pick<Source, 'columns' | 'required' | 'generated'>,
  row: unknown,
  findings: Findings,
): Record<string, unknown> {
  if (!isJsonObject(row)) throw new RowError('is not a JSON object');
  const { columns, generated = [] } = source;
  const made = generated.filter(name => (ownValue(row, name) ?? null) === null);
  const whole = { ...row, ...Object.fromEntries(made.map(name => [name, randomUUID()])) };
  const room = { values: maxValues };
  return normaliseRecord(columns, whole, '', { required: new Set(source.required), findings, room });
}

type RowContext = {
  /** Dotted paths of the required fields. */
  readonly required: ReadonlySet<string>;
  readonly findings: Findings;
  /** How many more values the row may hold. */
  readonly room: { values: number };
};

function takeRoom(room: RowContext['room'], values: number): void {
  room.values -= values;
  if (room.values < 0) throw new RowError(`has more than ${maxValues} values`);
}

function normaliseRecord(
  fields: SourceFields,
  record: Record<string, unknown>,
  path: string,
  context: RowContext,
): Record<string, unknown> {
  const declared = Object.entries(fields);
  takeRoom(context.room, declared.length);
  for (const name of Object.keys(record)) {
    const { ignoredFields } = context.findings;
    if (!Object.hasOwn(fields, name) && ignoredFields.size < maxIgnored) ignoredFields.add(path + name);
  }
  return Object.fromEntries(
    declared.map(([name, field]) => {
      const value = normaliseField(field, ownValue(record, name), path + name, context);
      if (value === null && context.required.has(path + name)) {
        throw new RowError(`${path + name} is missing`);
      }
      return [name, value];
    }),
  );
}

/** The value of an own field of a record: `constructor`, which every object inherits, is not a field. */
function ownValue(record: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(record, name) ? record[name] : undefined;
}

function normaliseField(field: SourceField, value: unknown, path: string, context: RowContext): unknown {
  const { findings } = context;
  if (typeof field === 'string') return normaliseScalar(field, value, path, findings);
  if (!Array.isArray(field)) {
    if (value === null || value === undefined) return null;
    if (!isJsonObject(value)) throw new RowError(`${path} is ${quoted(value)}; allowed: an object`);
    return normaliseRecord(field, value, `${path}.`, context);
  }
  if (value === null || value === undefined) return [];
  // A single value counts as an array of one: other log pipelines omit the brackets.
  const list: unknown[] = Array.isArray(value) ? value : [value];
  takeRoom(context.room, list.length);
  const [element] = field;
  if (typeof element === 'string') {
    return list.filter(item => item !== null).map(item => normaliseScalar(element, item, path, findings));
  }
  if (list.length > 1) context.findings.severalElements.add(path);
  return list
    .filter(item => item !== null)
    .map(item => {
      if (!isJsonObject(item))
        throw new RowError(`${path} is ${quoted(item)}; allowed: an object or an array of objects`);
      return normaliseRecord(element, item, `${path}.`, context);
    });
}

/**
 * Converts a value to the normal form of a type.
 * @throws RowError if it is not a value of that type
 */
export function normaliseScalar(
  type: ParameterType,
  value: unknown,
  path: string,
  findings: Findings,
): unknown {
  if (value === null || value === undefined) return null;
  const bad = (allowed: string): never => {
    throw new RowError(`${path} is ${quoted(value)}; allowed: ${allowed}`);
  };
  switch (type) {
    case 'STRING':
      if (typeof value === 'string') return value.isWellFormed() ? value : value.toWellFormed();
      return typeof value === 'object' && keptDigits(value) === undefined
        ? JSON.stringify(value)
        : textOf(value);
    case 'BOOL':
      if (typeof value === 'boolean') return value;
      if (typeof value === 'string' && /^(?:true|false)$/i.test(value)) return value.toLowerCase() === 'true';
      return bad('true or false');
    case 'INT64':
      return isInt64(textOf(value)) ? textOf(value) : bad('a 64-bit integer');
    case 'FLOAT64':
      return readFloat(value) ?? bad('a number');
    case 'TIMESTAMP': {
      const micros = readTime(textOf(value), path, findings.epochUnits);
      return isTimestamp(micros) ? formatTimestamp(micros) : bad('ISO 8601 text or integer microseconds');
    }
    case 'DATE':
    case 'DATETIME': {
      // Some programs write dates as counts, too.
      const isCount = findings.epochUnits && /^-?\d{9,}$/.test(textOf(value));
      const micros = isCount ? readTime(textOf(value), path, findings.epochUnits) : undefined;
      const text = micros === undefined ? textOf(value) : formatTimestamp(micros).replace('Z', '');
      const midnight = /^(\d{4}-\d{2}-\d{2})[T ]00:00(?::00(?:\.0+)?)?Z?$/.exec(text)?.[1];
      const day = micros === undefined ? midnight : text.slice(0, 10);
      const civil = type === 'DATE' && day !== undefined ? day : text;
      return valueTypes[type].read(civil) ?? bad(valueTypes[type].allowed);
    }
    case 'BIGNUMERIC': {
      const number = valueTypes.BIGNUMERIC.read(textOf(value));
      return number !== undefined && heldDigits.test(number)
        ? number
        : bad('up to 29 digits before the point and 9 after it, which is what the embedded engine holds');
    }
    case 'JSON':
      return readJson(value)?.replace(halfSurrogates, '$<before>\ufffd') ?? bad(valueTypes.JSON.allowed);
    default:
      return valueTypes[type].read(textOf(value)) ?? bad(valueTypes[type].allowed);
  }
}

/** Reads a FLOAT64. NaN and the infinities, which JSON lacks, are texts in any usual spelling. */
function readFloat(value: unknown): number | string | undefined {
  const text = textOf(value);
  const [, sign, word] = /^\s*([+-]?)(nan|inf)(?:inity)?\s*$/i.exec(text) ?? [];
  if (word) return word.toLowerCase() === 'nan' ? 'NaN' : `${sign === '-' ? '-' : ''}Infinity`;
  const number = Number(text);
  return Number.isFinite(number) && text.trim() !== '' ? number : undefined;
}

/** @throws RowError for a count that looks like one in a longer unit than the first: read in the first it would be an unintended time in 1970 */
function readTime(text: string, path: string, units: Findings['epochUnits']): bigint | undefined {
  if (!/^-?\d+(?:\.\d+)?$/.test(text)) return parseTimestamp(text);
  if (!units) return isInt64(text) ? BigInt(text) : undefined;
  const guessed = guessEpochUnit(text);
  // Programs write 0 for no time; it is the same in each unit.
  if (guessed === undefined) return 0n;
  const [first = guessed] = units.get(path) ?? [];
  if (isCoarser(guessed, first)) {
    throw new RowError(
      `${path} is ${text}, which looks like ${epochUnits[guessed]}; allowed: ${epochUnits[first]} as before, unless \`time\` in \`load\` names the unit`,
    );
  }
  // A larger count may be a distant time such as 9999-12-31. If it is out of range in the first unit, it has another one.
  const unit = [first, guessed].find(each => isTimestamp(readEpoch(text, each)));
  if (unit) units.set(path, (units.get(path) ?? new Set()).add(unit));
  return unit && readEpoch(text, unit);
}

/** Reads a JSON value. Texts of objects and arrays are parsed; any other value is itself a JSON value, such as the text `[INFO] started`. */
function readJson(value: unknown): string | undefined {
  const isText = typeof value === 'string' && /^\s*[{[]/.test(value);
  const read = isText ? valueTypes.JSON.read(value) : undefined;
  if (read !== undefined) return read;
  const whole = isText ? (parsed(value) ?? value) : value;
  const text = JSON.stringify(whole);
  return valueTypes.JSON.read(mayHaveLongNumber(text) ? JSON.stringify(whole, withFloats) : text);
}

function parsed(text: string): unknown {
  try {
    return parseExactNumbers(text);
  } catch {
    return undefined;
  }
}

/** Halves of surrogate pairs in JSON text, where they are always escaped: DuckDB refuses JSON with one. */
const halfSurrogates = /(?<before>(?<!\\)(?:\\\\)*)\\ud[89a-f][\da-f]{2}/g;

/** A JSON number that is not an integer becomes a FLOAT64. */
function withFloats(_name: string, value: unknown): unknown {
  const digits = keptDigits(value);
  return digits === undefined || /^-?\d+$/.test(digits) ? value : Number(digits);
}

const isTimestamp = (micros: bigint | undefined): micros is bigint =>
  micros !== undefined && micros >= minTimestamp && micros <= maxTimestamp;

function textOf(value: unknown): string {
  return keptDigits(value) ?? String(value);
}

function isInt64(text: string): boolean {
  return /^-?\d{1,19}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text);
}
