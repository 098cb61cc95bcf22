import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { clientsDirectory, installNpmClients, runInClients } from './npm-clients.ts';
import { runPythonText } from './python-client.ts';

let gateway: OpenGateway;
let page: string;
beforeAll(async () => {
  await installNpmClients();
  page = await readFile('docs/clients.md', 'utf8');
  gateway = await openGateway({
    now: '2026-01-15T12:00:00Z',
    rows: {
      'cloudflare.logs.prod': ['a', 'b'].map(id =>
        edgeRow({ id, timestamp: '2026-01-15T11:30:00Z', project: 'ours' }),
      ),
    },
  });
  const document = await (await fetch(`${gateway.origin}/openapi.json`)).text();
  await writeFile(`${clientsDirectory}/openapi.json`, document);
  return gateway.close;
}, 600_000);

const blockOf = (language: string) => new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``).exec(page)![1]!;
const environment = () => ({ URL: gateway.origin, TOKEN: testToken, PROJECT: 'ours' });

test('redocly finds no error in the OpenAPI document', async () => {
  const { code, output } = await runInClients('redocly', ['lint', 'openapi.json']);
  expect([code, output]).toEqual([0, expect.stringContaining('valid')]);
});

test('spectral finds no error in it', async () => {
  await writeFile(`${clientsDirectory}/.spectral.yaml`, 'extends: ["spectral:oas"]\n');
  const { code, output } = await runInClients('spectral', ['lint', 'openapi.json']);
  expect([code, output]).toEqual([0, expect.stringContaining('0 errors')]);
});

test('the recipe of openapi-typescript compiles, with typed rows, and runs', async () => {
  await runInClients('openapi-typescript', ['openapi.json', '-o', 'api.d.ts']);
  const checks = [
    blockOf('ts'),
    'export const typed: number = data!.result[0]!.total_rest_requests;',
    '// @ts-expect-error no such column',
    'data!.result[0]!.total_rests;',
    '// @ts-expect-error a required parameter',
    "client.GET('/api/endpoints/query/logs.all', { params: { query: {} } });",
  ];
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    target: 'esnext',
    module: 'nodenext',
    lib: ['esnext', 'dom'],
    types: [],
    skipLibCheck: true,
    rewriteRelativeImportExtensions: true,
    outDir: 'compiled',
  };
  const files = {
    'tsconfig.json': JSON.stringify({ compilerOptions, files: ['globals.d.ts', 'checks.ts', 'recipe.ts'] }),
    'globals.d.ts': 'declare const process: { env: Record<string, string | undefined> };',
    'checks.ts': checks.join('\n'),
    'recipe.ts': blockOf('ts'),
  };
  for (const [file, text] of Object.entries(files)) await writeFile(`${clientsDirectory}/${file}`, text);
  expect(await runInClients('tsc', [])).toEqual({ code: 0, output: '' });
  const { code, output } = await runInClients('node', ['compiled/recipe.js'], environment());
  expect([code, output.trim().split('\n')]).toEqual([0, ['2026-01-15T11:00:00 2', '2']]);
});

test('Apollo Client and urql ask by an address and a header alone', async () => {
  await copyFile('test/clients/ask-graphql.mjs', `${clientsDirectory}/ask-graphql.mjs`);
  const { output } = await runInClients('node', ['ask-graphql.mjs'], environment());
  const rows = [['2026-01-15T11:00:00Z', 2]];
  expect(JSON.parse(output)).toEqual([rows, rows]);
});

test('Apollo Client and urql send a document once, then its hash, later clients the hash alone', async () => {
  await copyFile('test/clients/ask-persisted.mjs', `${clientsDirectory}/ask-persisted.mjs`);
  const { output } = await runInClients('node', ['ask-persisted.mjs'], environment());
  expect(JSON.parse(output)).toEqual([
    [1, [false, true]],
    [1, [false]],
    [1, [false, true]],
    [1, [false]],
  ]);
});

test('the recipe of pandas reads types and rows', async () => {
  expect((await runPythonText(blockOf('python'), environment())).trim()).toBe('datetime64[us] 2');
});
