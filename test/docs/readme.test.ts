import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { bringPages } from '../page/built-pages.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** The lines of the README's shell blocks, in order; a backslash continues a line. */
async function blocks(): Promise<string[]> {
  const text = await readFile(join(root, 'README.md'), 'utf8');
  return [...text.matchAll(/```sh\n(.*?)```/gs)].map(match => match[1]!.replaceAll('\\\n', '').trim());
}

/** A folder with what git has of the tree, what it would add, and what `npm ci` has made of them; all by links. */
async function linkTree(): Promise<string> {
  const directory = await temporaryDirectory();
  const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
  });
  const names = new Set(
    stdout
      .split('\n')
      .map(path => path.split('/')[0]!)
      .filter(Boolean),
  );
  for (const name of [...names, 'node_modules', 'dist']) {
    if (existsSync(join(root, name))) await symlink(join(root, name), join(directory, name));
  }
  return directory;
}

test('the commands of the README work, in order, as on a fresh clone', { timeout: 480_000 }, async () => {
  const [installAndStart = '', tests = '', rest = '', graphql = ''] = await blocks();
  expect(tests).toBe('npm cit');
  // Whoever runs this test has run the first half: CI on a clean clone.
  const [install, start = ''] = installAndStart.split(' && ');
  expect(install).toBe('npm ci');
  await bringPages();

  const directory = await linkTree();
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
  const page = await fetch(origin, { headers: { accept: 'text/html' } });
  expect(await page.text()).toContain('<title>Saved queries</title>');
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
