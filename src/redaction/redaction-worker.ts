import { parentPort } from 'node:worker_threads';
import { type RedactionOptions, redactInSlices } from './redact-rows-json.ts';

/** A job for the thread. */
export type RedactionJob = {
  readonly id: number;
  readonly caller: string;
  readonly body: Uint8Array;
  readonly options: RedactionOptions;
};

/** Ends a job that nobody waits for any more. */
export type RedactionCancel = { readonly cancel: number };

/** Its result; no body if nothing was replaced. */
export type RedactionResult = { readonly id: number; readonly body: Uint8Array | undefined };

type Running = { readonly job: RedactionJob; readonly slices: ReturnType<typeof redactInSlices> };

/**
 * Callers take turns, a slice each, and so do the jobs of one: a short one waits neither for the end of a long one nor for the number of
 * somebody else's.
 */
let lanes: Running[][] = [];
let isScheduled = false;

parentPort!.on('message', (message: RedactionJob | RedactionCancel) => {
  if ('cancel' in message) {
    lanes = lanes.map(lane => lane.filter(({ job }) => job.id !== message.cancel));
    return;
  }
  const { caller, body, options } = message;
  const slices = redactInSlices(Buffer.from(body.buffer, body.byteOffset, body.length), options);
  const own = lanes.find(([first]) => first?.job.caller === caller);
  if (own) own.push({ job: message, slices });
  else lanes.push([{ job: message, slices }]);
  schedule();
});

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(takeTurn);
}

function takeTurn(): void {
  isScheduled = false;
  const lane = lanes.shift();
  if (!lane) return;
  const next = lane.shift(); // absent where it was cancelled
  const turn = next?.slices.next();
  if (next && turn?.done) send(next.job, turn.value);
  else if (next) lane.push(next);
  if (lane.length > 0) lanes.push(lane);
  if (lanes.length > 0) schedule();
}

function send({ id, body }: RedactionJob, redacted: Buffer): void {
  const isSame = redacted.buffer === body.buffer;
  const result: RedactionResult = { id, body: isSame ? undefined : redacted };
  // A short result lies in a shared slab that must stay in this thread: it is copied.
  const isOwn = !isSame && redacted.byteLength === redacted.buffer.byteLength;
  parentPort!.postMessage(result, isOwn ? [redacted.buffer as ArrayBuffer] : []); // never a shared one
}
