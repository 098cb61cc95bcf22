import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type SideProcess, startSideProcess } from '../side-process.ts';

/**
 * Starts Mercurius over the rows of the gateway's own answer, and installs it before where it is not there yet: it
 * needs another graphql than the gateway, so it has a lockfile of its own.
 * @param answer a GraphQL answer
 */
export async function startMercurius(answer: Buffer): Promise<SideProcess> {
  const directory = fileURLToPath(new URL('.', import.meta.url));
  if (!existsSync(`${directory}/node_modules/mercurius`)) {
    await promisify(execFile)('npm', ['ci', '--ignore-scripts'], { cwd: directory });
  }
  const { data } = JSON.parse(answer.toString());
  return startSideProcess('./mercurius/serve-rows.js', { data });
}
