import { isJsonObject, keptDigits } from '../../base/json.ts';
import type { ScalarType, Source, SourceField, SourceFields } from '../../endpoints/source.ts';

/** The column with the text of an event with values that fit no field. */
export const originalColumn = '_original';

/**
 * Maximum fields that one source may learn, their depth, and the characters of a name. Records and arrays count twice: DuckDB stores more
 * columns for them, and each takes memory and time in every turn of the writer. Every row of every answer names them all.
 */
export const learningLimits = { fields: 200, depth: 8, nameLength: 128 };

/** A record whose fields grow. */
export type GrowingRecord = {
  /** By name in lower case: BigQuery and DuckDB ignore letter case. */
  readonly fields: Map<string, GrowingField>;
  /** The fields learned here, in the form of the file of learned fields. */
  readonly learned: Record<string, SourceField>;
  /** Names from the top down to these fields. */
  readonly depth: number;
  /** Those names in lower case, each with a dot behind it. */
  readonly path: string;
};

export type GrowingField = {
  readonly name: string;
  field: SourceField;
  /** The fields of a record. */
  readonly below: GrowingRecord | undefined;
  readonly isLearned: boolean;
};

/** The fields of a source, including those learned from events. */
export type GrowingFields = {
  readonly root: GrowingRecord;
  /**
   * Finds the field for a value, and learns it if it is new.
   * @returns 'nothing' for a value without content; undefined if the limits allow no further field
   */
  find(record: GrowingRecord, key: string, value: unknown): GrowingField | 'nothing' | undefined;
  /** Learns a column of text. */
  addColumn(name: string): void;
  /** All learned fields, if there are more than at the last call. */
  takeGrowth(): SourceFields | undefined;
  /** The learned integers that stay INT64, by dotted path in lower case, if there are more than at the last call. */
  takeLarge(): SourceFields | undefined;
};

type DeclaredFields = Pick<Source, 'columns' | 'time' | 'project'>;

/**
 * @param source as declared
 * @param learned its fields learned so far
 * @param options `isPaused`: whether no field of a record is learned, nor changes its type: only columns are. Default false;
 * `large`: learned integers that stay INT64, as `takeLarge` gave them. Default: none
 */
export function growFields(
  source: DeclaredFields,
  learned: SourceFields,
  { isPaused = false, large = {} }: { readonly isPaused?: boolean; readonly large?: SourceFields } = {},
): GrowingFields {
  let [count, hasGrown] = [0, false];
  const whole = createWholeFields(large);
  const columns = columnsToKeepClear(source);
  const root = startRecord(1, '');
  declare(root, source.columns);
  adopt(root, learned);
  hasGrown = false;

  function declare(record: GrowingRecord, fields: SourceFields): void {
    for (const [name, field] of Object.entries(fields)) {
      const added = add(record, name, field, false);
      const own = recordOf(field);
      if (own && added.below) declare(added.below, own);
    }
  }

  function adopt(record: GrowingRecord, fields: SourceFields): void {
    for (const [name, field] of Object.entries(fields)) {
      const known = record.fields.get(name.toLowerCase());
      const own = recordOf(field);
      const { below } = known ?? learn(record, name, own ? (Array.isArray(field) ? [{}] : {}) : field);
      if (own && below) adopt(below, own);
    }
  }

  function add(record: GrowingRecord, name: string, field: SourceField, isLearned: boolean): GrowingField {
    const below = recordOf(field) && startRecord(record.depth + 1, `${record.path}${name.toLowerCase()}.`);
    const added = { name, field, below, isLearned };
    record.fields.set(name.toLowerCase(), added);
    // A declared record also occurs among the learned fields, because of those below it.
    if (below) record.learned[name] = Array.isArray(field) ? [below.learned] : below.learned;
    return added;
  }

  function learn(record: GrowingRecord, name: string, field: SourceField): GrowingField {
    const added = add(record, name, field, true);
    count += weightOf(field);
    if (added.below) return added;
    record.learned[name] = field;
    hasGrown = true;
    return added;
  }

  return {
    root,
    find(record, key, value) {
      const known = record.fields.get(key.toLowerCase());
      if (known && !isReserved(key)) return widened(known, record, value);
      const field = fieldFor(value, record.depth);
      if (field === undefined) return 'nothing';
      const isTaken = record.depth === 1 ? isRowId.test(key) : columns.has(key.toLowerCase());
      const name = columnName(key, isTaken);
      if (name === undefined) return undefined;
      const other = record.fields.get(name.toLowerCase());
      if (other) return widened(other, record, value);
      const isFull = count + weightOf(field) > learningLimits.fields;
      if (isFull || (isPaused && record.depth > 1)) return undefined;
      return widened(learn(record, name, field), record, value);
    },
    addColumn: name => void (root.fields.has(name) || learn(root, name, 'STRING')),
    takeGrowth() {
      if (!hasGrown) return undefined;
      hasGrown = false;
      return pruned(root.learned);
    },
    takeLarge: whole.take,
  };

  /**
   * A field that was learned as INT64 becomes FLOAT64 with the first fraction, unless one of its values was too large for a FLOAT64: stored
   * values would be rounded.
   */
  function widened(known: GrowingField, record: GrowingRecord, value: unknown): GrowingField {
    if (!known.isLearned || known.field !== 'INT64') return known;
    const staysWhole = whole.notice(record.path + known.name.toLowerCase(), value);
    if (isPaused || staysWhole || !hasFraction(value)) return known;
    known.field = 'FLOAT64';
    record.learned[known.name] = 'FLOAT64';
    hasGrown = true;
    return known;
  }
}

