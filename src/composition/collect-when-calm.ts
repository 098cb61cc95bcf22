import { performance } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** The measurements that decide whether to collect, and the collection itself. */
export type CollectorDeps = {
  /** Bytes of objects and buffers, dead ones included: which are dead is not known until V8 collects. */
  readonly heldBytes: () => number;
  /** Milliseconds for which the event loop has been busy since the process started. */
  readonly busyMs: () => number;
  /** Makes V8 begin a collection, which ends within two ticks. */
  readonly collect: () => void;
};

/** Milliseconds between two ticks. */
const tickMs = 1000;

/** Maximum milliseconds of work in a tick that counts as calm. */
const maxBusyMs = 250;

/** Calm ticks before a collection, and ticks that it may take. */
const calmTicks = 2;
const collectingTicks = 2;

/** Growth since the last collection that is worth another one. */
const minGrowthBytes = 32 * 1024 * 1024;

/**
 * Makes a function to call once a second. V8 collects when a program allocates, so what died in a flood stays until the next one. The
 * function starts a collection when the process has become calm, if much more is held than the last collection left.
 */
export function createCalmCollector({ heldBytes, busyMs, collect }: CollectorDeps): () => void {
  let leftBytes = Infinity;
  let lastBusyMs = busyMs();
  let calm = 0;
  let collecting = 0;
  return () => {
    const nowMs = busyMs();
    calm = nowMs - lastBusyMs > maxBusyMs ? 0 : calm + 1;
    lastBusyMs = nowMs;
    const held = heldBytes();
    if (collecting > 0 && --collecting === 0) leftBytes = held;
    leftBytes = Math.min(leftBytes, held);
    if (collecting > 0 || calm < calmTicks || held < leftBytes + minGrowthBytes) return;
    collecting = collectingTicks;
    collect();
  };
}

/**
 * Watches this process.
 * @returns a function that stops watching
 */
export function collectWhenCalm(): () => void {
  const tick = createCalmCollector({
    heldBytes: () => getHeapStatistics().used_heap_size + process.memoryUsage().arrayBuffers,
    busyMs: () => performance.eventLoopUtilization().active,
    collect: hintAtMemory,
  });
  const timer = setInterval(tick, tickMs).unref();
  return () => clearInterval(timer);
}

/** Growth of memory outside V8's heap that makes it begin a collection; its own constant is 64 MB. */
const hintBytes = 72 * 1024 * 1024;

/**
 * Makes V8 begin an incremental collection, whose longest pause is far shorter than that of `gc()`. The system gives no pages to memory that
 * is never written to, so this takes none.
 */
export function hintAtMemory(): void {
  new ArrayBuffer(hintBytes).transfer(0);
}
