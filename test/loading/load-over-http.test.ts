import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const table = (name: string) => `name: ${name}
columns:
  order_id: { type: INT64, required: true }
  state: STRING
  lines:
    type: STRUCT
    repeated: true
    fields: { sku: STRING }
`;

const query = (name: string, id: number, cacheSeconds: number, source: string) => `/*
id: 5b6c7d8e-1111-4222-8333-94445555666${id}
name: ${name}
description: Orders by state.
columns:
  state: { type: STRING, required: true, description: State. }
  orders: { type: INT64, required: true, description: Orders. }
  lines: { type: INT64, required: true, description: Lines. }
cacheSeconds: ${cacheSeconds}
*/
select state, count(*) as orders, ifnull(sum(array_length(lines)), 0) as \`lines\` from \`${source}\` group by state order by state
`;

/** Two subsets, of which it reads one itself. */
const subsets = `/*
id: 5b6c7d8e-1111-4222-8333-944455556663
name: shop.subsets
description: Orders.
columns:
  state: { type: STRING, description: State. }
cacheSeconds: 600
sandbox: true
*/
with orders as (select state from \`shop.orders\`), notes as (select state from \`shop.notes\`)
select state from orders
`;

let gateway: OpenGateway;

beforeAll(async () => {
  gateway = await openGateway({
    sources: {
      'shop.orders.yaml': table('shop.orders'),
      'shop.events.yaml': table('shop.events'),
      'shop.hostile.yaml': table('shop.hostile'),
      'shop.notes.yaml': table('shop.notes'),
      'shop.visits.yaml': `${table('shop.visits')}  at: TIMESTAMP\ntime: at\n`,
      'shop.files.yaml': 'name: shop.files\nfiles: [nothing.csv]\ncolumns: { a: STRING }\n',
    },
    sqlFiles: {
      'shop.now.sql': query('shop.now', 0, 0, 'shop.orders'),
      'shop.visited.sql': query('shop.visited', 2, 0, 'shop.visits'),
      'shop.kept.sql': query('shop.kept', 1, 600, 'shop.events'),
      'shop.subsets.sql': subsets,
    },
    environment: { RETENTION_DAYS: '2' },
    tokens: { reader: {}, bound: { scopes: ['write'], parameters: { project: 'abc' } } },
  });
});

afterAll(() => gateway.close());

