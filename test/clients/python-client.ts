import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The version that the suite was written against. */
const requirement = 'google-cloud-bigquery==3.47.0';

/** An environment of its own, kept between runs; nothing of it is committed. */
const directory = 'node_modules/.cache/python-client';
const python = `${directory}/bin/python`;

/**
 * Installs Google's Python client from the package index, unless it is there already.
 * @throws Error that says in a line what is missing
 */
export async function installPythonClient(): Promise<void> {
  const check = ['-c', 'import google.cloud.bigquery as b; assert b.__version__ == "3.47.0"'];
  if (existsSync(python) && (await succeeds(python, check))) return;
  if (!(await succeeds('python3', ['--version']))) throw new Error('test:clients needs python3');
  if (!(await succeeds('python3', ['-m', 'venv', directory])))
    throw new Error("test:clients needs Python's venv and pip (`apt-get install python3-venv`)");
  if (!(await succeeds(python, ['-m', 'pip', 'install', '--quiet', requirement])))
    throw new Error(`test:clients needs ${requirement} from a package index that pip reaches`);
}

/** Runs a program with the client; what it prints is JSON. */
export async function runPython(args: readonly string[]): Promise<unknown> {
  const { stdout } = await run(python, args, { env: { PATH: process.env.PATH, PYTHONWARNINGS: 'ignore' } });
  return JSON.parse(stdout);
}

async function succeeds(command: string, args: readonly string[]): Promise<boolean> {
  return run(command, args).then(
    () => true,
    () => false,
  );
}
