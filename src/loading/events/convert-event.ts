import { randomUUID } from 'node:crypto';
import { formatTimestamp } from '../../base/format-timestamp.ts';
import { isJsonObject, keptDigits } from '../../base/json.ts';
import { maxTimestamp, minTimestamp, parseTimestamp } from '../../base/parse-timestamp.ts';
import { parserFor, RowError } from '../../duckdb/normalise-row.ts';
import { mapRow } from '../../endpoints/load-mapping.ts';
import { guessEpochUnit, readEpoch } from '../../endpoints/read-epoch.ts';
import type { Source } from '../../endpoints/source.ts';
import { type Conversion, convertRecord } from './convert-record.ts';
import { type GrowingFields, originalColumn } from './growing-fields.ts';

/** An event as a row of its source. */
export type ConvertedEvent = {
  /** JSON text in the normal form of rows, without columns that are NULL. */
  readonly row: string;
  /** Whether the event has its own id: if sent again it is the same event. */
  readonly hasOwnId: boolean;
  /** Number of values that fit no field of the row, which then also has the event's text. */
  readonly lost: number;
};

type ConvertOptions = {
  readonly source: Pick<Source, 'columns' | 'required' | 'generated' | 'time' | 'project' | 'load'>;
  /** The fields of the source; new ones are added as they occur. */
  readonly fields: GrowingFields;
  /** The time of arrival, milliseconds. */
  readonly nowMs: number;
  /** Collects dotted paths of records that hold several elements. */
  readonly severalElements: Set<string>;
};

/** Maximum microseconds by which an event may be ahead of our clock: a later one has a wrong clock, and would never be old enough to be removed. */
const maxAheadMicros = 366n * 86_400_000_000n;

/** The project of events that name none: a self-hosted installation has only one. */
const defaultProject = 'default';

/** Maximum characters of an event's own id; longer ones are not ids. */
const maxIdLength = 256;

/**
 * Makes the function that converts events to rows. An event is always kept: a value that does not fit a field's type is converted, or else
 * becomes NULL while the row gets the text of the event in the column `_original`.
 */
export function createConverter({ source, fields, nowMs, severalElements }: ConvertOptions) {
  const { columns, required = [], generated = [], project, load } = source;
  const time = source.time ?? (columns.timestamp === 'TIMESTAMP' ? 'timestamp' : undefined);
  const parse = parserFor({ columns });
  const conversion: Conversion = { fields, severalElements, lost: 0, records: 0 };
  const own = ownColumns([
    time,
    ...generated,
    'event_message',
    'message',
    'metadata',
    project?.split('.')[0],
  ]);

  /** @throws RowError, SyntaxError for text that is not an event */
  return (text: string): ConvertedEvent => {
    conversion.lost = 0;
    conversion.records = 0;
    const parsed = parse(text);
    if (!isJsonObject(parsed)) throw new RowError('is not a JSON object');
    const event = own(load && !load.pattern ? mapRow(load, parsed) : parsed);
    if (time !== undefined) event[time] = timeOf(event, time, { nowMs, conversion });
    if (columns.event_message !== undefined) nameMessage(event);
    const hasOwnId = completeIds(event, generated, conversion);
    if (project) placeProject(event, project.split('.'), event.project);
    const row = convertRecord(conversion, event, fields.root);
    for (const column of required) {
      const isColumn = !column.includes('.');
      const value = Object.hasOwn(row, column) ? row[column] : null;
      if (isColumn && value === null) throw new RowError(`has no ${column}`);
    }
    if (conversion.lost > 0) {
      fields.addColumn(originalColumn);
      row[originalColumn] = text.toWellFormed();
    }
    return { row: JSON.stringify(row), hasOwnId, lost: conversion.lost };
  };
}

/**
 * Makes the function that copies an event with its special columns first and under their exact names: `Timestamp` becomes `timestamp` if
 * there is no other.
 */
function ownColumns(names: readonly (string | undefined)[]) {
  const first: Record<string, undefined> = {};
  for (const name of names) if (name !== undefined) first[name] = undefined;
  const exact = new Map(Object.keys(first).map(name => [name.toLowerCase(), name]));
  return (given: Record<string, unknown>): Record<string, unknown> => {
    const event: Record<string, unknown> = { ...first, ...given };
    for (const key of Object.keys(given)) {
      const name = exact.get(key.toLowerCase());
      if (name === undefined || name === key || (event[name] ?? null) !== null) continue;
      event[name] = event[key];
      delete event[key];
    }
    return event;
  };
}

type Arrival = { readonly nowMs: number; readonly conversion: Conversion };

/** The time of an event: its own, or else that of its arrival. */
function timeOf(event: Record<string, unknown>, column: string, { nowMs, conversion }: Arrival): string {
  const nowMicros = BigInt(nowMs) * 1000n;
  const read = (value: unknown) => readTime(value, nowMicros + maxAheadMicros);
  const stated = event[column];
  const own = read(stated);
  if (own !== undefined) return own;
  if (stated !== undefined && stated !== null && stated !== '') conversion.lost++;
  return read(metadataOf(event)?.timestamp) ?? formatTimestamp(nowMicros);
}

function readTime(value: unknown, latestMicros: bigint): string | undefined {
  if (value === undefined || value === null) return undefined;
  const text = keptDigits(value) ?? String(value);
  const isCount = /^-?\d+(?:\.\d+)?$/.test(text);
  const micros = isCount ? readEpoch(text, guessEpochUnit(text) ?? 's') : parseTimestamp(text);
  // The earliest time is what Go programs write for no time.
  const isTime = micros !== undefined && micros > minTimestamp && micros <= maxTimestamp;
  return isTime && micros <= latestMicros ? formatTimestamp(micros) : undefined;
}

function metadataOf({ metadata }: Record<string, unknown>): Record<string, unknown> | undefined {
  const first: unknown = Array.isArray(metadata) ? metadata[0] : metadata;
  return isJsonObject(first) ? first : undefined;
}

/** Renames `message` to the name of the message column. */
function nameMessage(event: Record<string, unknown>): void {
  if ((event.event_message ?? null) !== null || event.message === undefined) return;
  event.event_message = event.message;
  delete event.message;
}

/** @returns whether the event had values for all generated columns */
function completeIds(
  event: Record<string, unknown>,
  generated: readonly string[],
  conversion: Conversion,
): boolean {
  let areOwn = generated.length > 0;
  for (const name of generated) {
    const id = keptDigits(event[name]) ?? event[name];
    const isId = (typeof id === 'string' || typeof id === 'number') && id !== '';
    if (isId && String(id).length <= maxIdLength) continue;
    if (id !== undefined && id !== null && id !== '') conversion.lost++;
    event[name] = randomUUID();
    areOwn = false;
  }
  return areOwn;
}

/** Sets the project of an event without one, in the source's field for it. */
function placeProject(
  event: Record<string, unknown>,
  [name = '', ...below]: string[],
  project: unknown,
): void {
  const value = event[name] ?? null;
  if (below.length === 0) {
    if (isNothing(value)) event[name] = isNothing(project) ? defaultProject : project;
    return;
  }
  const list: unknown[] = Array.isArray(value) ? [...value] : [value];
  if (!list.some(isJsonObject)) list.push({});
  event[name] = list.map(item => {
    if (!isJsonObject(item)) return item;
    const record = { ...item };
    placeProject(record, below, project);
    return record;
  });
}

/** Whether a value is empty: a project needs a name to be queried by. */
const isNothing = (value: unknown) => value === undefined || value === null || value === '';
