import { parentPort } from 'node:worker_threads';
import { redactInSlices } from './redact-rows-json.ts';
import type { RedactionKind } from './redaction-kinds.ts';

/** A job for the thread. */
export type RedactionJob = {
  readonly id: number;
  readonly body: Uint8Array;
  readonly kinds: readonly RedactionKind[];
};

/** Its result; no body if nothing was replaced. */
export type RedactionResult = { readonly id: number; readonly body: Uint8Array | undefined };

type Running = { readonly job: RedactionJob; readonly slices: ReturnType<typeof redactInSlices> };

/** Jobs take turns, a slice each: a short one never waits for the end of a long one. */
const running: Running[] = [];

parentPort!.on('message', (job: RedactionJob) => {
  const { body, kinds } = job;
  running.push({
    job,
    slices: redactInSlices(Buffer.from(body.buffer, body.byteOffset, body.length), kinds),
  });
  if (running.length === 1) setImmediate(takeTurn);
});

function takeTurn(): void {
  const next = running.shift()!;
  const { done, value } = next.slices.next();
  if (done) send(next.job, value);
  else running.push(next);
  if (running.length > 0) setImmediate(takeTurn);
}

function send({ id, body }: RedactionJob, redacted: Buffer): void {
  const isSame = redacted.buffer === body.buffer;
  const result: RedactionResult = { id, body: isSame ? undefined : redacted };
  // A short result lies in a shared slab that must stay in this thread: it is copied.
  const isOwn = !isSame && redacted.byteLength === redacted.buffer.byteLength;
  parentPort!.postMessage(result, isOwn ? [redacted.buffer as ArrayBuffer] : []); // never a shared one
}
