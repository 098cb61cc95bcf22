import { isJsonObject } from '../../base/json.ts';
import { normaliseScalar, RowError } from '../../duckdb/normalise-row.ts';
import type { ScalarType, SourceField } from '../../endpoints/source.ts';
import { fitsFloat, type GrowingFields, type GrowingRecord } from './growing-fields.ts';

/** The state of converting events to rows. */
export type Conversion = {
  readonly fields: GrowingFields;
  /** Collects dotted paths of records that hold several elements. */
  readonly severalElements: Set<string>;
  /** Number of values of the current event that fit no field. */
  lost: number;
  /** Number of records in lists of the current event. */
  records: number;
};

/**
 * Maximum records in the lists of one event. DuckDB makes room for all fields of each, even missing ones: a hundred thousand empty records
 * would take gigabytes.
 */
const maxRecords = 1000;

/** Converts a record to its fields: new ones are learned, and values that do not fit become NULL and are counted. */
export function convertRecord(
  conversion: Conversion,
  record: Record<string, unknown>,
  growing: GrowingRecord,
  path = '',
): Record<string, unknown> {
  const converted: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(record)) {
    if (value === null || value === undefined) continue;
    const found = conversion.fields.find(growing, key, value);
    if (found === 'nothing') continue;
    // Two names may differ only in letter case.
    if (found === undefined || Object.hasOwn(converted, found.name)) conversion.lost++;
    else converted[found.name] = convertField(conversion, found, value, path + found.name);
  }
  return converted;
}

type Field = { readonly field: SourceField; readonly below: GrowingRecord | undefined };

function convertField(
  conversion: Conversion,
  { field, below }: Field,
  value: unknown,
  path: string,
): unknown {
  if (Array.isArray(field)) {
    const list = (Array.isArray(value) ? value : [value]).filter(item => item !== null);
    if (below) return convertRecords(conversion, list, below, path);
    const [type] = field as [ScalarType]; // a record has `below`
    return list.map(item => convertScalar(conversion, type, item, path)).filter(item => item !== null);
  }
  // A list of one value stands for that value, unless a list is a value of the type.
  const isElement = Array.isArray(value) && value.length === 1 && field !== 'STRING' && field !== 'JSON';
  const single = isElement ? value[0] : value;
  if (!below) return convertScalar(conversion, field as ScalarType, single, path); // a record has `below`
  if (isJsonObject(single)) return convertRecord(conversion, single, below, `${path}.`);
  conversion.lost++;
  return null;
}

function convertRecords(
  conversion: Conversion,
  list: readonly unknown[],
  below: GrowingRecord,
  path: string,
): Record<string, unknown>[] {
  const records = list.filter(isJsonObject).slice(0, maxRecords - conversion.records);
  conversion.records += records.length;
  conversion.lost += list.length - records.length;
  if (records.length > 1) conversion.severalElements.add(path);
  return records.map(item => convertRecord(conversion, item, below, `${path}.`));
}

function convertScalar(conversion: Conversion, type: ScalarType, value: unknown, path: string): unknown {
  try {
    if (type === 'FLOAT64' && !fitsFloat(value)) throw new RowError(`${path} has more digits than a FLOAT64`);
    // The unit of each count is recognised separately, because events of many senders are mixed.
    const findings = timeTypes.includes(type) ? { ...noFindings, epochUnits: new Map() } : noFindings;
    return normaliseScalar(type, wholeNumber(type, value), path, findings);
  } catch (error) {
    if (!(error instanceof RowError)) throw error;
    conversion.lost++;
    return null;
  }
}

const timeTypes: readonly ScalarType[] = ['TIMESTAMP', 'DATETIME', 'DATE'];

const noFindings = { ignoredFields: new Set<string>(), severalElements: new Set<string>() };

/** For an integer field, accepts text such as `200.0`. */
function wholeNumber(type: ScalarType, value: unknown): unknown {
  if (typeof value !== 'string' || type !== 'INT64') return value;
  return /^\s*([+-]?\d{1,19})(?:\.0*)?\s*$/.exec(value)?.[1]?.replace('+', '') ?? value;
}
