import { performance } from 'node:perf_hooks';
import type { ProcessEvent } from './events.ts';

/** Milliseconds between two looks, and by which one may be late: contract 11.2 allows no longer turn. */
const lookMs = 100;

/**
 * Emits an event each time that the event loop is held for longer than it may be.
 * @returns a function that ends it
 */
export function watchEventLoop(emit: (event: ProcessEvent) => void): () => void {
  let dueMs = performance.now() + lookMs;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    const ms = nowMs - dueMs;
    dueMs = nowMs + lookMs;
    if (ms > lookMs) emit({ type: 'process.stalled', ms });
  }, lookMs).unref();
  return () => clearInterval(timer);
}
