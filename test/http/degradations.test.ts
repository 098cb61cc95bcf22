import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { rowsFolderOf } from '../../src/loading/accepted-rows.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

let gateway: OpenGateway;
let freeBytes = 1e12;
beforeAll(async () => {
  gateway = await openGateway({
    now: '2026-01-15T12:00:00Z',
    environment: { REDIS_URL: '' },
    freeBytes: () => freeBytes,
  });
  return gateway.close;
});

const metric = async (name: string) => {
  const text = await fetch(`${gateway.origin}/metrics`).then(answer => answer.text());
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
};
const state = async () => {
  const { status, body } = await gateway.get('/readyz');
  return [status, body.reasons, await metric('endpoints_broken'), await metric('tokens_stale')];
};

test('a saved query that is broken shows in /readyz and the metrics until it is mended', async () => {
  const file = join(gateway.directory, 'sql', 'logs.all.sql');
  const text = await readFile(file, 'utf8');
  expect(await state()).toEqual([200, [], 0, 0]);
  await writeFile(file, text.replace('type: TIMESTAMP', 'type: TIME'));
  await expect.poll(state).toEqual([200, ['saved_query_broken'], 1, 0]);
  expect((await gateway.get('/api/endpoints/query/logs.all?project=x')).status).toBe(200);
  // Another file's change says nothing of this one.
  await writeFile(join(gateway.directory, 'sql', 'wrong.sql'), 'select 1');
  await expect.poll(state).toEqual([200, ['saved_query_broken'], 2, 0]);
  // That it is there at all is for those who may read it.
  const answerTo = async (token: Parameters<typeof gateway.issue>[0]) => {
    const headers = { 'x-api-key': await gateway.issue(token) };
    const { status, body } = await gateway.get('/api/endpoints/query/wrong', headers);
    return [status, body.error.code, body.error.message];
  };
  const [told, untold] = [
    'Saved query wrong is not served: its file is wrong',
    'No endpoint has the name or UUID "wrong"',
  ];
  expect(await answerTo({ endpoints: ['wr*'] })).toEqual([404, 'endpoint_not_found', told]);
  expect(await answerTo({ endpoints: ['logs.*'] })).toEqual([404, 'endpoint_not_found', untold]);
  expect(await answerTo({ parameters: { project: 'x' } })).toEqual([404, 'endpoint_not_found', untold]);
  await writeFile(file, text);
  await expect.poll(state).toEqual([200, ['saved_query_broken'], 1, 0]);
});

test('a copied query whose names collide shows there too, and all others are served by GraphQL as well', async () => {
  const before = await state();
  const logs = await readFile(join(gateway.directory, 'sql', 'logs.all.sql'), 'utf8');
  const usage = await readFile(join(gateway.directory, 'sql', 'usage.api-counts.sql'), 'utf8');
  const fresh = (text: string, name: string, digit: number) =>
    text
      .replace(/^id: .*$/m, `id: 00000000-0000-0000-0000-00000000000${digit}`)
      .replace(/^name: .*$/m, `name: ${name}`);
  const copies = {
    // The field of callers' SQL over logs.all, the field of logs.all, and the enum of usage.api-counts.
    'logs.all-sql': fresh(logs, 'logs.all-sql', 1),
    'logs-all': fresh(logs, 'logs-all', 2),
    'usage.copy': fresh(usage, 'usage.copy', 3).replace(/^batch: .*$/m, ''),
  };
  const broken = () =>
    gateway.events.filter(event => event.type === 'endpoint.broken').map(({ file }) => file);
  for (const [at, [name, text]] of Object.entries(copies).entries()) {
    await writeFile(join(gateway.directory, 'sql', `${name}.sql`), text);
    await expect.poll(state).toEqual([200, ['saved_query_broken'], Number(before[2]) + at + 1, 0]);
    expect(broken()).toContain(`${name}.sql`);
    const { status, body } = await gateway.graphql('{ logsAll(project: "x") { id } }');
    expect([status, body]).toMatchObject([200, { data: { logsAll: [] } }]);
    expect((await gateway.get(`/api/endpoints/query/${name}?project=x`)).status).toBe(404);
  }
  for (const name of Object.keys(copies)) await rm(join(gateway.directory, 'sql', `${name}.sql`));
  await expect.poll(state).toEqual(before);
});

