import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

/**
 * The environment of the processes that a gateway starts: nothing of its own, which holds secrets, but the folder of compiled
 * modules, where it uses one. Without that they strip the types of every file at each start.
 */
export function childEnvironment(): Readonly<Record<string, string>> {
  const directory = getCompileCacheDir();
  // Node appends its version to the folder that it reports.
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: dirname(directory) };
}
