/** Microseconds. */
export const second = 1_000_000n;
/** Milliseconds. */
export const dayMs = 86_400_000;

export const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
export const months = [
  'January', 'February', 'March', 'April', 'May', 'June',
  'July', 'August', 'September', 'October', 'November', 'December',
]; // biome-ignore format: one list

/** Divides towards minus infinity, by a positive number. */
export const floorDivide = (a: bigint, b: bigint) => (a - (((a % b) + b) % b)) / b;

/** Milliseconds since 1970. */
export function startOfYear(year: number): number {
  return new Date(0).setUTCFullYear(year, 0, 1);
}

/** From 1. */
export function dayOfYear(date: Date): number {
  return Math.floor((date.getTime() - startOfYear(date.getUTCFullYear())) / dayMs) + 1;
}

/** The ISO year and week: those of the Thursday of the same week. */
export function isoWeek(date: Date): [year: number, week: number] {
  const thursday = new Date(date.getTime() + (4 - (date.getUTCDay() || 7)) * dayMs);
  return [thursday.getUTCFullYear(), Math.floor((dayOfYear(thursday) - 1) / 7) + 1];
}
