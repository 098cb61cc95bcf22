import { type ByteShares, createByteShares } from '../base/byte-shares.ts';
import { createIdleThread } from '../base/idle-thread.ts';
import { orAborted } from '../base/time-limit.ts';
import type { JoinedCallers } from '../base/turns.ts';
import type { RedactionOptions } from './redact-rows-json.ts';
import type { RedactionMessage, RedactionResult } from './redaction-worker.ts';

/** For whom a body is redacted. */
export type RedactionCaller = {
  /** The id of an access token: callers take turns. */
  readonly caller: string;
  /** All callers who wait for the same body, including those who join later. Default: the caller alone. */
  readonly joined?: JoinedCallers | undefined;
  /** Stops the work. */
  readonly signal: AbortSignal;
};

/** Redacts bodies on a separate thread, so that the event loop is not blocked. */
export type Redactor = {
  /** Holds room for a body of this many bytes that is not there yet; give it back right before `redact`. @throws GatewayError `too_many_requests` */
  readonly claim: ByteShares['claim'];
  /**
   * Replaces personal data as `redactRowsJson` does.
   * @returns the body itself if nothing is replaced
   * @throws GatewayError `too_many_requests`, `overloaded` if too much is waiting; `unavailable` if the thread ended; the signal's reason
   */
  redact(body: Buffer, options: RedactionOptions, by: RedactionCaller): Promise<Buffer>;
  /** Ends the thread, and rejects the jobs that are not done. */
  close(): Promise<void>;
};

/** Maximum megabytes of the thread's heap: one string can be as long as a whole result. */
const maxHeapMb = 512;

/** Makes a redactor; its thread starts with the first body. */
export function createRedactor(): Redactor {
  const shares = createByteShares('redacted');
  const thread = createIdleThread<RedactionMessage, RedactionResult>({
    script: new URL('./redaction-worker.ts', import.meta.url),
    maxHeapMb,
    work: 'The redaction of the result',
  });
  return {
    claim: shares.claim,
    async redact(body, options, { caller, joined, signal }) {
      const release = shares.take(caller, body.length);
      const { id: job, post, next, end } = thread.open();
      const result = next();
      post({ job, caller, body, options });
      const unfollow = joined?.follow(other => post({ job, joins: other }));
      try {
        const { body: redacted } = await orAborted(result, signal);
        return redacted ? Buffer.from(redacted.buffer, redacted.byteOffset, redacted.length) : body;
      } catch (error) {
        post({ job, isCancelled: true });
        throw error;
      } finally {
        unfollow?.();
        end();
        release();
      }
    },
    close: thread.close,
  };
}
