import { readdir } from 'node:fs/promises';
import { rowsFolderOf } from '../../src/loading/accepted-rows.ts';

/** The name of the file in which an acceptance leaves its rows. Names do not tell which of two is newer within a millisecond. */
export async function rowsFileOf(databasePath: string, accept: () => Promise<unknown>): Promise<string> {
  const folder = rowsFolderOf(databasePath);
  const before = new Set(await readdir(folder));
  await accept();
  const [name = '', ...others] = (await readdir(folder)).filter(
    each => each.endsWith('.rows') && !before.has(each),
  );
  if (others.length > 0) throw new Error(`More than one file was written: ${[name, ...others]}`);
  return name;
}
