import { readFileSync } from 'node:fs';

/**
 * Loaded into a process by `--import`: moves what its `Date.now()` says by the milliseconds that stand in the file
 * `CLOCK_OFFSET_FILE` at that time. Monotonic time stays as it is, as when an operator sets a clock.
 */
const file = process.env.CLOCK_OFFSET_FILE;
if (!file) throw new Error('CLOCK_OFFSET_FILE must name the file with the milliseconds');

let offsetMs = 0;
const read = () => {
  offsetMs = Number(readFileSync(file, 'utf8'));
};
read();
setInterval(read, 20).unref();

const trueNow = Date.now;
Date.now = () => trueNow() + offsetMs;
