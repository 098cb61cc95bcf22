import { systemClock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { composeWorker } from './composition-root.ts';
import { runProcess } from './run-process.ts';

/** Runs a worker until SIGINT or SIGTERM: it warms what gateways over the same Redis read (contract 6.1). */
export function startWorker(environment: NodeJS.ProcessEnv): Promise<void> {
  return runProcess({ name: 'worker', environment, explain: messageOf }, async (config, { emit, print }) => {
    const close = await composeWorker(config, { clock: systemClock, emit });
    print('Worker: it keeps fresh what gateways over the same Redis read.\n');
    // The worker's own timers do not keep the process alive.
    setInterval(() => undefined, 2 ** 31 - 1);
    return { stop: close };
  });
}
