import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Mutant } from './mutant.ts';
import { groups } from './mutants.ts';

/**
 * Breaks each promise of `mutants.ts` in a copy of the repository, one at a time, and sees its test fail; before, it sees the same
 * test pass. Ends with 1 when a mutant survived, or a test failed or was not found without one.
 */
const { values } = parseArgs({
  options: {
    /** Only the groups and promises that contain this text. */
    filter: { type: 'string', default: '' },
  },
});
const root = resolve(import.meta.dirname, '../..');
const print = (text: string) => process.stdout.write(`${text}\n`);

const copy = await mkdtemp(join(tmpdir(), 'mutants-'));
process.once('SIGINT', end);
let failures = 0;
let tried = 0;
try {
  await cp(root, copy, {
    recursive: true,
    preserveTimestamps: true,
    filter: path => basename(path) !== 'node_modules',
  });
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
  for (const [group, mutants] of Object.entries(groups)) {
    const chosen = mutants.filter(({ promise }) => `${group}: ${promise}`.includes(values.filter));
    if (chosen.length > 0) await tryGroup(group, chosen);
  }
} finally {
  await rm(copy, { recursive: true });
}
print(`${tried - failures} of ${tried} mutants were noticed`);
process.exitCode = failures === 0 && tried > 0 ? 0 : 1;

async function tryGroup(group: string, mutants: readonly Mutant[]): Promise<void> {
  print(`\n${group}`);
  const sound = new Map<string, string>();
  for (const mutant of mutants) {
    const key = JSON.stringify(mutant.test);
    if (!sound.has(key)) sound.set(key, await runTest(mutant));
    const before = sound.get(key)!;
    const after = before === 'passed' ? await runMutant(mutant) : 'not tried';
    const isNoticed = after === 'failed';
    tried += 1;
    if (!isNoticed) failures += 1;
    const verdict = isNoticed
      ? 'noticed'
      : before === 'passed'
        ? `NOT NOTICED (${after})`
        : `BAD TEST (${before} without it)`;
    print(`  ${verdict.padEnd(8)} ${mutant.promise} [${mutant.test[0]}]`);
  }
}

async function runMutant(mutant: Mutant): Promise<string> {
  const path = join(copy, mutant.file);
  const text = await readFile(path, 'utf8');
  await writeFile(
    path,
    text.replace(mutant.find, () => mutant.replace),
  );
  try {
    return await runTest(mutant);
  } finally {
    await writeFile(path, text);
  }
}

/** `passed`, `failed`, or what else became of the test. A file that can't be loaded is no failure of a test. */
async function runTest({ test: [file, title] }: Mutant): Promise<string> {
  const report = join(copy, 'report.json');
  await rm(report, { force: true });
  const options = [
    ...['run', file, '-t', title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')],
    ...['--reporter=json', `--outputFile=${report}`, '--testTimeout=90000', '--hookTimeout=90000'],
  ];
  const runner = spawn(process.execPath, [join(copy, 'node_modules/vitest/vitest.mjs'), ...options], {
    cwd: copy,
    stdio: 'ignore',
    timeout: 300_000,
  });
  await once(runner, 'exit');
  const counts = await readFile(report, 'utf8').then(JSON.parse, () => null);
  if (counts === null) return 'no report';
  if (counts.numFailedTests > 0) return 'failed';
  return counts.success && counts.numPassedTests > 0 ? 'passed' : 'not run';
}

async function end(): Promise<void> {
  await rm(copy, { recursive: true, force: true });
  process.exit(130);
}
