import { randomUUID } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** A new name for the folder in which one engine process spills; it says who removes it: this process, on this host. */
export function newSpillDirectory(databasePath: string): string {
  return `${databasePath}.${hostname()}-${process.pid}-${randomUUID()}.tmp`;
}

/**
 * Removes what processes of this host left behind that were killed together with their engine processes. To be called before the first
 * engine process starts: a folder of this process's own id is one of a process that had the id before, as in a container.
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
  // What can't be removed is in nobody's way.
  await Promise.allSettled(removals);
}

/** Whether another process has this id. */
function isOther(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Anything else says that there is one, of another user.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
