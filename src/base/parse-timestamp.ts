const dateAndTime =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt ](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?)?/;

/** A space before the hours is an unencoded `+` of a query string; it can't follow a bare date. */
const offset = /^(?: ?(?<sign>[+-])| )(?<hours>\d{1,2})(?::?(?<minutes>\d{2}))?$/;

/** The start of the year 0001, where BigQuery's TIMESTAMP begins; microseconds since 1970. */
export const minTimestamp = -62_135_596_800_000_000n;

/** The end of the year 9999, where BigQuery's TIMESTAMP ends; microseconds since 1970. */
export const maxTimestamp = 253_402_300_799_999_999n;

/**
 * Reads a timestamp as BigQuery's CAST does: ISO 8601, or `YYYY-MM-DD HH:MM:SS`; UTC if the text has no zone.
 *
 * Also accepted: seconds may be left out; digits beyond microseconds are cut off (for a bound on microsecond
 * data that makes no difference); `…T10:00:00 02:00` means `+02:00`.
 *
 * @returns microseconds since 1970, or undefined if the text is not a timestamp
 */
export function parseTimestamp(text: string): bigint | undefined {
  const match = dateAndTime.exec(text);
  if (!match) return undefined;
  const [whole, year, month, day, hour, minute = 0, second = 0, fraction = ''] = match;
  const zone = parseZone(text.slice(whole.length), hour !== undefined);
  if (zone === undefined) return undefined;
  try {
    // Logs are full of timestamps: the constructor takes half as long as `from` with these fields.
    const local = new Temporal.PlainDateTime(
      Number(year),
      Number(month),
      Number(day),
      Number(hour ?? 0),
      Number(minute),
      Number(second),
    );
    const millis = BigInt(local.toZonedDateTime(zone).epochMilliseconds);
    const instant = millis * 1000n + BigInt(fraction.padEnd(6, '0').slice(0, 6));
    return instant >= minTimestamp && instant <= maxTimestamp ? instant : undefined;
  } catch (error) {
    // Temporal throws it for a day, an hour or a zone that does not exist.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** @returns the zone in Temporal's spelling, or undefined if the text is not a zone */
function parseZone(text: string, afterTime: boolean): string | undefined {
  if (text === '' || /^ ?z$/i.test(text)) return 'UTC';
  const numeric = offset.exec(text)?.groups;
  if (!numeric) return /^ [A-Za-z][A-Za-z0-9_+/-]*$/.test(text) ? text.slice(1) : undefined;
  const { sign, hours = '', minutes = '00' } = numeric;
  if ((!sign && !afterTime) || Number(hours) > 14 || Number(minutes) > 59) return undefined;
  return `${sign === '-' ? '-' : '+'}${hours.padStart(2, '0')}:${minutes}`;
}

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * Reads a length of time such as `90s`, `30m`, `24h` or `7d`.
 * @returns milliseconds; undefined for other text
 */
export function readDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,5})([smhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * unitMs[unit as keyof typeof unitMs]; // the pattern allows no other
}
