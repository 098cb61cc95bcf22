import { systemClock } from './clock.ts';
import { composeWorker } from './composition-root.ts';
import { readConfig } from './config.ts';
import { createEventLog } from './log-events.ts';

/** A worker until SIGINT or SIGTERM: it warms what gateways over the same Redis read (contract section 6). */
try {
  const config = readConfig(process.env);
  const close = await composeWorker(config, { clock: systemClock, emit: createEventLog(config.LOG_LEVEL) });
  process.stdout.write('Worker: it keeps fresh what gateways over the same Redis read.\n');
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void close().then(() => process.exit(0)));
  }
  // What it does hangs on timers that keep no process alive.
  setInterval(() => undefined, 2 ** 31 - 1);
} catch (error) {
  process.stderr.write(`The worker could not start.\n${error instanceof Error ? error.message : error}\n`);
  process.exit(1);
}
