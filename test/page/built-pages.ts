import { globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildPages, pagesDirectory } from '../../build/build-pages.ts';
import { withFileLock } from '../../src/base/with-file-lock.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Builds the pages where they are absent, or older than their sources; `npm ci` has built them as a rule. */
export async function bringPages(): Promise<void> {
  // Test files run beside one another.
  await withFileLock(join(root, 'dist-of-tests'), bring, 120_000);
}

async function bring(): Promise<void> {
  const page = statSync(join(pagesDirectory, 'docs.html'), { throwIfNoEntry: false });
  const sources = globSync(['src/page/**/*.*', 'build/*', 'package-lock.json'], { cwd: root });
  const newest = Math.max(...sources.map(file => statSync(join(root, file)).mtimeMs));
  if (!page || page.mtimeMs < newest) await buildPages();
}
