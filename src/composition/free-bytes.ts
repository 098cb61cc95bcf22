import { statfs } from 'node:fs/promises';

/** Bytes without which tokens, rows that come and small queries fail soon. */
export const leastFreeBytes = 256 * 1024 * 1024;

/** Milliseconds from one look at a disk to the next. */
const everyMs = 10_000;

/** How full a disk is, as far as is known. */
export type FreeBytes = {
  /** Bytes that were free a few seconds ago; none where the folder is gone. */
  read(): number;
  close(): Promise<void>;
};

/**
 * Watches the disk that a folder is on. Whoever asks gets what was found last, and never waits: a disk that hangs would hold the event loop, or
 * one more of the few threads for each who asks.
 * @param look how the disk is asked. Default: the system
 */
export async function watchFreeBytes(directory: string, look = askSystem): Promise<FreeBytes> {
  let freeBytes = await look(directory);
  let isAsked = false;
  const timer = setInterval(() => {
    if (isAsked) return;
    isAsked = true;
    void look(directory).then(found => {
      freeBytes = found;
      isAsked = false;
    });
  }, everyMs).unref();
  return {
    read: () => freeBytes,
    close: async () => clearInterval(timer),
  };
}

function askSystem(directory: string): Promise<number> {
  return statfs(directory).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
}
