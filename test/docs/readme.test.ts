import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** The lines of the README's shell blocks, in order; a backslash continues a line. */
async function blocks(): Promise<string[]> {
  const text = await readFile(join(root, 'README.md'), 'utf8');
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map(match => match[1]!.replaceAll('\\\n', '').trim());
}

/** What git has of the tree, and what it would add: a clone before the commit. */
async function cloneTree(): Promise<string> {
  const directory = await temporaryDirectory();
  const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
  });
  for (const file of stdout.split('\n').filter(Boolean)) {
    await cp(join(root, file), join(directory, file)).catch((error: NodeJS.ErrnoException) => {
      // A file that was removed and not committed yet.
      if (error.code !== 'ENOENT') throw error;
    });
  }
  return directory;
}

test('the commands of the README work, in order, on a fresh clone', { timeout: 480_000 }, async () => {
  const [start = '', tests = '', rest = '', graphql = ''] = await blocks();
  expect(tests).toBe('npm cit');

  const directory = await cloneTree();
  // A newcomer's PATH: nothing of this checkout, and no npm script around it.
  const clean = Object.entries(process.env).filter(([name]) => !/^(npm_|NODE_|VITEST|INIT_CWD)/i.test(name));
  const path = (process.env.PATH ?? '').split(':').filter(part => !part.includes('node_modules'));
  const env = { ...Object.fromEntries(clean), PATH: path.join(':'), PORT: '0', LOG_LEVEL: 'warn' };
  const gateway = spawn('sh', ['-c', start], {
    cwd: directory,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(async () => {
    process.kill(-gateway.pid!, 'SIGTERM');
    await once(gateway, 'exit');
  });
  let said = '';
  let complained = '';
  gateway.stderr.on('data', part => {
    complained += part;
  });
  for await (const part of gateway.stdout) {
    said += part;
    if (said.includes('Try:') && said.endsWith('\n\n')) break;
  }
  expect(said, complained).toContain('Saved query gateway at');
  expect(complained).toContain('100 % of');

  const origin = /gateway at (\S+)/.exec(said)?.[1] ?? '';
  const printed = said.split('\n').filter(line => line.startsWith('  curl'));
  expect(printed).toHaveLength(2);
  for (const command of printed) {
    const { stdout } = await run('sh', ['-c', command]);
    expect(JSON.parse(stdout).result?.length, stdout + complained).toBeGreaterThan(0);
  }

  // As they are written, but for the port: nothing is filled in by hand.
  const commands = `${rest}\n${graphql}`.replaceAll('http://127.0.0.1:4000', origin);
  const answers = await run('sh', ['-c', commands.replaceAll(/^curl/gm, 'echo; curl -s')], {
    cwd: directory,
    env,
  });
  const bodies = answers.stdout.split('\n').filter(Boolean);
  expect(bodies).toHaveLength(3);
  for (const body of bodies) {
    const { result, data } = JSON.parse(body);
    expect((result ?? data.usageApiCounts).length).toBeGreaterThan(0);
  }
});
