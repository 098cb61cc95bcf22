import { readFile, writeFile } from 'node:fs/promises';
import { request as ask, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeAll, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { clientsDirectory, installNpmClients, runInClients } from './npm-clients.ts';
import { runPythonText } from './python-client.ts';

/**
 * The scenarios of the protocol's own conformance suite that a server can pass only if it declares what we do not, or has the tools,
 * resources and prompts that the suite brings for a server of its own; decision 105.
 */
const notDeclared: Record<string, readonly string[]> = {
  'the capability logging': ['logging-set-level'],
  'the capability completions': ['completion-complete'],
  'the capability prompts': [
    'prompts-list',
    'prompts-get-simple',
    'prompts-get-with-args',
    'prompts-get-embedded-resource',
    'prompts-get-with-image',
  ],
  'subscriptions to resources': ['resources-subscribe', 'resources-unsubscribe'],
  'the resources test://…': ['resources-read-text', 'resources-read-binary', 'resources-templates-read'],
  'the tools test_…': [
    'tools-call-simple-text',
    'tools-call-image',
    'tools-call-audio',
    'tools-call-embedded-resource',
    'tools-call-mixed-content',
    'tools-call-error',
  ],
  'sessions and streams of events': ['server-sse-multiple-streams'],
  'tools that ask back, or report while they run': [
    'tools-call-with-logging',
    'tools-call-with-progress',
    'tools-call-sampling',
    'tools-call-elicitation',
    'elicitation-sep1034-defaults',
    'elicitation-sep1330-enums',
  ],
};

let gateway: OpenGateway;
let address: string;
beforeAll(async () => {
  await installNpmClients();
  gateway = await openGateway({
    now: '2026-01-15T12:00:00Z',
    rows: {
      'cloudflare.logs.prod': [
        {
          ...edgeRow({ id: 'a', timestamp: '2026-01-15T11:30:00Z', project: 'ours' }),
          metadata: [{ request: [{ method: 'GET', path: '/rest/v1/x' }], response: [{ status_code: 503 }] }],
        },
      ],
    },
  });
  // The suite has no way to send a token.
  const proxy = createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${testToken}` };
    const { url: path, method } = request;
    const asked = ask({ port: gateway.port, path, method, headers }, answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(asked);
  });
  await new Promise<void>(resolve => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo; // it listens on TCP
  address = `http://127.0.0.1:${port}/mcp`;
  return async () => {
    proxy.close();
    await gateway.close();
  };
}, 600_000);

test("the protocol's conformance suite fails where we declare nothing, and nowhere else", async () => {
  const failing = Object.values(notDeclared).flat();
  const baseline = `server:\n${failing.map(name => `  - ${name}\n`).join('')}`;
  await writeFile(`${clientsDirectory}/conformance.yml`, baseline);
  const { code, output } = await runInClients('conformance', [
    ...['server', '--url', address, '--expected-failures', 'conformance.yml'],
  ]);
  // A scenario of these that passes would be an error, too.
  expect(output).not.toMatch(/Unexpected|Stale/);
  expect([code, output]).toEqual([0, expect.stringContaining('Total: 6 passed')]);
});

test("Python's client finds the columns, asks which path fails most, and reads what was wrong", async () => {
  const text = await readFile('test/clients/ask_mcp.py', 'utf8');
  const sql = /```sql\n([\s\S]*?)```/.exec(await readFile('docs/agents.md', 'utf8'))![1]!;
  const environment = { URL: gateway.origin, TOKEN: testToken, PROJECT: 'ours', SQL: sql };
  expect(JSON.parse(await runPythonText(text, environment))).toEqual({
    tools: ['logs_all', 'logs_all_sql', 'usage_api-counts', 'usage_api-counts_sql', 'describe_subsets'],
    describes: true,
    rows: [{ path: '/rest/v1/x', failures: 1 }],
    error: 'invalid_query',
  });
});
