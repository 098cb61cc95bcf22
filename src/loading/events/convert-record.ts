import { isJsonObject } from '../../base/exact-json.ts';
import { normaliseScalar, RowError } from '../../duckdb/normalise-row.ts';
import type { ScalarType, SourceField } from '../../endpoints/sources.ts';
import { fitsFloat, type GrowingFields, type GrowingRecord } from './growing-fields.ts';

/** What is going on while events become rows. */
export type Conversion = {
  readonly fields: GrowingFields;
  /** Collects dotted paths of records that hold several elements. */
  readonly severalElements: Set<string>;
  /** Values of the present event that found no place. */
  lost: number;
  /** Records in lists of the present event. */
  records: number;
};

/**
 * Records that the lists of one event may hold. DuckDB makes room for all fields of each, also for those that it lacks: a hundred thousand empty
 * ones would take gigabytes.
 */
const maxRecords = 1000;

/** Brings a record into the form of its fields: unknown ones are learned, and what does not fit is NULL and counted. */
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
    // Two names may be one in another letter case.
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
  // A list of one is its element, where it is no value itself.
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
    // The unit of each count is recognised by itself: events of many senders come together.
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

/** `200.0` in a text is an integer. */
function wholeNumber(type: ScalarType, value: unknown): unknown {
  if (typeof value !== 'string' || type !== 'INT64') return value;
  return /^\s*([+-]?\d{1,19})(?:\.0*)?\s*$/.exec(value)?.[1]?.replace('+', '') ?? value;
}
