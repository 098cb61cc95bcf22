import { parentPort } from 'node:worker_threads';
import { type RedactionOptions, redactInSlices } from './redact-rows-json.ts';

/** A job for the thread. */
export type RedactionJob = {
  readonly id: number;
  readonly body: Uint8Array;
  readonly options: RedactionOptions;
};

/** Ends a job that nobody waits for any more. */
export type RedactionCancel = { readonly cancel: number };

/** Its result; no body if nothing was replaced. */
export type RedactionResult = { readonly id: number; readonly body: Uint8Array | undefined };

type Running = { readonly job: RedactionJob; readonly slices: ReturnType<typeof redactInSlices> };

/** Jobs take turns, a slice each: a short one never waits for the end of a long one. */
let running: Running[] = [];
let isScheduled = false;

parentPort!.on('message', (message: RedactionJob | RedactionCancel) => {
  if ('cancel' in message) {
    running = running.filter(({ job }) => job.id !== message.cancel);
    return;
  }
  const { body, options } = message;
  const slices = redactInSlices(Buffer.from(body.buffer, body.byteOffset, body.length), options);
  running.push({ job: message, slices });
  schedule();
});

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(takeTurn);
}

function takeTurn(): void {
  isScheduled = false;
  const next = running.shift();
  if (!next) return; // it was cancelled
  const { done, value } = next.slices.next();
  if (done) send(next.job, value);
  else running.push(next);
  if (running.length > 0) schedule();
}

function send({ id, body }: RedactionJob, redacted: Buffer): void {
  const isSame = redacted.buffer === body.buffer;
  const result: RedactionResult = { id, body: isSame ? undefined : redacted };
  // A short result lies in a shared slab that must stay in this thread: it is copied.
  const isOwn = !isSame && redacted.byteLength === redacted.buffer.byteLength;
  parentPort!.postMessage(result, isOwn ? [redacted.buffer as ArrayBuffer] : []); // never a shared one
}
