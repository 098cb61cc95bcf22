import { dirname, resolve } from 'node:path';
import { fileBytes } from '../../base/missing-file.ts';
import { freeBytesOf, minFreeBytes } from '../../composition/free-bytes.ts';
import { replicasOf } from '../../duckdb/replicas.ts';
import type { Check, Finding } from './check.ts';

type DiskCheckOptions = {
  readonly directory: string;
  /** The first of the two files of the database. */
  readonly databasePath: string;
  /** Megabytes of memory of the embedded engine. */
  readonly engineMemoryMb: number;
  /** Returns the free bytes of a folder's disk. Default: asks the system. */
  readonly freeBytes?: (directory: string) => Promise<number>;
};

const mb = 1024 * 1024;

/** Checks that the data folder has enough free space. */
export function diskCheck({
  directory,
  databasePath,
  engineMemoryMb,
  freeBytes = askSystem,
}: DiskCheckOptions): Check {
  return {
    subject: 'disk',
    fixForFailure: 'see that DATA_DIR is a folder that may be read',
    async run(): Promise<Finding> {
      const freeMb = Math.floor((await freeBytes(directory)) / mb);
      const found = `${freeMb} MB are free at ${directory}`;
      if (freeMb * mb < minFreeBytes) {
        return { isFine: false, problems: [{ found, fix: 'make room, or move DATA_DIR to a larger disk' }] };
      }
      // Queries spill up to four times their memory.
      const wantedMb = 4 * engineMemoryMb;
      const fix = `have ${wantedMb} MB, four times ENGINE_MEMORY_MB: large queries spill to this disk`;
      const advice = freeMb < wantedMb ? [{ found, fix }] : [];
      // Queries read one file while the other is written.
      const [first, second] = await Promise.all(replicasOf(databasePath).map(fileBytes));
      const minMb = minFreeBytes / mb;
      const copyMb = Math.ceil((first ?? 0) / mb);
      if (second === undefined && freeMb - minMb < copyMb) {
        advice.push({
          found,
          fix: `have ${copyMb + minMb} MB: the first load makes a second file of the database, of ${copyMb} MB`,
        });
      }
      return { isFine: true, found, advice };
    },
  };
}

/** The free bytes at the nearest existing folder: before a first start DATA_DIR does not exist. */
async function askSystem(directory: string): Promise<number> {
  for (let folder = resolve(directory); ; folder = dirname(folder)) {
    try {
      return await freeBytesOf(folder);
    } catch (error) {
      if (dirname(folder) === folder) throw error;
    }
  }
}
