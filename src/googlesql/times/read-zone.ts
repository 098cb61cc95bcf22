import { zoneNames } from './zone-names.ts';

/** A time zone: a name of the tz database, and minutes that are added to its time. An offset is one from UTC. */
export type Zone = { readonly name: string; readonly minutes: number };

export const utcZone: Zone = { name: 'UTC', minutes: 0 };

/** Hours beyond which no offset may go. */
const maxHours = 14;

/**
 * Reads a time zone as BigQuery does: `America/New_York` in this case of letters, `+05:30`, `-3`, `UTC+5:30`.
 * @returns undefined if the text is not a time zone
 */
export function readZone(text: string): Zone | undefined {
  if (zoneNames.has(text)) return { name: text, minutes: 0 };
  const [, sign, hours, minutes = '0'] = /^(?:UTC)?([+-])(\d{1,2})(?::?(\d{1,2}))?$/.exec(text) ?? [];
  if (!sign || Number(minutes) > 59) return undefined;
  const offset = Number(hours) * 60 + Number(minutes);
  if (offset > maxHours * 60) return undefined;
  return { name: 'UTC', minutes: sign === '-' ? -offset : offset };
}

const known = new Map<string, Zone>();
const maxKnown = 1000;

/**
 * As `readZone`, for a value of a column; what was read lately is remembered.
 * @throws Error in BigQuery's words
 */
export function needZone(text: string): Zone {
  const found = known.get(text) ?? readZone(text);
  if (!found) throw new Error(`Invalid time zone: ${text}`);
  if (known.size >= maxKnown) known.clear();
  known.set(text, found);
  return found;
}
