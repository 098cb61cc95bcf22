import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));

/** Types a line and the key of completion into a terminal; what the shell has on the line then. */
const terminal = `
import os, pty, select, sys
shell, load, line = sys.argv[1:]
pid, fd = pty.fork()
if pid == 0:
    os.execvp(shell, [shell, '-f', '-i'])
def read(until=b'', seconds=5.0):
    out = b''
    while select.select([fd], [], [], seconds)[0]:
        out += os.read(fd, 65536)
        if until and until in out: break
    return out
os.write(fd, load.encode() + b'; echo rea""dy\\n')
read(b'ready\\r\\n', 20)
read(seconds=0.5)
os.write(fd, line.encode() + b'\\t')
typed = read(seconds=1.5)
os.kill(pid, 9)
os.waitpid(pid, 0)
sys.stdout.write(typed.decode(errors='replace'))
`;

let path: string;
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'shells-'));
  await writeFile(join(folder, 'sqg'), `#!/bin/sh\nexec "${process.execPath}" "${root}src/cli.ts" "$@"\n`, {
    mode: 0o755,
  });
  path = `${folder}:${process.env.PATH}`;
  return () => rm(folder, { recursive: true });
});

const has = (shell: string) =>
  run(shell, ['-c', 'true']).then(
    () => true,
    () => false,
  );

const lines: [line: string, completed: string[]][] = [
  ['sqg tok', ['token']],
  ['sqg token ro', ['rotate']],
  ['sqg query us', ['usage.api-counts']],
  ['sqg query logs.all --format pa', ['parquet']],
];

describe('completion in the shells themselves (apt-get install zsh fish)', () => {
  test.each(lines)('zsh, as it comes: %s', async (line, [completed]) => {
    if (!(await has('zsh'))) throw new Error('test:clients needs zsh: apt-get install zsh');
    const args = ['-c', terminal, 'zsh', 'source <(sqg completion zsh)', line];
    const { stdout } = await run('python3', args, {
      cwd: root,
      // zsh keeps a cache there.
      env: { PATH: path, HOME: await temporaryDirectory(), TERM: 'dumb' },
    });
    expect(stdout).toContain(completed);
  });

  test.each(lines)('fish: %s', async (line, completed) => {
    if (!(await has('fish'))) throw new Error('test:clients needs fish: apt-get install fish');
    const script = `sqg completion fish | source; complete -C '${line}'`;
    const { stdout } = await run('fish', ['-c', script], { cwd: root, env: { PATH: path, HOME: root } });
    expect(stdout.trim().split('\n')).toEqual(completed);
  });
});
