import { startLimit } from '../engine/start-limit.ts';

/**
 * Milliseconds of grace: a query that used up its time has failed by then, and an older entry may be served instead.
 */
const graceMs = 150;

/**
 * Answers a request within its time: one deadline for all its fields, for bisected batches, for repeated runs, and for the queries
 * of other gateways that it waits for. A query that others wait for too goes on without this request.
 * @param signal aborted when the caller goes away
 * @param answer gets a signal that aborts then, and when the time is over; the reason is the error for the caller
 */
export async function withinDeadline<Answer>(
  signal: AbortSignal,
  timeoutMs: number,
  answer: (signal: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const limit = startLimit({ signal, timeoutMs }, graceMs);
  try {
    return await answer(limit.signal);
  } finally {
    limit.clear();
  }
}
