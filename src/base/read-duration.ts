const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/**
 * Reads a length of time such as `90s`, `30m`, `24h` or `7d`.
 * @returns milliseconds; undefined for other text
 */
export function readDuration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,5})([smhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * unitMs[unit as keyof typeof unitMs]; // the pattern allows no other
}
