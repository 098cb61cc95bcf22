import { statfs } from 'node:fs/promises';

/** With fewer free bytes, tokens, loaded rows and small queries will fail soon. */
export const minFreeBytes = 256 * 1024 * 1024;

/** Milliseconds between two measurements. */
const everyMs = 10_000;

/** The last known free bytes of a disk. */
export type FreeBytes = {
  /** Bytes that were free a few seconds ago; 0 if the folder is gone. */
  read(): number;
  close(): Promise<void>;
};

/**
 * Watches the disk of a folder. Readers get the last measurement and never wait: a disk that hangs would hold the event loop, or one of
 * the few threads per reader.
 * @param look measures the disk. Default: asks the system
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

const askSystem = (directory: string) => freeBytesOf(directory).catch(() => 0);

/**
 * Free bytes of the disk of a folder.
 * @throws Error if there is no such folder
 */
export async function freeBytesOf(directory: string): Promise<number> {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
}
