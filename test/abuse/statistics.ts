/** Median, 99th percentile and maximum of requests, in milliseconds; 0 without requests. */
export function timesOf(requests: readonly { readonly ms: number }[]): Record<'p50' | 'p99' | 'max', number> {
  const times = requests.map(({ ms }) => ms);
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99), max: quantile(times, 1) };
}

/** The value in the middle; 0 of none. */
export const median = (numbers: readonly number[]): number => quantile(numbers, 0.5);

function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
