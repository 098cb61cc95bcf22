/** The canonical text of an instant: `2026-01-15T10:00:00.123456Z`, always with six digits. */
export function formatTimestamp(micros: bigint): string {
  const fraction = ((micros % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const wholeMillis = Number((micros - fraction) / 1000n);
  return `${new Date(wholeMillis).toISOString().slice(0, 19)}.${String(fraction).padStart(6, '0')}Z`;
}
