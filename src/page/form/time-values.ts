/** Times that move with the clock; the address keeps them unresolved, so that a link still means "the last hour". */
export const presets = [
  { value: '~15m', label: 'last 15 minutes', short: '15 min', ms: 15 * 60_000 },
  { value: '~1h', label: 'last hour', short: '1 h', ms: 3_600_000 },
  { value: '~24h', label: 'last 24 hours', short: '24 h', ms: 24 * 3_600_000 },
  { value: '~7d', label: 'last 7 days', short: '7 d', ms: 7 * 24 * 3_600_000 },
] as const;

/** Whether a value moves with the clock. */
export const isMoving = (value: string): boolean => presets.some(preset => preset.value === value);

/** The time of a preset as ISO 8601 text, in UTC if the type has no zone; any other value is unchanged. */
export function resolveTime(value: string, nowMs: number, type: string): string {
  const preset = presets.find(each => each.value === value);
  if (!preset) return value;
  const text = new Date(nowMs - preset.ms).toISOString();
  return type === 'DATETIME' ? text.slice(0, -1) : text;
}

/** The text of a `datetime-local` field, which knows no zone, for an instant: its time in UTC; empty for anything else. */
export function toLocalField(value: string): string {
  const ms = toMillis(value);
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString().slice(0, 19);
}

/** The instant of a `datetime-local` field, read as UTC. */
export function fromLocalField(text: string, type: string): string {
  if (text === '') return '';
  const whole = text.length === 16 ? `${text}:00` : text;
  return type === 'DATETIME' ? whole : `${whole}Z`;
}

/** Whether a range is empty; false if a bound is absent or not a time. */
export const endsBefore = (from: string, to: string): boolean => toMillis(to) <= toMillis(from);

const time = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(?:Z|([+-]\d\d)(?::?(\d\d))?)?)?$/i;

/** Milliseconds since 1970 of a time as the gateway reads it, in UTC if the text has no zone; NaN for anything else. */
function toMillis(text: string): number {
  const [, day, clock = '00:00', hours, minutes = '00'] = time.exec(text) ?? [];
  if (day === undefined) return NaN;
  return Date.parse(`${day}T${clock}${hours === undefined ? 'Z' : `${hours}:${minutes}`}`);
}
