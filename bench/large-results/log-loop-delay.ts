import { appendFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

/** Loaded into a gateway before its own code: appends the longest delay of its event loop, in milliseconds, to a file, line by line. */
const file = process.env.LOOP_DELAY_FILE;
const everyMs = 250;

if (file) {
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  setInterval(() => {
    appendFileSync(file, `${delay.max / 1e6}\n`);
    delay.reset();
  }, everyMs).unref();
}
