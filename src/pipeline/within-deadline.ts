import { startLimit } from '../engine/start-limit.ts';

/** Milliseconds of grace: by then a query that used up its time has failed, and an older entry may be served instead. */
const graceMs = 150;

/**
 * Answers a request within one deadline, which covers all its fields, bisected batches, repeated runs, and waiting for the queries of
 * other gateways. A query that other requests wait for continues without this one.
 * @param signal aborted when the caller goes away
 * @param answer its signal aborts when the caller goes away or the deadline passes; the reason is the error for the caller
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
