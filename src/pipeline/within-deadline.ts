import { startLimit } from '../engine/start-limit.ts';

/**
 * Milliseconds beyond the deadline: a query that took all of the time has failed by then, and an older entry may stand in for it.
 */
const graceMs = 150;

/**
 * Answers a request within its time: one deadline for all its fields, for the halves of their batches, for runs that are repeated
 * and for other gateways' queries that it waits for. A query that others wait for too goes on without this request.
 * @param signal aborted when the caller goes away
 * @param answer is given a signal that aborts then too, and when the time is over, with what the caller is told
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
