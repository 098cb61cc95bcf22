/** Times that move with the clock; in the address they stay as they are, so that a link still says "the last hour". */
export const presets = [
  { value: '~15m', label: 'last 15 minutes', ms: 15 * 60_000 },
  { value: '~1h', label: 'last hour', ms: 3_600_000 },
  { value: '~24h', label: 'last 24 hours', ms: 24 * 3_600_000 },
  { value: '~7d', label: 'last 7 days', ms: 7 * 24 * 3_600_000 },
] as const;

/** The instant of a preset as ISO 8601 text; any other value is as it was. */
export function resolveTime(value: string, nowMs: number): string {
  const preset = presets.find(each => each.value === value);
  return preset ? new Date(nowMs - preset.ms).toISOString() : value;
}

/** The text of a `datetime-local` field, which knows no zone, for an instant; empty for anything else. */
export function toLocalField(value: string): string {
  const found = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?/.exec(value);
  return found ? found[0].replace(' ', 'T') : '';
}

/** The instant that a `datetime-local` field says, read as UTC. */
export function fromLocalField(text: string, type: string): string {
  if (text === '') return '';
  const whole = text.length === 16 ? `${text}:00` : text;
  return type === 'DATETIME' ? whole : `${whole}Z`;
}
