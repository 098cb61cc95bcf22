import { copyFile, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { clientsDirectory, installNpmClients, runInClients } from './npm-clients.ts';
import { generatePythonClient, runPythonText } from './python-client.ts';

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

/** The block of the page in which a word stands. */
const blockOf = (language: string, word = '') =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))]
    .map(([, text]) => text!)
    .find(text => text.includes(word))!;
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

test('the recipe of graphql-codegen types rows, scalars and arguments', async () => {
  const folder = `${clientsDirectory}/codegen`;
  await mkdir(`${folder}/src`, { recursive: true });
  await cp('schema/schema.graphql', `${folder}/schema/schema.graphql`);
  const ask = `import { graphql } from './gql/gql.ts';
import type { ResultOf, VariablesOf } from '@graphql-typed-document-node/core';
const query = graphql(\`query Counts($project: String!) { usageApiCounts(interval: HOURLY, project: $project) { timestamp totalRestRequests } logsAll(project: $project) { metadata } }\`);
type Row = NonNullable<ResultOf<typeof query>['usageApiCounts']>[number];
export const total: number = ({} as Row).totalRestRequests;
export const timestamp: string = ({} as Row).timestamp;
// @ts-expect-error no such field
({} as Row).totalRests;
// @ts-expect-error a required argument
export const variables: VariablesOf<typeof query> = {};
`;
  const compilerOptions = {
    strict: true,
    target: 'esnext',
    module: 'esnext',
    moduleResolution: 'bundler',
    types: [],
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
  };
  const files = {
    'codegen.ts': blockOf('ts', "preset: 'client'"),
    'src/ask.ts': ask,
    'tsconfig.json': JSON.stringify({ compilerOptions, files: ['src/ask.ts'] }),
  };
  for (const [file, text] of Object.entries(files)) await writeFile(`${folder}/${file}`, text);
  const generated = await runInClients('graphql-codegen', ['--config', 'codegen.ts'], {}, 'codegen');
  expect([generated.code, generated.output]).toEqual([0, expect.any(String)]);
  expect(await runInClients('tsc', ['-p', 'codegen'])).toEqual({ code: 0, output: '' });
});

test('the recipe of Relay compiles, and keeps rows of one id apart', async () => {
  const folder = `${clientsDirectory}/relay`;
  await mkdir(`${folder}/src`, { recursive: true });
  await cp('schema/schema.graphql', `${folder}/schema.graphql`);
  const query =
    "query askQuery($project: String!) { one: logsAll(project: $project, sql: \"select 'x' as id, 'one' as event_message from edge_logs limit 1\") { id eventMessage } two: logsAll(project: $project, sql: \"select 'x' as id, 'two' as event_message from edge_logs limit 1\") { id eventMessage } }";
  const files = {
    // The folder of the clients lies in node_modules, which Relay leaves out.
    'relay.config.json': JSON.stringify({
      ...JSON.parse(blockOf('json', 'eagerEsModules')),
      excludes: ['**/__generated__/**'],
    }),
    'src/ask.ts': `import { graphql } from 'relay-runtime';\ngraphql\`${query}\`;\n`,
    'environment.ts': blockOf('ts', 'relay-runtime'),
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        noCheck: true,
        target: 'esnext',
        module: 'nodenext',
        rewriteRelativeImportExtensions: true,
        outDir: 'compiled',
      },
      files: ['run.ts', 'environment.ts', 'src/__generated__/askQuery.graphql.ts'],
    }),
    'run.ts': `import { fetchQuery } from 'relay-runtime';
import { environment } from './environment.ts';
import query from './src/__generated__/askQuery.graphql.ts';
const { one, two } = await fetchQuery(environment, query as never, { project: process.env.PROJECT }).toPromise() as any;
console.log(JSON.stringify([one, two]));
`,
  };
  for (const [file, text] of Object.entries(files)) await writeFile(`${folder}/${file}`, text);
  const compiled = await runInClients('relay-compiler', [], {}, 'relay');
  expect([compiled.code, compiled.output]).toEqual([0, expect.stringContaining('Done')]);
  // What Relay writes imports types as if they were values.
  expect(await runInClients('tsc', ['-p', 'relay'])).toEqual({ code: 0, output: '' });
  const { output } = await runInClients('node', ['relay/compiled/run.js'], environment());
  expect(JSON.parse(output)).toEqual([
    [{ id: 'x', eventMessage: 'one' }],
    [{ id: 'x', eventMessage: 'two' }],
  ]);
});

test('the recipe of pandas reads types and rows', async () => {
  expect((await runPythonText(blockOf('python', 'read_parquet'), environment())).trim()).toBe(
    'datetime64[us] 2',
  );
});

test('the recipe of openapi-python-client has typed rows', async () => {
  const folder = `${clientsDirectory}/python`;
  await mkdir(folder, { recursive: true });
  await generatePythonClient(`${clientsDirectory}/openapi.json`, `${folder}/gateway_client`);
  const PYTHONPATH = folder;
  const text = blockOf('python', 'AuthenticatedClient');
  expect((await runPythonText(text, { ...environment(), PYTHONPATH })).trim()).toBe('2');
});

test('the recipe of gql reads the schema and asks', async () => {
  expect((await runPythonText(blockOf('python', 'gql.transport'), environment())).trim()).toBe('2');
});

test('the recipe for Metabase fills a table of DuckDB', async () => {
  const text = blockOf('python', 'metabase.duckdb').replace('metabase.duckdb', ':memory:');
  expect((await runPythonText(text, environment())).trim()).toBe('2');
});

test('the addresses for Grafana answer what the recipe says of their columns', async () => {
  const [counts, logs] = page
    .match(/(?<=http:\/\/gateway:4000)\/.*/g)!
    .map(path => path.replace('abc', 'ours'));
  const ask = async (path: string) =>
    (
      await (
        await fetch(gateway.origin + path.replaceAll(' ', '%20'), {
          headers: { authorization: `Bearer ${testToken}` },
        })
      ).json()
    ).result[0];
  expect((await ask(counts!)).timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$/);
  expect((await ask(logs!)).time).toBe(Date.parse('2026-01-15T11:30:00Z'));
});
