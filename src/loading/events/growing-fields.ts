import { isJsonObject, keptDigits } from '../../base/exact-json.ts';
import type { ScalarType, Source, SourceField, SourceFields } from '../../endpoints/sources.ts';

/** The column with the text of an event of which some value found no place. */
export const originalColumn = '_original';

/**
 * Fields that one source may learn, their depth, and the characters of a name. Records and arrays count twice: DuckDB stores more columns for them, and
 * each takes memory and time in every turn of the writer.
 */
export const learningLimits = { fields: 500, depth: 8, nameLength: 128 };

/** A record whose fields grow. */
export type GrowingRecord = {
  /** By name in lower case: BigQuery and DuckDB make no difference. */
  readonly fields: Map<string, GrowingField>;
  /** What was learned here, as the file of learned fields has it. */
  readonly learned: Record<string, SourceField>;
  /** Names from the top down to these fields. */
  readonly depth: number;
};

export type GrowingField = {
  readonly name: string;
  field: SourceField;
  /** The fields of a record. */
  readonly below: GrowingRecord | undefined;
  readonly isLearned: boolean;
};

/** The fields of a source, with those that are learned while events come. */
export type GrowingFields = {
  readonly root: GrowingRecord;
  /**
   * Finds the field for a value, and learns it if it is new.
   * @returns 'nothing' for a value without content; undefined if the limits leave no place for it
   */
  find(record: GrowingRecord, key: string, value: unknown): GrowingField | 'nothing' | undefined;
  /** Learns a column of text. */
  addColumn(name: string): void;
  /** All that was learned, if that is more than at the last call. */
  takeGrowth(): SourceFields | undefined;
};

/**
 * @param source as declared
 * @param learned what it has learned so far
 * @param isResting whether no field of a record is learned, nor changes its type: only columns are. Default false
 */
export function growFields(
  source: Pick<Source, 'columns' | 'time' | 'project'>,
  learned: SourceFields,
  isResting = false,
): GrowingFields {
  let count = 0;
  let hasGrown = false;
  const columns = new Set(Object.keys(source.columns).map(name => name.toLowerCase()));
  // Who asks names the table of these, for Supabase's own records have such fields.
  for (const name of [source.time ?? 'timestamp', source.project ?? 'project']) columns.delete(name);
  const root = startRecord(1);
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
    const below = recordOf(field) && startRecord(record.depth + 1);
    const added = { name, field, below, isLearned };
    record.fields.set(name.toLowerCase(), added);
    // A declared record is named in what is learned as well, for the fields below it.
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
      if (isResting && record.depth > 1) return undefined;
      return count + weightOf(field) <= learningLimits.fields ? learn(record, name, field) : undefined;
    },
    addColumn(name) {
      if (!root.fields.has(name)) learn(root, name, 'STRING');
    },
    takeGrowth() {
      if (!hasGrown) return undefined;
      hasGrown = false;
      return pruned(root.learned);
    },
  };

  /** Integers that were learned become numbers with the first fraction. */
  function widened(known: GrowingField, record: GrowingRecord, value: unknown): GrowingField {
    if (!known.isLearned || known.field !== 'INT64' || isResting) return known;
    if (typeof value !== 'number' || Number.isInteger(value)) return known;
    known.field = 'FLOAT64';
    record.learned[known.name] = 'FLOAT64';
    hasGrown = true;
    return known;
  }
}

const weightOf = (field: SourceField) => (typeof field === 'string' ? 1 : 2);

const startRecord = (depth: number): GrowingRecord => ({ fields: new Map(), learned: {}, depth });

/** The fields of a record, repeated or not. */
export function recordOf(field: SourceField): SourceFields | undefined {
  const element = Array.isArray(field) ? field[0] : field;
  return typeof element === 'string' ? undefined : element;
}

/** Names that rows need for themselves: the presence of a record, and the text of the event. */
const isReserved = (key: string) => /^(?:_p|_original|__.*)$/i.test(key);

/** A column of this name would hide DuckDB's own number of each row, by which rows are sorted. */
const isRowId = /^rowid$/i;

/**
 * The name of a column as BigQuery allows it, made as Logflare makes it: other characters are `_`, and so is then the first one.
 * @param isTaken whether the name means something else: a field `id` of a record would make the `id` of its rows ambiguous for all who ask
 */
function columnName(key: string, isTaken: boolean): string | undefined {
  const name = /^[A-Za-z_]\w*$/.test(key) && !isTaken ? key : `_${key.replace(/\W/g, '_')}`;
  return name.length > learningLimits.nameLength || isReserved(name) ? undefined : name;
}

/** The field that a value asks for. @returns undefined for a value without content */
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
  if (digits !== undefined) return BigInt.asIntN(64, BigInt(digits)) === BigInt(digits) ? 'INT64' : 'STRING';
  if (typeof value !== 'number') return 'STRING';
  return Number.isSafeInteger(value) ? 'INT64' : 'FLOAT64';
}

/** Without records that have no field: DuckDB has no such type. */
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
