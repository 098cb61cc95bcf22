import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';

/**
 * The environment of a gateway's child processes: nothing of the gateway's own, which holds secrets, except Node's compile cache if it
 * uses one. Without it they would strip the types of every file at each start.
 */
export function childEnvironment(): Readonly<Record<string, string>> {
  const directory = getCompileCacheDir();
  // Node reports the folder with its version appended.
  return directory === undefined ? {} : { NODE_COMPILE_CACHE: dirname(directory) };
}
