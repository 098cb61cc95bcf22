import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { writeOperations } from '../../src/commands/write-operations.ts';
import { createDocumentStore } from '../../src/composition/document-store.ts';
import { readOperationList } from '../../src/graphql/operation-list.ts';
import { createMemoryStore } from '../../src/store/memory-store.ts';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';
import { createStandingClock } from '../support/standing-clock.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const rows = {
  'cloudflare.logs.prod': [edgeRow({ id: 'a', timestamp: '2026-01-15T11:59:00Z', project: 'ours' })],
};

async function open(
  environment: Record<string, string> = {},
  fill?: (directory: string) => Promise<void>,
): Promise<OpenGateway> {
  const gateway = await openGateway({
    rows,
    now: '2026-01-15T12:00:00Z',
    environment,
    ...(fill && { fill }),
  });
  onTestFinished(() => gateway.close());
  return gateway;
}

/** For what leaves nothing behind, and for documents of their own. */
let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({ rows, now: '2026-01-15T12:00:00Z' });
  return gateway.close;
});

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const query = 'query Logs($project: String!) { logsAll(project: $project) { id } }';
const variables = { project: 'ours' };
const persisted = (hash: string) => ({ persistedQuery: { version: 1, sha256Hash: hash } });

const post = (gateway: OpenGateway, body: object) =>
  gateway.send('/graphql', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

const errorOf = ({ body }: { body: { errors?: { message: string; extensions: { code: string } }[] } }) => [
  body.errors?.[0]?.message,
  body.errors?.[0]?.extensions.code,
];

/** Asks as Apollo's and urql's links do: the hash alone, and with the document where that is not known. */
async function askAsALink(gateway: OpenGateway, document = query): Promise<{ sent: number; data: unknown }> {
  const extensions = persisted(sha256(document));
  const first = await post(gateway, { variables, extensions });
  if (errorOf(first)[0] !== 'PersistedQueryNotFound') return { sent: 1, data: first.body.data };
  expect([first.status, errorOf(first)[1]]).toEqual([200, 'persisted_query_not_found']);
  return { sent: 2, data: (await post(gateway, { query: document, variables, extensions })).body.data };
}

describe('an automatic persisted query', () => {
  const data = { logsAll: [{ id: 'a' }] };

  test('is sent in full once, then by its hash, by POST and by GET', async () => {
    expect(await askAsALink(gateway)).toEqual({ sent: 2, data });
    expect(await askAsALink(gateway)).toEqual({ sent: 1, data });
    const search = new URLSearchParams({
      variables: JSON.stringify(variables),
      extensions: JSON.stringify(persisted(sha256(query).toUpperCase())),
    });
    expect((await gateway.get(`/graphql?${search}`)).body.data).toEqual(data);
  });

  test('may have null or no text in place of the document', async () => {
    await askAsALink(gateway);
    for (const nothing of ['', null]) {
      const asked = { query: nothing, variables, extensions: persisted(sha256(query)) };
      expect((await post(gateway, asked)).body.data).toEqual(data);
    }
  });

  test('is known to all gateways over one Redis, and asked for again where it is gone', async () => {
    const redis: RedisServer = await startRedisServer();
    const one = await open({ REDIS_URL: redis.url });
    const fill = (directory: string) => cp(one.directory, directory, { recursive: true });
    const other = await open({ REDIS_URL: redis.url }, fill);
    await askAsALink(one);
    await expect.poll(async () => (await askAsALink(other)).sent).toBe(1);
    await redis.stop();
    expect(await askAsALink(one)).toEqual({ sent: 1, data });
    const next = `${query} # another`;
    expect(await askAsALink(one, next)).toEqual({ sent: 2, data });
  });

  test('contract 11.3: new ones push out no entries: 1 MiB of them a minute goes to the store', async () => {
    const clock = createStandingClock('2026-01-15T12:00:00Z');
    const store = createMemoryStore({ maxBytes: 64 * 1024 * 1024, clock });
    const documents = createDocumentStore(store, clock);
    const texts = Array.from({ length: 40 }, (_, at) => `{ __typename } # ${at}${'x'.repeat(64_000)}`);
    const known = async () => {
      const found = texts.map(text => createDocumentStore(store, clock).find(sha256(text)));
      return (await Promise.all(found)).filter(text => text !== undefined).length;
    };
    for (const text of texts) documents.keep(sha256(text), text);
    await expect.poll(known).toBe(16);
    clock.advance(60_000);
    const late = texts.at(-1)!.replace('# ', '# late ');
    documents.keep(sha256(late), late);
    await expect.poll(() => createDocumentStore(store, clock).find(sha256(late))).toBe(late);
    // Here it is known as before.
    expect(await documents.find(sha256(texts.at(-1)!))).toBe(texts.at(-1));
  });

  test('is kept only if it is valid, and under its own hash', async () => {
    const invalid = '{ nothing }';
    const extensions = persisted(sha256(invalid));
    expect(errorOf(await post(gateway, { query: invalid, extensions }))[1]).toBe('invalid_graphql');
    expect(errorOf(await post(gateway, { extensions }))[1]).toBe('persisted_query_not_found');
    const wrong = await post(gateway, { query, variables, extensions: persisted(sha256('other')) });
    expect([wrong.status, errorOf(wrong)[1]]).toEqual([400, 'invalid_graphql']);
    expect(errorOf(await post(gateway, { extensions: persisted(sha256('other')) }))[1]).toBe(
      'persisted_query_not_found',
    );
  });

  test.each([
    [{ version: 2, sha256Hash: sha256(query) }],
    [{ version: 1, sha256Hash: 'x' }],
    [{ version: 1 }],
    [7],
  ])('%j is refused', async persistedQuery => {
    const answer = await post(gateway, { query, variables, extensions: { persistedQuery } });
    expect([answer.status, errorOf(answer)[1]]).toEqual([400, 'invalid_graphql']);
  });
});

describe('with a list of documents', () => {
  async function list(texts: Record<string, string>): Promise<string> {
    const directory = await temporaryDirectory();
    await mkdir(join(directory, 'documents', 'more'), { recursive: true });
    for (const [name, text] of Object.entries(texts)) {
      await writeFile(join(directory, 'documents', name), text);
    }
    const file = join(directory, 'operations.json');
    await writeOperations('sql', join(directory, 'documents'), file);
    return file;
  }

  test('these are executed, by hash or in full, and no others', async () => {
    const file = await list({ 'logs.graphql': query, 'more/type.gql': '{ __typename }', 'notes.md': 'x' });
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({
      [sha256(query)]: query,
      [sha256('{ __typename }')]: '{ __typename }',
    });
    const gateway = await open({ GRAPHQL_OPERATIONS_FILE: file });
    const data = { logsAll: [{ id: 'a' }] };
    expect((await post(gateway, { extensions: persisted(sha256(query)), variables })).body.data).toEqual(
      data,
    );
    expect((await post(gateway, { query, variables })).body.data).toEqual(data);
    expect((await gateway.get('/graphql?query={+__typename+}')).body.data).toEqual({ __typename: 'Query' });
    const other = '{ logsAll(project: "ours") { id } }';
    for (const body of [
      { query: other },
      { query: other, extensions: persisted(sha256(other)) },
      { query: other, extensions: persisted(sha256(query)) },
      { extensions: persisted(sha256(other)) },
      { query: '{ __schema { types { name } } }' },
    ]) {
      const answer = await post(gateway, { variables, ...body });
      expect([body, answer.status, errorOf(answer)[1]]).toEqual([body, 403, 'forbidden']);
    }
    expect((await post(gateway, { variables })).status).toBe(400);
  });

  test('one that does not fit the schema is named with its line, and nothing is written', async () => {
    await expect(list({ 'wrong.graphql': '{\n  nothing\n}', 'broken.gql': '{' })).rejects.toThrow(
      /broken\.gql:1: Syntax Error.*\n.*wrong\.graphql:2: Cannot query field "nothing"/,
    );
    await expect(list({})).rejects.toThrow('no .graphql or .gql file');
  });

  test.each([
    ['nonsense', 'Unexpected token'],
    ['{"a": 1}', 'expected string'],
    [JSON.stringify({ [sha256('x')]: query }), 'is not the hash of its document'],
  ])('a list that is %j is refused', async (text, message) => {
    const file = join(await temporaryDirectory(), 'operations.json');
    await writeFile(file, text);
    await expect(readOperationList(file)).rejects.toThrow(message);
  });
});

describe('what a page of another origin could send', () => {
  test.each([
    ['application/x-www-form-urlencoded', 'query={__typename}'],
    [
      'multipart/form-data; boundary=x',
      '--x\r\ncontent-disposition: form-data; name="query"\r\n\r\n{__typename}\r\n--x--',
    ],
    ['text/plain', '{"query":"{__typename}"}'],
    ['application/graphql', '{__typename}'],
    ['', '{"query":"{__typename}"}'],
    [undefined, '{"query":"{__typename}"}'],
  ])('in %j is 415', async (type, body) => {
    const answer = await gateway.send('/graphql', {
      method: 'POST',
      headers: type === undefined ? {} : { 'content-type': type },
      body: Buffer.from(body),
    });
    const given = type === undefined ? 'missing' : JSON.stringify(type);
    const message = `Content-Type is ${given}; allowed: application/json`;
    expect([answer.status, ...errorOf(answer)]).toEqual([415, message, 'unsupported_media_type']);
  });

  test('without a token is 401, and a mutation by GET is refused', async () => {
    expect((await gateway.get('/graphql?query={__typename}', { 'x-api-key': '' })).status).toBe(401);
    const mutation = await gateway.get('/graphql?query=mutation{__typename}');
    expect(mutation.status).toBe(405);
    expect(errorOf(mutation)[1]).toBe('method_not_allowed');
  });
});
