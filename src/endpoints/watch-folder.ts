import { type FSWatcher, type Stats, statSync, watch } from 'node:fs';
import { stat } from 'node:fs/promises';

/** Editors write a file in several steps; one look answers them all. */
const settleMs = 50;

/** Milliseconds between two checks whether another folder has taken the place of this one. */
const replacedMs = 1000;

type WatchOptions = {
  /** Called when the folder has changed, never twice at a time. */
  readonly onChange: () => Promise<void>;
  readonly onFailed: (error: Error) => void;
  /** Looks again at this interval while `isNeeded`: a fault may go away without a change of the folder. */
  readonly retry?: { readonly everyMs: number; readonly isNeeded: () => boolean };
};

type FolderWatch = {
  /** Looks as if the folder had just changed. */
  lookSoon(): void;
  close(): void;
};

/** Follows the changes of a folder's files, and the folder's own: one of the same name may replace it, or a link point to another. */
export function watchFolder(directory: string, { onChange, onFailed, retry }: WatchOptions): FolderWatch {
  let settling: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();
  let isNext = false;
  /** Looks again when the look in progress has ended; calls until then count as one. */
  const look = () => {
    if (isNext) return;
    isNext = true;
    last = last
      .then(() => {
        isNext = false;
        return onChange();
      })
      .catch(onFailed);
  };
  const lookSoon = () => {
    clearTimeout(settling);
    settling = setTimeout(look, settleMs).unref();
  };
  const stopFollowing = followFolder(directory, look, () => {
    const watcher = watch(directory, { persistent: false }, lookSoon);
    return watcher.on('error', onFailed);
  });
  const retrying =
    retry &&
    setInterval(() => {
      if (retry.isNeeded()) look();
    }, retry.everyMs).unref();
  return {
    lookSoon,
    close() {
      stopFollowing();
      clearTimeout(settling);
      clearInterval(retrying);
    },
  };
}

/**
 * Watches whichever folder has the name now: the system only reports changes of the folder that had it when the watch began.
 * @returns a function that ends it
 */
function followFolder(directory: string, onReplaced: () => void, open: () => FSWatcher): () => void {
  let watcher = open();
  let watched = identityOf(statSync(directory));
  let isClosed = false;

  async function follow(): Promise<void> {
    const found = identityOf(await stat(directory));
    if (isClosed || found === watched) return;
    const next = open();
    watcher.close();
    watcher = next;
    watched = found;
    onReplaced();
  }

  // While the folder is gone, there is nothing to watch; the look at its removal has reported that.
  const timer = setInterval(() => void follow().catch(() => undefined), replacedMs).unref();
  return () => {
    isClosed = true;
    clearInterval(timer);
    watcher.close();
  };
}

/** Not the inode alone: a new folder may get that of one that was removed. */
function identityOf({ dev, ino, birthtimeMs }: Stats): string {
  return `${dev} ${ino} ${birthtimeMs}`;
}
