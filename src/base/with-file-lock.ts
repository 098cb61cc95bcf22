import { randomUUID } from 'node:crypto';
import { link, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

/** Milliseconds after which a lock belongs to a command that died: a live one holds it for a few. */
const staleMs = 10_000;

/** Default milliseconds to wait for a lock: longer than it takes to become stale. */
const defaultTimeoutMs = 15_000;

/**
 * Runs an action on a file while no other process does, by a lock file beside it. An old lock is taken over; process ids would not
 * tell whether its owner lives, because processes may run in different containers that share a folder.
 * @param timeoutMs milliseconds to wait for the lock. Default 15 s
 * @throws Error that names the lock file if another process holds it for that long; errors of `act`
 */
export async function withFileLock<T>(
  file: string,
  act: () => Promise<T>,
  timeoutMs: number = defaultTimeoutMs,
): Promise<T> {
  const lock = `${file}.lock`;
  const owner = randomUUID();
  const giveUpMs = Date.now() + timeoutMs;
  while (!(await take(lock, owner))) {
    if (Date.now() > giveUpMs) {
      throw new Error(`Another command holds ${lock}; if none is running, delete that file and try again`);
    }
    await dropStale(lock);
    // Random, so that waiting processes do not all retry at once.
    await delay(5 + Math.random() * 20);
  }
  try {
    return await act();
  } finally {
    // Unless it was taken over meanwhile.
    if ((await readLock(lock)) === owner) await rm(lock, { force: true });
  }
}

async function take(lock: string, owner: string): Promise<boolean> {
  // Written elsewhere, then linked: a lock file never exists without its owner's name.
  const own = `${lock}.${owner}`;
  try {
    const handle = await open(own, 'wx', 0o600);
    await handle.writeFile(owner).finally(() => handle.close());
    await link(own, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false; // every fs error has a code
    throw error;
  } finally {
    await rm(own, { force: true });
  }
}

async function dropStale(lock: string): Promise<void> {
  const found = await stat(lock).catch(() => undefined);
  if (!found || Date.now() - found.mtimeMs < staleMs) return;
  const moved = `${lock}.${randomUUID()}`;
  try {
    await rename(lock, moved);
    // Another process may have taken it over in between: then this is a new lock, and is put back.
    if ((await stat(moved)).ino !== found.ino) await link(moved, lock);
  } catch {
    // Another command was faster.
  } finally {
    await rm(moved, { force: true });
  }
}

async function readLock(lock: string): Promise<string | undefined> {
  return readFile(lock, 'utf8').catch(() => undefined);
}
