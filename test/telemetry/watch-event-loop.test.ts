import { expect, onTestFinished, test } from 'vitest';
import type { ProcessEvent } from '../../src/telemetry/events.ts';
import { watchEventLoop } from '../../src/telemetry/watch-event-loop.ts';

test('contract 11.2: an event says that the event loop was held for longer than 100 ms', async () => {
  const events: ProcessEvent[] = [];
  onTestFinished(watchEventLoop(event => events.push(event)));
  for (const startedMs = performance.now(); performance.now() - startedMs < 400; );
  await expect.poll(() => events).toContainEqual({ type: 'process.stalled', ms: expect.any(Number) });
});
