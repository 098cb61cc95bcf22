import { beforeAll, describe, expect, test } from 'vitest';
import type { TokenGrants } from '../../src/auth/token-record.ts';
import { edgeRow } from '../support/edge-row.ts';
import { longestTurn } from '../support/longest-turn.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';

const row = {
  ...edgeRow({ id: 'a', timestamp: '2026-01-15T11:59:00Z', project: 'ours' }),
  event_message: 'from 203.0.113.7',
};

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    rows: { 'cloudflare.logs.prod': [row] },
    now: '2026-01-15T12:00:00Z',
    environment: { METRICS_NEED_TOKEN: 'true' },
  });
  return gateway.close;
});

const logs = '/api/endpoints/query/logs.all?project=ours';
const counts = '/api/endpoints/query/usage.api-counts?project=ours&interval=hourly';

const post = (path: string, body: object, headers: Record<string, string>) =>
  gateway.send(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

/** Codes of a failure over either handler; undefined for an answer. */
const codeOf = ({ body }: { body: { error?: { code: string }; errors?: unknown } }) =>
  body.error?.code ?? (body.errors as { extensions: { code: string } }[] | undefined)?.[0]?.extensions.code;

type Ask = (headers: Record<string, string>) => ReturnType<OpenGateway['send']>;

const rights: [right: string, allowed: TokenGrants, refused: TokenGrants, ask: Ask][] = [
  ['sandbox', {}, { without: ['sandbox'] }, h => gateway.get(`${logs}&sql=select+1+as+n`, h)],
  [
    'sandbox, in GraphQL',
    {},
    { without: ['sandbox'] },
    h => gateway.graphql('{ logsAllSql(project: "ours", sql: "select 1 as n") { rows } }', {}, h),
  ],
  [
    'introspect',
    {},
    { without: ['introspect'] },
    h => gateway.graphql('{ __schema { types { name } } }', {}, h),
  ],
  [
    'introspect, in a fragment and by GET',
    {},
    { without: ['introspect'] },
    h => gateway.get('/graphql?query={...f}fragment+f+on+Query{x:__type(name:"Query"){name}}', h),
  ],
  ['explain', { scopes: ['explain'] }, {}, h => gateway.get(`${logs}&explain=true`, h)],
  ['warm', { scopes: ['warm'] }, { scopes: ['invalidate'] }, h => gateway.get('/admin/warm', h)],
  [
    'invalidate',
    { scopes: ['invalidate'] },
    { scopes: ['warm'] },
    h => post('/admin/invalidate', { endpoint: 'logs.all' }, h),
  ],
  ['admin, which is warm', { scopes: ['admin'] }, {}, h => gateway.get('/admin/warm', h)],
  [
    'a saved query by its name',
    { endpoints: ['logs.all'] },
    { endpoints: ['logs'] },
    h => gateway.get(logs, h),
  ],
  [
    'a saved query by a glob',
    { endpoints: ['usage.*'] },
    { endpoints: ['usage*all'] },
    h => gateway.get(counts, h),
  ],
  [
    'a saved query by its UUID',
    { endpoints: ['x', 'logs.*'] },
    { endpoints: ['x'] },
    h => gateway.get(`/endpoints/query/${gateway.endpoint('logs.all').id}?project=ours`, h),
  ],
  [
    'a saved query in GraphQL',
    { endpoints: ['logs.all'] },
    { endpoints: ['usage.*'] },
    h => gateway.graphql('{ logsAll(project: "ours") { id } }', {}, h),
  ],
  [
    'a saved query to be explained',
    { scopes: ['explain'], endpoints: ['logs.all'] },
    { scopes: ['explain'], endpoints: ['usage.*'] },
    h => gateway.get(`${logs}&explain=true`, h),
  ],
  [
    'a saved query to be invalidated',
    { scopes: ['admin'], endpoints: ['logs.all'] },
    { scopes: ['admin'], endpoints: ['usage.*'] },
    h => post('/admin/invalidate', { endpoint: 'logs.all' }, h),
  ],
];

test.each(rights)('contract 8.6: %s', async (_right, allowed, refused, ask) => {
  const answer = await ask({ 'x-api-key': await gateway.issue(allowed) });
  expect([answer.status, codeOf(answer)]).toEqual([200, undefined]);
  const refusal = await ask({ 'x-api-key': await gateway.issue(refused) });
  expect(codeOf(refusal)).toBe('forbidden');
  // A field that fails leaves its neighbours their rows, so the operation is a 200.
  if (refusal.body.error) expect(refusal.status).toBe(403);
});

test('contract 11.2: a long name takes no longer where a token covers saved queries by several stars', async () => {
  const token = await gateway.issue({ endpoints: ['*.a.*'] });
  const name = `${'.a.'.repeat(20_000)}%0A`;
  const ask = () => gateway.get(`/api/endpoints/query/${name}`, { 'x-api-key': token });
  const { result, turnMs } = await longestTurn(ask);
  expect([result.status, turnMs < 100]).toEqual([404, true]);
});

test('an answer that one token may have is not repeated for another', async () => {
  const [allowed, refused] = [await gateway.issue(), await gateway.issue({ endpoints: ['logs.all'] })];
  const statuses = [];
  for (const token of [allowed, allowed, allowed, refused, allowed]) {
    statuses.push((await gateway.get(counts, { 'x-api-key': token })).status);
  }
  expect(statuses).toEqual([200, 200, 200, 403, 200]);
});

test('GET /metrics is for tokens with the scope where the settings say so', async () => {
  const statusOf = async (token: string) =>
    (await fetch(`${gateway.origin}/metrics`, { headers: { 'x-api-key': token } })).status;
  const tokens = ['none', await gateway.issue(), await gateway.issue({ scopes: ['metrics'] }), testToken];
  expect(await Promise.all(tokens.map(statusOf))).toEqual([401, 403, 200, 200]);
});

test('GET /admin/warm shows the saved queries that the token covers', async () => {
  await gateway.get(counts);
  await gateway.until(() => gateway.events.some(({ type }) => type === 'endpoint.answered'));
  const groupsOf = async (endpoints: string[]) => {
    const token = await gateway.issue({ scopes: ['warm'], endpoints });
    return (await gateway.get('/admin/warm', { 'x-api-key': token })).body.groups.length;
  };
  await expect.poll(() => groupsOf(['usage.*'])).toBeGreaterThan(0);
  expect(await groupsOf(['logs.*'])).toBe(0);
});

describe('force-redact', () => {
  test.each([
    ['without a word', {}],
    ['against the request', { 'lf-endpoint-redact-pii': 'false' }],
  ])('redacts %s', async (_what, headers) => {
    const forced = { 'x-api-key': await gateway.issue({ scopes: ['force-redact'] }), ...headers };
    const { body } = await gateway.get(logs, forced);
    expect(body.result[0].event_message).toBe('from REDACTED');
    const graphql = await gateway.graphql('{ logsAll(project: "ours") { eventMessage } }', {}, forced);
    expect(graphql.body.data.logsAll[0].eventMessage).toBe('from REDACTED');
    expect((await gateway.get(logs, headers)).body.result[0].event_message).toBe('from 203.0.113.7');
  });
});
