import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import type { Column } from '../../src/base/rows.ts';
import { longestTurn } from '../support/longest-turn.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';

const count = 600;
const columns: readonly Column[] = Array.from({ length: 20 }, (_, n) => ({
  name: `column_${n}`,
  type: 'STRING',
  mode: 'NULLABLE',
}));
const nameOf = (n: number) => `report.number-${String(n).padStart(4, '0')}`;
const sqlOf = (name: string, n: number) => `/*
id: 00000000-0000-4000-8000-${String(n).padStart(12, '0')}
name: ${name}
description: Number ${n}.
parameters:
  project: { type: string, required: true, description: Reference of the project. }
columns:
${columns.map(({ name }) => `  ${name}: { type: STRING, description: A text. }`).join('\n')}
sandbox: true
*/
select ${columns.map(({ name }) => `'x' as ${name}`).join(', ')}`;

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    engine: {
      describe: async () => columns,
      run: async () => ({ columns, rowsJson: Buffer.from('[]'), rowCount: 0 }),
    },
    sqlFiles: Object.fromEntries([...names, ...longNames].map((name, n) => [`${name}.sql`, sqlOf(name, n)])),
  });
  return gateway.close;
});

/** Two names of 128 characters that differ in the last one. */
const longNames = ['a', 'b'].map(last => `${'long.'.repeat(25)}12${last}`);

const names = Array.from({ length: count }, (_, n) => nameOf(n));

async function connect(): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const headers = { authorization: `Bearer ${testToken}` };
  const url = new URL(`${gateway.origin}/mcp`);
  await client.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

test('agents get the tools of many saved queries, and can call each', async () => {
  const client = await connect();
  const tools = (await client.listTools()).tools.map(({ name }) => name);
  const own = names.flatMap(name => [name.replace('.', '_'), `${name.replace('.', '_')}_sql`]);
  expect(tools.filter(name => name.startsWith('report'))).toEqual(own);
  expect(await client.callTool({ name: own.at(-2)!, arguments: { project: 'x' } })).toMatchObject({
    structuredContent: { rows: [] },
  });
  expect(
    await client.callTool({ name: own.at(-1)!, arguments: { project: 'x', sql: 'select 1' } }),
  ).toMatchObject({
    structuredContent: { rows: [] },
  });
  await expect(client.callTool({ name: `${own.at(-1)}_sql`, arguments: {} })).rejects.toThrow(
    'No tool has the name',
  );
});

test('no tool has a name that is longer than models take', async () => {
  const client = await connect();
  const tools = (await client.listTools()).tools.map(({ name }) => name);
  const long = tools.filter(name => name.startsWith('long_'));
  expect(new Set(long).size).toBe(4);
  for (const name of tools) expect(name).toMatch(/^[\w-]{1,64}$/);
  for (const name of long) {
    const answer = await client.callTool({
      name,
      arguments: { project: 'x', ...(name.endsWith('_sql') && { sql: 'select 1' }) },
    });
    expect(answer).toMatchObject({ structuredContent: { rows: [] } });
  }
});

test('contract 11.2: many who list many saved queries hold the event loop for no more than one does', async () => {
  const list = () => fetch(`${gateway.origin}/api/endpoints`, { headers: { 'x-api-key': testToken } });
  const listed = await (await list()).json();
  expect(listed.endpoints.map(({ name }: { name: string }) => name)).toEqual([...longNames, ...names]);
  // Their bodies are not read: this process is the client, too.
  const { turnMs } = await longestTurn(async () => {
    const all = await Promise.all(Array.from({ length: 20 }, list));
    await Promise.all(all.map(response => response.body?.cancel()));
  });
  expect(turnMs).toBeLessThan(100);
});
