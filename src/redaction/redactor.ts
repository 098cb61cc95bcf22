import { Worker } from 'node:worker_threads';
import { type ByteShares, createByteShares } from '../base/byte-shares.ts';
import { GatewayError } from '../base/errors.ts';
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

type Waiting = {
  readonly body: Buffer;
  readonly resolve: (redacted: Buffer) => void;
  readonly reject: (error: Error) => void;
  /** Gives back the body's share of waiting bytes; the thread has a copy of the body. */
  readonly release: () => void;
};

/** Maximum megabytes of the thread's heap: one string can be as long as a whole result. */
const maxHeapMb = 512;

/** Milliseconds after which an idle thread ends and frees its memory. */
const idleMs = 10_000;

/** Makes a redactor; its thread starts with the first body. */
export function createRedactor(): Redactor {
  const waiting = new Map<number, Waiting>();
  const shares = createByteShares('redacted');
  let lastId = 0;
  let thread: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;

  function take(id: number): Waiting | undefined {
    const found = waiting.get(id);
    waiting.delete(id);
    found?.release();
    if (found && waiting.size === 0) idle = setTimeout(() => void close(), idleMs).unref();
    return found;
  }

  function ended(worker: Worker): void {
    if (thread !== worker) return;
    thread = undefined;
    for (const id of [...waiting.keys()]) {
      const message = 'The redaction of the result was interrupted; try again';
      take(id)?.reject(new GatewayError('unavailable', message));
    }
  }

  function start(): Worker {
    const worker = new Worker(new URL('./redaction-worker.ts', import.meta.url), {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    });
    worker.unref();
    worker.on('message', ({ id, body }: RedactionResult) => {
      const found = take(id);
      found?.resolve(body ? Buffer.from(body.buffer, body.byteOffset, body.length) : found.body);
    });
    // The thread is out of memory; `exit` follows.
    worker.on('error', () => undefined);
    worker.on('exit', () => ended(worker));
    return worker;
  }

  async function close(): Promise<void> {
    clearTimeout(idle);
    const worker = thread;
    if (!worker) return;
    ended(worker);
    await worker.terminate();
  }

  return {
    claim: shares.claim,
    async redact(body, options, { caller, joined, signal }) {
      const release = shares.take(caller, body.length);
      clearTimeout(idle);
      thread ??= start();
      const id = ++lastId;
      const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
      const send = (message: RedactionMessage) => waiting.has(id) && thread?.postMessage(message);
      waiting.set(id, { body, resolve, reject, release });
      send({ id, caller, body, options });
      const unfollow = joined?.follow(other => send({ id, joins: other }));
      try {
        return await orAborted(promise, signal);
      } catch (error) {
        send({ id, isCancelled: true });
        take(id);
        throw error;
      } finally {
        unfollow?.();
      }
    },
    close,
  };
}
