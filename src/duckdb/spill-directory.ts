import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** A new name for the folder into which one engine process spills; it contains this host and process, which must remove it. */
export function newSpillDirectory(databasePath: string): string {
  return `${databasePath}.${hostname()}-${process.pid}-${randomUUID()}.tmp`;
}

/**
 * Removes the folders left by processes on this host that were killed together with their engine processes. Call it before the first
 * engine process starts: a folder with this process's own id belongs to an earlier process with the same id, as in a container.
 */
export async function removeLeftSpills(databasePath: string): Promise<void> {
  const directory = dirname(databasePath);
  const opening = `${basename(databasePath)}.${hostname()}-`;
  const names = await readdir(directory).catch((): string[] => []);
  const left = names.filter(name => {
    const [, pid] = /^(\d+)-[0-9a-f-]{36}\.tmp$/.exec(name.slice(opening.length)) ?? [];
    return name.startsWith(opening) && pid !== undefined && !isOther(Number(pid));
  });
  const removals = left.map(name => rm(join(directory, name), { recursive: true, force: true }));
  // A folder that can't be removed is harmless.
  await Promise.allSettled(removals);
}

/** Whether another process has this id. */
function isOther(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Any other error means that it exists, and belongs to another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
