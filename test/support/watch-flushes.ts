import { fstatSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished, vi } from 'vitest';

/** What a disk has of a folder: names of files, and their contents, by inode. */
type Disk = {
  readonly names: Map<number, ReadonlyMap<string, number>>;
  readonly contents: Map<number, Buffer>;
};

/**
 * Watches what this process flushes under a folder. A loss of power leaves the contents that a file had when it was last flushed, and the names that
 * its folder had when that was: what was renamed or removed since is as before. Source: fsync(2), which promises no more.
 * @param isWhole whether a file is flushed by something that is not watched: it is left as it is
 */
export async function watchFlushes(folder: string, isWhole: (name: string) => boolean) {
  const disk: Disk = { names: new Map(), contents: new Map() };
  const isThere = (path: string) => statSync(path, { throwIfNoEntry: false });
  const flush = (path: string, inode: number) => {
    const found = isThere(path);
    if (found?.ino === inode && found.isFile()) disk.contents.set(inode, readFileSync(path));
    if (!found?.isDirectory()) return;
    const names = readdirSync(path);
    if (found.ino === inode) disk.names.set(inode, new Map(names.flatMap(name => entryOf(path, name))));
    for (const name of names) flush(join(path, name), inode);
  };
  const entryOf = (path: string, name: string): [string, number][] => {
    const found = isThere(join(path, name));
    return found ? [[name, found.ino]] : [];
  };

  const handle = await open(folder);
  const prototype: FileHandle = Object.getPrototypeOf(handle);
  await handle.close();
  const { sync } = prototype;
  let onFlush: () => void = () => undefined;
  vi.spyOn(prototype, 'sync').mockImplementation(async function (this: FileHandle) {
    await sync.call(this);
    flush(folder, fstatSync(this.fd).ino);
    onFlush();
  });
  onTestFinished(() => void vi.restoreAllMocks());

  /** Writes what the disk has into another folder. */
  function copyTo(target: string, path = folder, inode = statSync(folder).ino): void {
    mkdirSync(target, { recursive: true });
    const names = new Map(disk.names.get(inode));
    if (isThere(path)) {
      for (const name of readdirSync(path)) {
        if (isWhole(name)) for (const [, own] of entryOf(path, name)) names.set(name, own);
      }
    }
    for (const [name, own] of names) {
      const from = join(path, name);
      if (isWhole(name) && isThere(from)) writeFileSync(join(target, name), readFileSync(from));
      else if (disk.names.has(own) || isThere(from)?.isDirectory()) copyTo(join(target, name), from, own);
      else if (!isWhole(name)) writeFileSync(join(target, name), disk.contents.get(own) ?? '');
    }
  }

  return {
    copyTo,
    /** Calls a function after each flush. */
    onFlush(act: () => void) {
      onFlush = act;
    },
  };
}
