import { statfsSync } from 'node:fs';

/** Bytes without which tokens, rows that come and small queries fail soon. */
export const leastFreeBytes = 256 * 1024 * 1024;

/** Free bytes of the disk that a folder is on; none where the folder is gone. */
export function freeBytesAt(directory: string): number {
  try {
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize;
  } catch {
    return 0;
  }
}
