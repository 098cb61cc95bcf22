import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The versions that the suite was written against. */
const requirements = {
  'google-cloud-bigquery': '3.47.0',
  duckdb: '2.0.0',
  gql: '4.4.0',
  mcp: '2.3.0',
  'openapi-python-client': '0.29.1',
  pandas: '3.1.1',
  polars: '2.1.0',
  pyarrow: '26.0.1',
  pytz: '2026.6',
  'requests-toolbelt': '1.0.0',
};

/** An environment of its own, kept between runs; nothing of it is committed. */
const directory = 'node_modules/.cache/python-client';
const python = `${directory}/bin/python`;

/**
 * Installs Google's Python client, and Python's readers of Parquet and Arrow, from the package index, unless they are there already.
 * @throws Error that says in a line what is missing
 */
export async function installPythonClient(): Promise<void> {
  const wanted = Object.entries(requirements).map(([name, version]) => `${name}==${version}`);
  const check = [
    '-c',
    `import importlib.metadata as m\nfor r in ${JSON.stringify(wanted)}: assert m.version(r.split("==")[0]) == r.split("==")[1]`,
  ];
  if (existsSync(python) && (await succeeds(python, check))) return;
  if (!(await succeeds('python3', ['--version']))) throw new Error('test:clients needs python3');
  if (!(await succeeds('python3', ['-m', 'venv', directory])))
    throw new Error("test:clients needs Python's venv and pip (`apt-get install python3-venv`)");
  if (!(await succeeds(python, ['-m', 'pip', 'install', '--quiet', ...wanted])))
    throw new Error(`test:clients needs ${wanted.join(', ')} from a package index that pip reaches`);
}

/** Runs a program with these packages; what it prints is JSON. */
export async function runPython(args: readonly string[]): Promise<unknown> {
  const { stdout } = await run(python, args, { env: { PATH: process.env.PATH, PYTHONWARNINGS: 'ignore' } });
  return JSON.parse(stdout);
}

/** Runs a program as it is written on a page; returns what it prints. */
export async function runPythonText(text: string, environment: Record<string, string>): Promise<string> {
  const { stdout } = await run(python, ['-c', text], { env: { PATH: process.env.PATH, ...environment } });
  return stdout;
}

/** Writes a typed client of an OpenAPI document into a folder. */
export async function generatePythonClient(document: string, folder: string): Promise<void> {
  const args = ['generate', '--path', document, '--output-path', folder, '--meta', 'none', '--overwrite'];
  // Its formatter lies beside it.
  await run(`${directory}/bin/openapi-python-client`, args, {
    env: { ...process.env, PATH: `${resolve(directory)}/bin:${process.env.PATH}` },
  });
}

async function succeeds(command: string, args: readonly string[]): Promise<boolean> {
  return run(command, args).then(
    () => true,
    () => false,
  );
}
