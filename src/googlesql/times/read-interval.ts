/** An INTERVAL in the three numbers that BigQuery and DuckDB keep of it. */
export type IntervalParts = {
  readonly months: number;
  readonly days: number;
  readonly microseconds: bigint;
};

const parts = ['YEAR', 'MONTH', 'DAY', 'HOUR', 'MINUTE', 'SECOND'];

/** Maximum values. Source: GoogleSQL, "Interval type". */
const limits = { months: 120_000, days: 3_660_000, microseconds: 87_840_000n * 3_600_000_000n };

const signed = '([+-]?)';
const number = '(\\d+)';
const second = '(\\d+)(?:\\.(\\d{1,9}))?';

/**
 * Reads `1-2 3 4:5:6.789`, from a part to another: years and months have one sign, days one, and the time one.
 * @returns undefined where the text has another form, a part is too large, or digits beyond microseconds
 */
export function readInterval(text: string, from: string, to: string): IntervalParts | undefined {
  const [first, last] = [parts.indexOf(from), parts.indexOf(to)];
  if (first < 0 || last < first) return undefined;
  const has = (part: string) => parts.indexOf(part) >= first && parts.indexOf(part) <= last;
  const calendar = [has('YEAR') && number, has('MONTH') && number].filter(Boolean).join('-');
  const clock = [has('HOUR') && number, has('MINUTE') && number, has('SECOND') && second]
    .filter(Boolean)
    .join(':');
  const groups = [calendar, has('DAY') && number, clock].filter(Boolean).map(group => signed + group);
  const found = new RegExp(`^${groups.join(' ')}$`).exec(text);
  if (!found) return undefined;
  const values = found.slice(1);
  const take = () => values.shift();
  let months = 0;
  let days = 0;
  let microseconds = 0n;
  if (calendar) {
    const sign = take() === '-' ? -1 : 1;
    if (has('YEAR')) months += Number(take()) * 12;
    if (has('MONTH')) months += Number(take());
    months *= sign;
  }
  if (has('DAY')) days = (take() === '-' ? -1 : 1) * Number(take());
  if (clock) {
    const sign = take() === '-' ? -1n : 1n;
    if (has('HOUR')) microseconds += BigInt(take() ?? 0) * 3_600_000_000n;
    if (has('MINUTE')) microseconds += BigInt(take() ?? 0) * 60_000_000n;
    if (has('SECOND')) {
      microseconds += BigInt(take() ?? 0) * 1_000_000n;
      const fraction = (take() ?? '').padEnd(9, '0');
      if (!fraction.endsWith('000')) return undefined;
      microseconds += BigInt(fraction.slice(0, 6));
    }
    microseconds *= sign;
  }
  return inRange({ months, days, microseconds });
}

/** Reads what CAST takes: the forms that only one pair of parts has, and ISO 8601's. */
export function readAnyInterval(text: string): IntervalParts | undefined {
  if (text.startsWith('P')) return readIso(text);
  const forms = [
    ['YEAR', 'SECOND'],
    ['YEAR', 'MINUTE'],
    ['YEAR', 'DAY'],
    ['YEAR', 'MONTH'],
    ['DAY', 'SECOND'],
    ['HOUR', 'SECOND'],
  ] as const;
  for (const [from, to] of forms) {
    const found = readInterval(text, from, to);
    if (found) return found;
  }
  return undefined;
}

function readIso(text: string): IntervalParts | undefined {
  const n = '([+-]?\\d+)';
  const pattern = `^P(?=.)(?:${n}Y)?(?:${n}M)?(?:${n}W)?(?:${n}D)?(?:T(?=.)(?:${n}H)?(?:${n}M)?(?:([+-]?)(\\d+)(?:\\.(\\d{1,6}))?S)?)?$`;
  const found = new RegExp(pattern).exec(text);
  if (!found) return undefined;
  const [, years, months, weeks, days, hours, minutes, sign, seconds, fraction = ''] = found;
  const inSeconds = BigInt(seconds ?? 0) * 1_000_000n + BigInt(fraction.padEnd(6, '0'));
  return inRange({
    months: Number(years ?? 0) * 12 + Number(months ?? 0),
    days: Number(weeks ?? 0) * 7 + Number(days ?? 0),
    microseconds:
      BigInt(hours ?? 0) * 3_600_000_000n +
      BigInt(minutes ?? 0) * 60_000_000n +
      (sign === '-' ? -inSeconds : inSeconds),
  });
}

function inRange(parts: IntervalParts): IntervalParts | undefined {
  const { months, days, microseconds } = parts;
  const size = microseconds < 0n ? -microseconds : microseconds;
  const fits =
    Math.abs(months) <= limits.months && Math.abs(days) <= limits.days && size <= limits.microseconds;
  return fits ? parts : undefined;
}

/** As DuckDB reads it. */
export function intervalText({ months, days, microseconds }: IntervalParts): string {
  return `${months} months ${days} days ${microseconds} microseconds`;
}
