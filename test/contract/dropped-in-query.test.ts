import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

/** The example of docs/saved-queries.md: what the page shows must work. */
async function exampleOfTheDocs(): Promise<string> {
  const page = await readFile(new URL('../../docs/saved-queries.md', import.meta.url), 'utf8');
  return /```sql\n(.*?)```/s.exec(page)?.[1] ?? '';
}

const failed = edgeRow({
  id: 'a',
  timestamp: '2026-01-15T11:00:00Z',
  project: 'ours',
  path: '/rest/v1/broken',
});
failed.metadata = [{ request: [{ path: '/rest/v1/broken' }], response: [{ status_code: 503 }] }];
const fine = edgeRow({ id: 'b', timestamp: '2026-01-15T11:00:00Z', project: 'ours' });

let gateway: OpenGateway;
let file: string;
beforeAll(async () => {
  gateway = await openGateway({
    rows: { 'cloudflare.logs.prod': [failed, failed, fine] },
    now: '2026-01-15T12:00:00Z',
  });
  file = join(gateway.directory, 'sql', 'errors.by-path.sql');
  return gateway.close;
});

const path = '/api/endpoints/query/errors.by-path';
const rows = [{ path: '/rest/v1/broken', errors: 2 }];

/** Writes the file and waits until the running gateway serves or refuses it. */
async function drop(text: string, event: 'endpoint.loaded' | 'endpoint.broken' | 'endpoint.removed') {
  gateway.events.length = 0;
  if (text === '') await rm(file);
  else await writeFile(file, text);
  return gateway.event(event);
}

test('contract 3.4: a third saved query dropped into the folder appears in REST, GraphQL and OpenAPI, with no code', async () => {
  const text = await exampleOfTheDocs();
  expect((await gateway.get(path)).status).toBe(404);

  await drop(text, 'endpoint.loaded');
  expect((await gateway.get(`${path}?project=ours`)).body).toEqual({ result: rows });
  const id = /^id: (\S+)$/m.exec(text)?.[1];
  expect((await gateway.get(`/api/endpoints/query/${id}?project=ours`)).body).toEqual({ result: rows });
  expect((await gateway.get(path)).body.error.message).toBe(
    'Parameter "project" is required; allowed: a non-empty string',
  );

  const { body } = await gateway.graphql('{ errorsByPath(project: "ours") { path errors } }');
  expect(body.data).toEqual({ errorsByPath: rows });
  const described = await gateway.graphql(
    '{ __type(name: "ErrorsByPathRow") { fields { name description } } }',
  );
  expect(described.body.data.__type.fields).toContainEqual({
    name: 'path',
    description: 'Path of the request.',
  });

  const openapi = (await gateway.get('/openapi.json')).body;
  expect(openapi.paths[path].get.parameters[0]).toMatchObject({
    name: 'project',
    in: 'query',
    required: true,
  });
  expect(Object.keys(openapi.components.schemas.ErrorsByPathRow.properties)).toEqual(['path', 'errors']);
});

test.each([
  ['a column that is not the query\'s', ['    type: INT64', '    type: STRING'], /^errors\.by-path\.sql:14: columns\.errors: column 2 of the header is errors STRING, of the query errors INT64$/],
  ['a name that does not resolve', ['request.path as path', 'request.pth as path'], /^errors\.by-path\.sql:21: sql: .*pth.* at \[21:\d+\]$/],
  ['a table that is not there', ['cloudflare.logs.prod', 'cloudflare.logs'], /^errors\.by-path\.sql:22: sql: .*cloudflare\.logs at \[22:\d+\]$/],
  ['a parameter that GraphQL would take for the caller\'s SQL', ['columns:', '  _sql: { type: STRING, description: A text. }\nsandbox: true\ncolumns:'], /^errors\.by-path\.sql:10: parameters\._sql: has the GraphQL name sql, as the caller's own SQL has$/],
])('%s is refused with file, line and key, and the last good definition goes on being served', async (_what, [from, to], message) => {
  const text = await exampleOfTheDocs();
  await drop(`${text}\n-- served`, 'endpoint.loaded');
  const broken = await drop(text.replace(from!, to!), 'endpoint.broken');
  expect(broken).toMatchObject({ file: 'errors.by-path.sql', message: expect.stringMatching(message) });
  expect((await gateway.get(`${path}?project=ours`)).body).toEqual({ result: rows });
}); // biome-ignore format: a table

test('a removed file disappears from every handler', async () => {
  await drop(`${await exampleOfTheDocs()}\n-- once more`, 'endpoint.loaded');
  await drop('', 'endpoint.removed');
  expect((await gateway.get(path)).status).toBe(404);
  expect(
    (await gateway.graphql('{ errorsByPath(project: "x") { path } }')).body.errors[0].extensions.code,
  ).toBe('invalid_graphql');
  expect((await gateway.get('/openapi.json')).body.paths[path]).toBeUndefined();
});
