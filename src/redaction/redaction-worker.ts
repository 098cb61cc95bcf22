import { parentPort } from 'node:worker_threads';
import { lowerThreadPriority } from '../base/lower-priority.ts';
import { type RedactionOptions, redactInSlices } from './redact-rows-json.ts';

/** What the thread is told. */
export type RedactionMessage =
  | RedactionJob
  /** Another caller waits for a job. */
  | { readonly job: number; readonly joins: string }
  /** Ends a job that nobody waits for any more; it has a result all the same. */
  | { readonly job: number; readonly isCancelled: true };

type RedactionJob = {
  readonly job: number;
  readonly caller: string;
  readonly body: Uint8Array;
  readonly options: RedactionOptions;
};

/** The result of a job; without body if nothing was replaced. */
export type RedactionResult = { readonly job: number; readonly body: Uint8Array | undefined };

type Running = { readonly message: RedactionJob; readonly slices: ReturnType<typeof redactInSlices> };

const jobs = new Map<number, Running>();

/**
 * The jobs of each caller. Callers take turns, a slice each, and so do the jobs of one: a short job waits neither for a long one to
 * end nor for all the jobs of another caller. A job that several callers wait for has the turns of each.
 */
const lanes = new Map<string, Set<Running>>();
let isScheduled = false;

lowerThreadPriority();

parentPort!.on('message', (message: RedactionMessage) => {
  if ('isCancelled' in message) cancel(message);
  else if ('joins' in message) wait(message.joins, jobs.get(message.job));
  else {
    const { job, caller, body, options } = message;
    const slices = redactInSlices(Buffer.from(body.buffer, body.byteOffset, body.length), options);
    const running = { message, slices };
    jobs.set(job, running);
    wait(caller, running);
    schedule();
  }
});

function wait(caller: string, running: Running | undefined): void {
  if (!running) return;
  const lane = lanes.get(caller);
  if (lane) lane.add(running);
  else lanes.set(caller, new Set([running]));
}

function cancel({ job }: { readonly job: number }): void {
  if (!jobs.has(job)) return;
  drop(job);
  parentPort!.postMessage({ job, body: undefined } satisfies RedactionResult);
}

function drop(job: number): void {
  const running = jobs.get(job);
  jobs.delete(job);
  for (const [caller, lane] of lanes) {
    if (running && lane.delete(running) && lane.size === 0) lanes.delete(caller);
  }
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  setImmediate(takeTurn);
}

function takeTurn(): void {
  isScheduled = false;
  const [first] = lanes;
  if (!first) return;
  const [caller, lane] = first;
  const [next] = lane;
  // Both go to the end of their lines.
  lanes.delete(caller);
  lanes.set(caller, lane);
  if (next) {
    lane.delete(next);
    lane.add(next);
    const turn = next.slices.next();
    if (turn.done) {
      drop(next.message.job);
      send(next.message, turn.value);
    }
  }
  if (lanes.size > 0) schedule();
}

function send({ job, body }: RedactionJob, redacted: Buffer): void {
  const isSame = redacted.buffer === body.buffer;
  const result: RedactionResult = { job, body: isSame ? undefined : redacted };
  // A short result is part of a shared slab, which must stay in this thread: it is copied.
  const isOwn = !isSame && redacted.byteLength === redacted.buffer.byteLength;
  parentPort!.postMessage(result, isOwn ? [redacted.buffer as ArrayBuffer] : []); // never a shared one
}
