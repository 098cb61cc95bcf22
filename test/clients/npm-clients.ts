import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The versions that the recipes were written against. */
const packages = {
  '@apollo/client': '4.3.8',
  '@graphql-codegen/cli': '7.4.3',
  '@graphql-codegen/client-preset': '6.2.0',
  '@modelcontextprotocol/conformance': '0.1.16',
  '@redocly/cli': '2.77.0',
  '@stoplight/spectral-cli': '6.16.3',
  '@urql/core': '6.0.3',
  '@urql/exchange-persisted': '5.0.1',
  graphql: '16.15.0',
  'openapi-fetch': '0.17.0',
  'openapi-typescript': '7.13.0',
  'relay-compiler': '21.0.1',
  'relay-runtime': '21.0.1',
  rxjs: '7.8.2',
  typescript: '5.9.3',
};

/** A folder of its own, kept between runs; nothing of it is committed. */
export const clientsDirectory = 'node_modules/.cache/npm-clients';

/**
 * Installs the tools that read our OpenAPI document, unless they are there already.
 * @throws Error if the registry does not give them
 */
export async function installNpmClients(): Promise<void> {
  const manifest = JSON.stringify({
    private: true,
    type: 'module',
    dependencies: packages,
    // What codegen asks for of it is newer than what some mirrors of the registry have.
    overrides: { '@graphql-tools/batch-execute': '10.2.0' },
  });
  const file = `${clientsDirectory}/package.json`;
  if ((await readFile(file, 'utf8').catch(() => '')) === manifest) return;
  await mkdir(clientsDirectory, { recursive: true });
  await writeFile(file, manifest);
  try {
    await run('npm', ['install', '--no-audit', '--no-fund', '--silent'], { cwd: clientsDirectory });
  } catch (cause) {
    await writeFile(file, '');
    throw new Error(`test:clients needs ${Object.keys(packages).join(', ')} from the npm registry`, {
      cause,
    });
  }
}

/**
 * Runs one of the installed tools, or Node, there.
 * @param folder in which it runs, inside that of the clients
 */
export async function runInClients(
  command: string,
  args: readonly string[],
  environment: Record<string, string> = {},
  folder = '',
): Promise<{ readonly code: number; readonly output: string }> {
  const options = { cwd: join(clientsDirectory, folder), env: { ...process.env, ...environment } };
  const tool = resolve(clientsDirectory, 'node_modules/.bin', command);
  return run(command === 'node' ? process.execPath : tool, args, options).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    ({ code, stdout, stderr }) => ({ code, output: `${stdout}${stderr}` }),
  );
}
