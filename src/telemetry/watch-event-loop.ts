import { performance } from 'node:perf_hooks';
import type { ProcessEvent } from './events.ts';

/** Milliseconds between two ticks, and the longest turn that contract 11.2 allows. */
const tickMs = 100;

/**
 * Emits an event each time the event loop is held for longer than contract 11.2 allows.
 * @returns a function that stops watching
 */
export function watchEventLoop(emit: (event: ProcessEvent) => void): () => void {
  let dueMs = performance.now() + tickMs;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    const ms = nowMs - dueMs;
    dueMs = nowMs + tickMs;
    if (ms > tickMs) emit({ type: 'process.stalled', ms });
  }, tickMs).unref();
  return () => clearInterval(timer);
}
