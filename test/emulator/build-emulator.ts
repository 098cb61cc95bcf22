import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { emulatorBinary, emulatorVersion } from './emulator-binary.ts';

/** Builds goccy/bigquery-emulator unless it is there; ends with 1 and one line where it can't. */
const modulePath = 'github.com/goccy/bigquery-emulator';
const run = promisify(execFile);

if (!existsSync(emulatorBinary)) await build().catch(fail);

async function build(): Promise<void> {
  await run('go', ['version']).catch(() => {
    throw new Error('Go 1.26 or later is not on the PATH, see https://go.dev/dl');
  });
  process.stdout.write(`Building ${modulePath} ${emulatorVersion}: minutes, the first time.\n`);
  const directory = dirname(emulatorBinary);
  await mkdir(directory, { recursive: true });
  // A module that requires the version, rather than `go install …@version`: that one asks for the list of all versions too,
  // which not every proxy gives. What the emulator itself requires is pinned by its own go.mod.
  const module = `module emulator\n\ngo 1.26\n\nrequire ${modulePath} ${emulatorVersion}\n`;
  await writeFile(join(directory, 'go.mod'), module);
  const built = `${emulatorBinary}.${process.pid}`;
  const args = ['build', '-mod=mod', '-o', built, `${modulePath}/cmd/bigquery-emulator`];
  await run('go', args, { cwd: directory, env: { ...process.env, CGO_ENABLED: '0' } });
  await rename(built, emulatorBinary);
}

function fail(error: unknown): never {
  const { stderr = '', message } = error as Error & { stderr?: string }; // of execFile, or ours
  const reason = stderr.trim().split('\n').at(-1) || message;
  process.stderr.write(`The emulator suite needs goccy/bigquery-emulator, built with Go: ${reason}\n`);
  process.exit(1);
}
