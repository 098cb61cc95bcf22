import { watch } from 'node:fs';

/** Editors write a file in several steps; one look answers them all. */
const settleMs = 50;

type WatchOptions = {
  /** Called when the folder has changed, never twice at a time. */
  readonly onChange: () => Promise<void>;
  readonly onFailed: (error: Error) => void;
  /** Looks again every so many milliseconds while it is needed: what was wrong may have become right without a change of the folder. */
  readonly retry?: { readonly everyMs: number; readonly isNeeded: () => boolean };
};

/** Follows the changes of a folder's files. */
export function watchFolder(
  directory: string,
  { onChange, onFailed, retry }: WatchOptions,
): { close(): void } {
  let settling: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();
  let isNext = false;
  /** Looks once more when the look that is under way has ended, however often that is asked for. */
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
  const watcher = watch(directory, { persistent: false }, () => {
    clearTimeout(settling);
    settling = setTimeout(look, settleMs).unref();
  });
  watcher.on('error', onFailed);
  const retrying =
    retry &&
    setInterval(() => {
      if (retry.isNeeded()) look();
    }, retry.everyMs).unref();
  return {
    close() {
      watcher.close();
      clearTimeout(settling);
      clearInterval(retrying);
    },
  };
}
