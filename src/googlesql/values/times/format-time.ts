import { dayOfYear, floorDivide, isoWeek, months, second, weekdays } from './calendar.ts';
import { composed, isOfType, writtenElement } from './format-elements.ts';

/** Maximum digits of a fraction, and maximum width of an element. */
const [maxFraction, maxWidth] = [100, 100];

/** A time of a type: microseconds of the wall clock, and the seconds by which that is ahead of UTC. */
export type Moment = { readonly kind: string; readonly at: bigint; readonly ahead: bigint };

/** @throws Error in BigQuery's words */
export function formatTime(format: string, moment: Moment): string {
  return format.replace(writtenElement, (...found) => {
    const whole = found[0] as string;
    // The groups come last.
    const { flags, width, flagged, colons, digits, unit, zone, era, other, letter } = found.at(
      -1,
    ) as Readonly<Record<string, string | undefined>>;
    if (flagged !== undefined)
      return withFlags(flagged, { whole, flags: flags!, width: Number(width) }, moment);
    if (colons) return `${offsetText(moment.ahead, ':')}${colons === '::' ? ':00' : ''}`;
    if (Number(digits) > maxFraction) throw new Error(`Format element ${whole} is not supported`);
    if (unit === 'f') throw new Error(`Format element ${whole} is not supported`);
    if (digits !== undefined)
      return unit === 'S' && isOfType('S', moment.kind) ? fraction(digits, moment) : whole;
    if (zone) return moment.kind === 'TIMESTAMP' ? offsetText(moment.ahead, ':') : whole;
    if (whole === '%E4Y')
      return isOfType('Y', moment.kind) ? String(dateOf(moment).getUTCFullYear()).padStart(4, '0') : whole;
    const name = era ?? other ?? letter!;
    if (name === 'J' && moment.kind !== 'TIME') throw new Error('Format element %J not supported yet');
    return isOfType(name, moment.kind) ? (formatElement(name, moment) ?? whole) : whole;
  });
}

/** Digits of the elements that are numbers, padded with zeros except for those of `spacedElements`. */
const digitsOf: Readonly<Record<string, number>> = {
  ...Object.fromEntries([...'degHIklMmSUVWy'].map(letter => [letter, 2])),
  ...Object.fromEntries([...'CGsuwY'].map(letter => [letter, 1])),
  j: 3,
};

const spacedElements = 'ekls';

/**
 * Writes an element with flags as the C library does: `-` pads nothing, `_` pads with spaces, `0` with zeros; `^` and `#` change letter
 * case.
 */
function withFlags(
  letter: string,
  { whole, flags, width }: { whole: string; flags: string; width: number },
  { kind, at }: Moment,
): string {
  // With flags other than a width, BigQuery does not check whether the type has the element.
  if (/^%\d+\D$/.test(whole) && isOfType(letter, 'TIMESTAMP') && !isOfType(letter, kind)) return whole;
  if (width > maxWidth) throw new Error(`Format element ${whole} is not supported`);
  // The C library gets the wall clock alone, and takes that for UTC.
  const moment: Moment = { kind: 'TIMESTAMP', at, ahead: 0n };
  const padding = /[-_0](?=[^-_0]*$)/.exec(flags)?.[0];
  const digits = digitsOf[letter];
  if (digits !== undefined) {
    const text = String(Number(formatElement(letter, moment)));
    const isSpaced = padding ? padding !== '0' : spacedElements.includes(letter);
    return text.padStart(Math.max(width, padding === '-' ? 0 : digits), isSpaced ? ' ' : '0');
  }
  if (letter === 'z') {
    const text = padding === '-' ? '+0' : padding === '_' ? '+   0' : '+0000';
    return text.padStart(width, ' ');
  }
  const known = letter === 'Q' ? undefined : formatElement(letter, moment);
  const isLower = letter === 'P' || (flags.includes('#') && 'pZ'.includes(letter));
  const isUpper = flags.includes('^') || (flags.includes('#') && 'aAbBh'.includes(letter));
  const text = known ?? whole;
  const changed = isLower ? text.toLowerCase() : isUpper ? text.toUpperCase() : text;
  return changed.padStart(width, padding === '0' ? '0' : ' ');
}

function dateOf({ at }: Moment): Date {
  return new Date(Number(floorDivide(at, 1000n)));
}

function fraction(digits: string, { at }: Moment): string {
  const micros = String(((at % (60n * second)) + 60n * second) % (60n * second)).padStart(8, '0');
  const [whole, rest] = [micros.slice(0, 2), micros.slice(2)];
  const kept =
    digits === '*' ? rest.replace(/0+$/, '') : rest.padEnd(Number(digits), '0').slice(0, Number(digits));
  return kept ? `${whole}.${kept}` : whole;
}

function offsetText(ahead: bigint, colon: string): string {
  const minutes = Math.abs(Math.trunc(Number(ahead) / 60));
  return `${ahead < 0n ? '-' : '+'}${two(Math.trunc(minutes / 60))}${colon}${two(minutes % 60)}`;
}

function zoneText(ahead: bigint): string {
  if (ahead === 0n) return 'UTC';
  const minutes = Math.abs(Math.trunc(Number(ahead) / 60));
  const hours = Math.trunc(minutes / 60);
  return `UTC${ahead < 0n ? '-' : '+'}${minutes % 60 ? two(hours) + two(minutes % 60) : hours}`;
}

const two = (number: number) => String(number).padStart(2, '0');
const spaced = (number: number) => String(number).padStart(2, ' ');

function formatElement(letter: string, moment: Moment): string | undefined {
  const date = dateOf(moment);
  const year = date.getUTCFullYear();
  const hour = date.getUTCHours();
  const weekday = date.getUTCDay();
  const day = dayOfYear(date);
  const parts = composed[letter];
  if (parts) return formatTime(parts, moment);
  switch (letter) {
    case 'A': return weekdays[weekday];
    case 'a': return weekdays[weekday]!.slice(0, 3);
    case 'B': return months[date.getUTCMonth()];
    case 'b': case 'h': return months[date.getUTCMonth()]!.slice(0, 3);
    case 'C': return String(Math.floor(year / 100));
    case 'd': return two(date.getUTCDate());
    case 'e': return spaced(date.getUTCDate());
    case 'G': return String(isoWeek(date)[0]);
    case 'g': return two(isoWeek(date)[0] % 100);
    case 'H': return two(hour);
    case 'I': return two(hour % 12 || 12);
    case 'j': return String(day).padStart(3, '0');
    case 'k': return spaced(hour);
    case 'l': return spaced(hour % 12 || 12);
    case 'M': return two(date.getUTCMinutes());
    case 'm': return two(date.getUTCMonth() + 1);
    case 'n': return '\n';
    case 'P': return hour < 12 ? 'am' : 'pm';
    case 'p': return hour < 12 ? 'AM' : 'PM';
    case 'Q': return String(Math.floor(date.getUTCMonth() / 3) + 1);
    case 'S': return two(date.getUTCSeconds());
    case 's': return String(floorDivide(moment.at, second) - moment.ahead);
    case 't': return '\t';
    case 'U': return two(Math.floor((day + 6 - weekday) / 7));
    case 'u': return String(weekday || 7);
    case 'V': return two(isoWeek(date)[1]);
    case 'W': return two(Math.floor((day + 6 - ((weekday + 6) % 7)) / 7));
    case 'w': return String(weekday);
    case 'Y': return String(year);
    case 'y': return two(year % 100);
    case 'Z': return zoneText(moment.ahead);
    case 'z': return offsetText(moment.ahead, '');
    case '%': return '%';
    default: return undefined;
  }
} // biome-ignore format: a table