/** Names of columns, in lower case, that a record's field of the same name would make ambiguous. */
function columnsToKeepClear({
  columns,
  time = 'timestamp',
  project = 'project',
}: DeclaredFields): ReadonlySet<string> {
  const names = new Set(Object.keys(columns).map(name => name.toLowerCase()));
  // These are always queried with the name of the table, because Supabase's own records have fields of the same name.
  for (const name of [time, project]) names.delete(name);
  return names;
}

/** The learned integers that stay INT64, by dotted path in lower case. */
function createWholeFields(large: SourceFields) {
  const paths = new Set(Object.keys(large));
  let hasGrown = false;
  return {
    /** @returns whether a field stays INT64, considering this value */
    notice(path: string, value: unknown): boolean {
      if (!paths.has(path) && !fitsFloat(value)) {
        paths.add(path);
        hasGrown = true;
      }
      return paths.has(path);
    },
    take(): SourceFields | undefined {
      if (!hasGrown) return undefined;
      hasGrown = false;
      return Object.fromEntries([...paths].map(path => [path, 'INT64']));
    },
  };
}

const weightOf = (field: SourceField) => (typeof field === 'string' ? 1 : 2);

const startRecord = (depth: number, path: string): GrowingRecord => ({
  fields: new Map(),
  learned: {},
  depth,
  path,
});

function hasFraction(value: unknown): boolean {
  const digits = keptDigits(value);
  return digits === undefined
    ? typeof value === 'number' && !Number.isInteger(value)
    : !isInteger.test(digits);
}

const isInteger = /^-?\d+$/;

/** More digits before the point than any FLOAT64 has. */
const maxFloatDigits = 310;

/** Whether a FLOAT64 holds an integer exactly; other numbers are always accepted, perhaps rounded. */
export function fitsFloat(value: unknown): boolean {
  const [only] = Array.isArray(value) && value.length === 1 ? (value as unknown[]) : [value];
  const digits = /^\s*([+-]?\d{16,})(?:\.0*)?\s*$/.exec(keptDigits(only) ?? String(only))?.[1];
  if (digits === undefined) return true;
  const number = Number(digits);
  return (
    digits.length < maxFloatDigits &&
    Number.isFinite(number) &&
    BigInt(number) === BigInt(digits.replace('+', ''))
  );
}

/** The fields of a record, repeated or not. */
export function recordOf(field: SourceField): SourceFields | undefined {
  const element = Array.isArray(field) ? field[0] : field;
  return typeof element === 'string' ? undefined : element;
}

/** Names reserved for the presence of a record, and for the text of the event. */
const isReserved = (key: string) => /^(?:_p|_original|__.*)$/i.test(key);

/** A column of this name would hide DuckDB's own `rowid`, by which rows are sorted. */
const isRowId = /^rowid$/i;

/**
 * A column name that BigQuery allows, made in the way of Logflare: other characters become `_`, and such a name also begins with `_`.
 * @param isTaken whether the name means something else: a field `id` of a record would make the `id` of its rows ambiguous in queries
 */
function columnName(key: string, isTaken: boolean): string | undefined {
  const name = /^[A-Za-z_]\w*$/.test(key) && !isTaken ? key : `_${key.replace(/\W/g, '_')}`;
  return name.length > learningLimits.nameLength || isReserved(name) ? undefined : name;
}

/** The type of the field for a value. @returns undefined for a value without content */
function fieldFor(value: unknown, depth: number): SourceField | undefined {
  if (!hasContent(value)) return undefined;
  if (isJsonObject(value)) return depth < learningLimits.depth ? [{}] : 'STRING';
  if (!Array.isArray(value)) return scalarFor(value);
  const items: unknown[] = value.filter(hasContent);
  if (items.every(isJsonObject)) return depth < learningLimits.depth ? [{}] : 'STRING';
  if (items.some(item => typeof item === 'object' && keptDigits(item) === undefined)) return 'STRING';
  const types = new Set(items.map(scalarFor));
  const [type = 'STRING'] = types;
  if (types.size === 1) return [type];
  return [[...types].every(each => each === 'INT64' || each === 'FLOAT64') ? 'FLOAT64' : 'STRING'];
}

function hasContent(value: unknown): boolean {
  if (value === null || value === undefined) return false;
  if (Array.isArray(value)) return value.some(hasContent);
  return isJsonObject(value) ? Object.values(value).some(hasContent) : true;
}

function scalarFor(value: unknown): ScalarType {
  if (typeof value === 'boolean') return 'BOOL';
  const digits = keptDigits(value);
  if (digits !== undefined && !isInteger.test(digits)) return 'FLOAT64';
  if (digits !== undefined) return BigInt.asIntN(64, BigInt(digits)) === BigInt(digits) ? 'INT64' : 'STRING';
  if (typeof value !== 'number') return 'STRING';
  return Number.isSafeInteger(value) ? 'INT64' : 'FLOAT64';
}

/** Removes records without fields, for which DuckDB has no type. */
function pruned(fields: SourceFields): SourceFields {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, field]): [string, SourceField][] => {
      const own = recordOf(field);
      if (!own) return [[name, field]];
      const kept = pruned(own);
      if (Object.keys(kept).length === 0) return [];
      return [[name, Array.isArray(field) ? [kept] : kept]];
    }),
  );
}
