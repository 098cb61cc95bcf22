import { z } from 'zod';
import type { Rate } from './rate-bucket.ts';

const count = z.int().min(1).optional();

/** What a token may use over time; absent: no limit. */
export const limitsSchema = z.strictObject({
  requestsPerSecond: count,
  requestsPerMinute: count,
  /** Maximum number of requests at once after a pause. Default: those of a second. */
  burst: count,
  /** Bytes that its queries may read in a day, and in a month, of UTC. */
  bytesPerDay: count,
  bytesPerMonth: count,
});

/** Limits as given by a person: also checks that parts which need each other are there. */
export const givenLimits = limitsSchema.refine(
  ({ burst, requestsPerSecond }) => burst === undefined || requestsPerSecond !== undefined,
  'burst is a part of requestsPerSecond, which is missing',
);

export type TokenLimits = Readonly<z.infer<typeof limitsSchema>>;

/** The limits of requests as rates of buckets, with names that are the same in all gateways. */
export function ratesOf(limits: TokenLimits): { readonly name: string; readonly rate: Rate }[] {
  const { requestsPerSecond, requestsPerMinute, burst } = limits;
  return [
    ...(requestsPerSecond
      ? [{ name: 's', rate: { intervalMs: 1000 / requestsPerSecond, burst: burst ?? requestsPerSecond } }]
      : []),
    ...(requestsPerMinute
      ? [{ name: 'm', rate: { intervalMs: 60_000 / requestsPerMinute, burst: requestsPerMinute } }]
      : []),
  ];
}
