/** Units in which times are counted since 1970. */
export type EpochUnit = 's' | 'ms' | 'us' | 'ns';

/** Nanoseconds of each unit. */
const nanosOf: Record<EpochUnit, bigint> = { s: 1_000_000_000n, ms: 1_000_000n, us: 1000n, ns: 1n };

/** The names of the units, for messages. */
export const epochUnits: Record<EpochUnit, string> = {
  s: 'seconds',
  ms: 'milliseconds',
  us: 'microseconds',
  ns: 'nanoseconds',
};

/** Whether one unit is longer than another. */
export function isCoarser(unit: EpochUnit, than: EpochUnit): boolean {
  return nanosOf[unit] > nanosOf[than];
}

const count = /^(-?)(\d{1,20})(?:\.(\d{1,9})\d*)?$/;

/**
 * Reads a count of some unit since 1970, with or without decimals.
 * @returns microseconds, further digits cut off; undefined if the text is not such a count
 */
export function readEpoch(text: string, unit: EpochUnit): bigint | undefined {
  const [, sign, whole, decimals = ''] = count.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const billionths = BigInt(whole) * 1_000_000_000n + BigInt(decimals.padEnd(9, '0'));
  const micros = (billionths * nanosOf[unit]) / 1_000_000_000_000n;
  return sign ? -micros : micros;
}

/**
 * Guesses the unit of a count since 1970: in only one of them is it a time between 1973 and 5138.
 * @returns undefined for 0
 */
export function guessEpochUnit(text: string): EpochUnit | undefined {
  if (/^-?[0.]+$/.test(text)) return undefined;
  const digits = text.replace(/^-|\..*$/g, '').replace(/^0+/, '').length;
  if (digits <= 11) return 's';
  if (digits <= 14) return 'ms';
  return digits <= 17 ? 'us' : 'ns';
}
