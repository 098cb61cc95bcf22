import { type FSWatcher, type Stats, statSync, watch } from 'node:fs';
import { stat } from 'node:fs/promises';

/** Milliseconds to wait after a change: editors write a file in several steps, which one check covers. */
const settleMs = 50;

/** Milliseconds between two checks whether another folder has replaced this one. */
const replacedMs = 1000;

type WatchOptions = {
  /** Called when the folder has changed; never concurrently. */
  readonly onChange: () => Promise<void>;
  readonly onFailed: (error: Error) => void;
  /** Checks again at this interval while `isNeeded`: a problem may disappear without a change of the folder. */
  readonly retry?: { readonly everyMs: number; readonly isNeeded: () => boolean };
};

type FolderWatch = {
  /** Checks as if the folder had just changed. */
  lookSoon(): void;
  close(): void;
};

/** Follows changes of a folder's files and of the folder itself: another of the same name may replace it, or a link may point elsewhere. */
export function watchFolder(directory: string, { onChange, onFailed, retry }: WatchOptions): FolderWatch {
  let settling: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();
  let isNext = false;
  /** Checks again when the current check has ended; calls until then count as one. */
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
 * Watches the folder that has the name at present, even after it was replaced: the system itself goes on watching the folder that had the
 * name when watching began.
 * @returns a function that stops watching
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

  // While the folder does not exist there is nothing to watch; the check at its removal has reported that.
  const timer = setInterval(() => void follow().catch(() => undefined), replacedMs).unref();
  return () => {
    isClosed = true;
    clearInterval(timer);
    watcher.close();
  };
}

/** Identifies a folder. Not by the inode alone: a new folder may get that of a removed one. */
function identityOf({ dev, ino, birthtimeMs }: Stats): string {
  return `${dev} ${ino} ${birthtimeMs}`;
}