const post = (source: string, lines: readonly (object | string)[], token?: string) =>
  gateway.send(`/api/sources/${source}/rows`, {
    method: 'POST',
    body: lines.map(line => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
    headers: token === undefined ? {} : { 'x-api-key': token },
  });

const ask = async (name: string) => (await gateway.get(`/api/endpoints/query/${name}`)).body.result;

/** Waits until the rows can be seen. */
const sees = (name: string, rows: object[]) => expect.poll(() => ask(name)).toEqual(rows);

test('rows that were acknowledged are seen once, and lines that are none are reported', async () => {
  const answer = await post('shop.orders', [
    { order_id: 1, state: 'open', lines: [{ sku: 'a' }] },
    { order_id: 'x', state: 'open' },
    'no JSON',
    { order_id: 2, state: 'paid', colour: 'red' },
  ]);
  expect(answer.status).toBe(200);
  expect(answer.body).toEqual({
    rows: 2,
    rejected: 2,
    problems: [
      { line: 2, reason: 'order_id is "x"; allowed: a 64-bit integer' },
      { line: 3, reason: expect.stringContaining('JSON') },
    ],
    ignoredFields: ['colour'],
    epochUnits: {},
  });
  await sees('shop.now', [
    { state: 'open', orders: 1, lines: 1 },
    { state: 'paid', orders: 1, lines: 0 },
  ]);
});

test('a record that gets a second element widens the table under the readers', async () => {
  await post('shop.orders', [{ order_id: 3, state: 'sent', lines: [{ sku: 'a' }, { sku: 'b' }] }]);
  await sees('shop.now', [
    { state: 'open', orders: 1, lines: 1 },
    { state: 'paid', orders: 1, lines: 0 },
    { state: 'sent', orders: 1, lines: 2 },
  ]);
});

test('requests at the same time lose and double nothing', async () => {
  const requests = Array.from({ length: 20 }, (_, at) =>
    post(
      'shop.orders',
      Array.from({ length: 50 }, (_, row) => ({ order_id: at * 50 + row, state: 'many' })),
    ),
  );
  expect((await Promise.all(requests)).map(({ status }) => status)).toEqual(Array(20).fill(200));
  await expect
    .poll(async () => (await ask('shop.now')).find(({ state }: { state: string }) => state === 'many'))
    .toEqual({ state: 'many', orders: 1000, lines: 0 });
});

test('an entry is void after the first load, and stale while rows keep coming', async () => {
  let headers = new Headers();
  const state = async () => {
    ({ headers } = await gateway.get('/api/endpoints/query/shop.kept'));
    return headers.get('x-cache');
  };
  expect(await state()).toBe('MISS');
  gateway.clock.advance(1000);
  expect(await state()).toBe('HIT');
  await post('shop.events', [{ order_id: 4, state: 'void' }]);
  await expect.poll(state).toBe('MISS');
  // Its query began in the same millisecond as the mark: it may lack rows, so nobody is to keep it either.
  expect(headers.get('cache-control')).toContain(' max-age=0,');
  expect(await ask('shop.kept')).toContainEqual({ state: 'void', orders: 1, lines: 0 });
  gateway.clock.advance(1000);
  await expect.poll(state).toBe('HIT');
  await post('shop.events', [{ order_id: 5, state: 'stale' }]);
  await expect.poll(state).toBe('STALE');
  // Nor may a browser or a proxy go on with it, however new it is.
  expect(headers.get('cache-control')).toContain(` max-age=${headers.get('age')},`);
  expect(headers.get('cache-status')).toBe('saved-query-gateway; hit; ttl=0');
  await sees('shop.kept', expect.arrayContaining([{ state: 'stale', orders: 1, lines: 0 }]));
});

test("a caller's SQL over a subset that the saved query itself does not read sees new rows too", async () => {
  const sql = encodeURIComponent('select count(*) as n from notes');
  const count = async () => (await gateway.get(`/api/endpoints/query/shop.subsets?sql=${sql}`)).body.result;
  expect(await count()).toEqual([{ n: 0 }]);
  gateway.clock.advance(1000);
  await post('shop.notes', [{ order_id: 7, state: 'new' }]);
  await expect.poll(count).toEqual([{ n: 1 }]);
});

test.each([
  ['a source that is none', 'shop.nothing', undefined, 404, 'source_not_found'],
  ['a source that reads its files in place', 'shop.files', undefined, 400, 'invalid_request'],
  ['a token without the scope', 'shop.orders', 'reader', 403, 'forbidden'],
  ['a token that fixes parameters', 'shop.orders', 'bound', 403, 'forbidden'],
])('%s takes no rows', async (_what, source, token, status, code) => {
  const answer = await post(source, [{ order_id: 6 }], token && gateway.token(token));
  expect([answer.status, answer.body.error.code]).toEqual([status, code]);
});

test('of a source that is none, the one that was meant is said', async () => {
  const { body } = await post('shop.ordres', [{ order_id: 6 }]);
  expect(body.error.message).toBe('No source is named "shop.ordres"; Did you mean shop.orders?');
});

test('a body without a good line is refused', async () => {
  const answer = await post('shop.orders', [{ state: 'none' }]);
  expect([answer.status, answer.body.error.message]).toEqual([
    400,
    'None of the 1 lines is a row of shop.orders; line 1: order_id is missing',
  ]);
  const empty = await post('shop.orders', []);
  expect([empty.status, empty.body.error.message]).toEqual([400, 'The request body has no row']);
});

const deep = '['.repeat(100_000) + ']'.repeat(100_000);

test.each([
  ['nested too deep to be read exactly', `{"order_id":9007199254740993,"state":${deep}}`],
  ['of fifteen million digits', `{"order_id":${'1'.repeat(15_000_000)}}`],
])('a line %s is rejected, and the others are taken (contract 11.1)', async (_what, line) => {
  const answer = await post('shop.hostile', [line, { order_id: 3, state: 'hostile' }]);
  expect([answer.status, answer.body]).toMatchObject([
    200,
    { rows: 1, rejected: 1, problems: [{ line: 1 }] },
  ]);
});

test.each([
  ['a line without an end', 'x'.repeat(17 * 1024 * 1024), 'The request body has a line of more than 16 MiB'],
  [
    'nothing but line ends',
    '\n'.repeat(1_000_000),
    'The request body has more than 100000 lines that are not rows',
  ],
  [
    'lines that are not rows',
    '{}\n'.repeat(100_001),
    'The request body has more than 100000 lines that are not rows',
  ],
])('contract 11.3: %s is a 400, for all of it', async (_what, line, message) => {
  const answer = await post('shop.hostile', [{ order_id: 4, state: 'lost' }, line]);
  expect([answer.status, answer.body.error]).toMatchObject([400, { code: 'invalid_body', message }]);
});

// The last one: it moves the clock by days.
test('rows that grow too old while the gateway runs go by themselves, but not where its clock was set ahead', async () => {
  const at = new Date(gateway.clock.now()).toISOString();
  await post('shop.visits', [
    { order_id: 1, state: 'old', at },
    { order_id: 2, state: 'timeless' },
  ]);
  const timeless = { state: 'timeless', orders: 1, lines: 0 };
  await sees('shop.visited', [{ state: 'old', orders: 1, lines: 0 }, timeless]);
  const days = 3 * 86_400_000;
  gateway.clock.set(days);
  expect(await gateway.event('clock.doubted')).toEqual({ type: 'clock.doubted', aheadMs: days });
  await post('shop.visits', [{ order_id: 3, state: 'young', at }]);
  await sees('shop.visited', [
    { state: 'old', orders: 1, lines: 0 },
    timeless,
    { state: 'young', orders: 1, lines: 0 },
  ]);
  gateway.clock.set(-days);
  gateway.clock.advance(days);
  await sees('shop.visited', [timeless]);
});

test('a source that is added while the gateway serves takes rows, and saved queries read it', async () => {
  const status = async () => (await post('shop.late', [{ order_id: 1, state: 'open' }])).status;
  expect(await status()).toBe(404);
  await writeFile(join(gateway.directory, 'sources', 'shop.late.yaml'), table('shop.late'));
  await expect.poll(status).toBe(200);
  expect(await gateway.event('source.loaded')).toMatchObject({ source: 'shop.late' });
  await writeFile(join(gateway.directory, 'sql', 'shop.late.sql'), query('shop.late', 4, 0, 'shop.late'));
  await sees('shop.late', [{ state: 'open', orders: 1, lines: 0 }]);
});

test('a source of files that is added while the gateway serves is read by saved queries, also beside one whose files are missing', async () => {
  const add = (name: string, files: string) =>
    writeFile(
      join(gateway.directory, 'sources', `${name}.yaml`),
      `${table(name)}files: [${join(gateway.directory, files)}]\n`,
    );
  await writeFile(join(gateway.directory, 'late.ndjson'), '{"order_id":1,"state":"open"}\n');
  await add('shop.missing', 'missing.ndjson');
  await add('shop.read', 'late.ndjson');
  await expect
    .poll(() => gateway.events)
    .toContainEqual(expect.objectContaining({ type: 'source.unreadable', source: 'shop.missing' }));
  await writeFile(join(gateway.directory, 'sql', 'shop.read.sql'), query('shop.read', 5, 0, 'shop.read'));
  await sees('shop.read', [{ state: 'open', orders: 1, lines: 0 }]);
  expect((await post('shop.read', [{ order_id: 2 }])).status).toBe(400);
  expect(await ask('shop.late')).toHaveLength(1);
});
