import { beforeAll, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const rows = {
  'cloudflare.logs.prod': [edgeRow({ id: 'a', timestamp: '2026-01-15T11:59:00Z', project: 'ours' })],
};

const cached = `/*
id: 7e57ab1e-0000-4000-8000-000000000501
name: cached.since
description: Rows since a time, cached.
parameters:
  since: { type: timestamp, description: Bound. }
columns:
  id: { type: STRING, description: Id. }
cacheSeconds: 100
sandbox: true
*/
with logs as (select id, timestamp from \`cloudflare.logs.prod\` where @since is null or timestamp > cast(@since as timestamp))
select id from logs order by id`;

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    rows,
    now: '2026-01-15T12:00:00Z',
    sqlFiles: { 'cached.since.sql': cached },
  });
  return gateway.close;
});

const stateOf = async (parameters: Record<string, string>, reference = 'cached.since') => {
  const query = new URLSearchParams(parameters);
  const { status, headers } = await gateway.get(`/api/endpoints/query/${reference}?${query}`);
  expect(status).toBe(200);
  return headers.get('x-cache');
};

test('contract 5.1: values, not their spelling, make an entry', async () => {
  expect(await stateOf({ since: '2026-01-15T10:00:00Z' })).toBe('MISS');
  for (const since of ['2026-01-15 10:00:00', '2026-01-15T12:00:00.000+02:00']) {
    expect(await stateOf({ since })).toBe('HIT');
  }
  expect(await stateOf({ since: '2026-01-15T10:00:00.000001Z' })).toBe('MISS');
});

test('contract 5.1: a caller’s SQL has an entry of its own', async () => {
  const since = '2026-01-14T00:00:00Z';
  expect(await stateOf({ since })).toBe('MISS');
  expect(await stateOf({ since, sql: 'select id from logs' })).toBe('MISS');
  expect(await stateOf({ since, sql: 'select id from logs where false' })).toBe('MISS');
  expect(await stateOf({ since, sql: 'select id from logs' })).toBe('HIT');
  expect(await stateOf({ since, sql: '' })).toBe('HIT');
});

test('contract 5.1: white space, comments and the case of reserved words make no other entry', async () => {
  const since = '2026-01-12T00:00:00Z';
  expect(await stateOf({ since, sql: "select id as Id, ' A  b' as x from logs" })).toBe('MISS');
  const alike = [
    "SELECT\n  id AS Id, ' A  b' As x\nFROM logs -- all of them",
    "/* rows */ select id as Id,' A  b'as x from logs# end",
  ];
  for (const sql of alike) expect(await stateOf({ since, sql })).toBe('HIT');
  const others = ["select id as ID, ' A  b' as x from logs", "select id as Id, ' A b' as x from logs"];
  for (const sql of others) expect(await stateOf({ since, sql })).toBe('MISS');
});

test('contract 2.17: an error names the place in the text of its own caller', async () => {
  const texts = ['select nope from logs', '\n\nselect   nope from logs'];
  const answers = await Promise.all(
    texts.map(sql => gateway.get(`/api/endpoints/query/cached.since?${new URLSearchParams({ sql })}`)),
  );
  expect(answers.map(({ body: { error } }) => [error.errors[0].line, error.errors[0].column])).toEqual([
    [1, 8],
    [3, 10],
  ]);
});

test('contract 2.7: parameters that are not declared make no other entry', async () => {
  const since = '2026-01-13T00:00:00Z';
  expect(await stateOf({ since })).toBe('MISS');
  expect(await stateOf({ since, color: 'red', project: 'ours' })).toBe('HIT');
});

test('contract 5.2: an entry is named by all 256 bits of a hash', async () => {
  const keyOf = async (since: string) => {
    const query = new URLSearchParams({ since, explain: 'true' });
    return (await gateway.get(`/api/endpoints/query/cached.since?${query}`)).body.explain.cache_key;
  };
  const key = await keyOf('2026-01-12T00:00:00Z');
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(await keyOf('2026-01-12T00:00:00.000001Z')).not.toBe(key);
});

test('contract 5.3: name and UUID, REST and GraphQL have one entry', async () => {
  const since = '2026-01-11T00:00:00Z';
  const { id } = gateway.endpoint('cached.since');
  expect(await stateOf({ since }, id.toUpperCase())).toBe('MISS');
  expect(await stateOf({ since }, 'cached.since')).toBe('HIT');
  const { body } = await gateway.graphql(`{ cachedSince(since: "${since}") { id } }`);
  expect(body.extensions.cache).toMatchObject([{ state: 'hit' }]);
});
