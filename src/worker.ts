import { systemClock } from './base/clock.ts';
import { composeWorker } from './composition/composition-root.ts';
import { runProcess } from './composition/run-process.ts';

const explain = (error: unknown) => (error instanceof Error ? error.message : String(error));

/** A worker until SIGINT or SIGTERM: it warms what gateways over the same Redis read (contract 6.1). */
await runProcess({ name: 'worker', environment: process.env, explain }, async (config, { emit, print }) => {
  const close = await composeWorker(config, { clock: systemClock, emit });
  print('Worker: it keeps fresh what gateways over the same Redis read.\n');
  // What it does hangs on timers that keep no process alive.
  setInterval(() => undefined, 2 ** 31 - 1);
  return { stop: close };
});