test('what is wrong with a saved query or a source is said by its place, and the source goes on as it was', async () => {
  const file = join(gateway.directory, 'sources', 'postgres.logs.yaml');
  const text = await readFile(file, 'utf8');
  await writeFile(file, `${text}nonsense: 1\n`);
  const line = text.split('\n').length;
  const places = () => gateway.get('/readyz').then(({ body }) => body);
  await expect
    .poll(places)
    .toMatchObject({ status: 'ready', broken: ['wrong.sql:1', `postgres.logs.yaml:${line}: nonsense`] });
  expect((await places()).reasons).toEqual(['saved_query_broken', 'source_broken']);
  expect(await metric('sources_broken')).toBe(1);
  expect(await gateway.event('source.broken')).toMatchObject({
    file: 'postgres.logs.yaml',
    message: `postgres.logs.yaml:${line}: nonsense: is not a known key`,
  });
  expect((await gateway.get('/api/endpoints/query/logs.all?project=x')).status).toBe(200);
  await writeFile(file, text);
  await expect.poll(() => metric('sources_broken')).toBe(0);
  // The one file of the source is not there.
  const late = 'name: late\nfiles: [late.csv]\ncolumns: { n: INT64 }\n';
  await writeFile(join(gateway.directory, 'sources', 'late.yaml'), late);
  const query = `/*
id: 00000000-0000-0000-0000-00000000000a
name: late
description: Late.
columns:
  n: { type: INT64, description: N. }
*/
select n from \`late\``;
  await writeFile(join(gateway.directory, 'sql', 'late.sql'), query);
  const message = () =>
    gateway.events.flatMap(event =>
      event.type === 'endpoint.broken' && event.file === 'late.sql' ? [event.message] : [],
    );
  await expect
    .poll(message)
    .toContain(
      'late.sql:8: sql: Table not found: late at [8:15]; the source came after the start: its files are being opened',
    );
  for (const left of ['sources/late.yaml', 'sql/late.sql']) await rm(join(gateway.directory, left));
  await expect.poll(() => metric('endpoints_broken')).toBe(1);
});

test('a disk that is almost full shows in /readyz and the metrics, and rows that can not be written in the log', async () => {
  const before = (await gateway.get('/readyz')).body.reasons;
  freeBytes = 1000;
  expect((await gateway.get('/readyz')).body.reasons).toEqual([...before, 'disk_full']);
  expect(await metric('data_free_bytes')).toBe(1000);
  freeBytes = 1e12;
  expect((await gateway.get('/readyz')).body.reasons).toEqual(before);
  // No file can be made there.
  const folder = rowsFolderOf(join(gateway.directory, 'logs.duckdb'));
  await rm(folder, { recursive: true, force: true });
  await symlink('/proc', folder);
  const answer = await gateway.send('/api/sources/postgres.logs/rows', {
    method: 'POST',
    body: '{"id":"1"}',
  });
  expect([answer.status, answer.body.error.code]).toEqual([503, 'unavailable']);
  expect(await gateway.event('rows.unwritable')).toMatchObject({
    message: expect.stringContaining('ENOENT'),
  });
});

test('tokens that can not be read show until they can', async () => {
  const file = join(gateway.directory, 'tokens.json');
  const before = await state();
  await writeFile(file, 'nonsense');
  await expect.poll(state).toEqual([200, ['saved_query_broken', 'tokens_stale'], before[2], 1]);
  await writeFile(file, '[]');
  await expect.poll(state).toEqual(before);
});

test('requests that are refused for their token are counted by code, fields of GraphQL too', async () => {
  const count = (code: string) => metric(`token_refusals_total\\{code="${code}"\\}`);
  const path = '/api/endpoints/query/logs.all?project=x';
  const token = { 'x-api-key': await gateway.issue({ endpoints: ['none'] }) };
  await gateway.get(path, { 'x-api-key': 'unknown' });
  await gateway.graphql('{ __typename }', {}, { 'x-api-key': 'unknown' });
  await gateway.get('/admin/warm', { 'x-api-key': 'unknown' });
  expect(await count('unauthorized')).toBe(3);
  await gateway.get(path, token);
  await gateway.get('/admin/warm', token);
  await gateway.graphql('{ a: logsAll(project: "x") { id } b: logsAll(project: "y") { id } }', {}, token);
  expect(await count('forbidden')).toBe(4);
  await gateway.get('/api/endpoints/query/none');
  expect(await count('endpoint_not_found')).toBe(0);
});
