import { constants, fstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Writable } from 'node:stream';

/**
 * Opens standard output (1) or standard error (2) so that no write to it blocks. Whether a write to a pipe blocks is a flag
 * shared by all processes that hold the pipe, and Node resets it when one of them ends; so a pipe is opened again, as a file description
 * of our own. A socket can't be opened again, so no child of ours may inherit one.
 */
export function openStandardOutput(fd: 1 | 2): Writable {
  const inherited = fd === 1 ? process.stdout : process.stderr;
  try {
    if (!fstatSync(fd).isFIFO()) return inherited;
    const own = openSync(`/proc/self/fd/${fd}`, constants.O_WRONLY | constants.O_NONBLOCK);
    return new Socket({ fd: own, readable: false, writable: true });
  } catch {
    // There is no /proc, or the pipe belongs to another user.
    return inherited;
  }
}
