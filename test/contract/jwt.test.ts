import { createHmac } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const secret = 'a secret of more than 32 characters, as it must be';

let gateway: OpenGateway;
beforeAll(async () => {
  const row = (id: string, project: string) => edgeRow({ id, timestamp: '2026-01-15T11:59:00Z', project });
  gateway = await openGateway({
    rows: { 'cloudflare.logs.prod': [row('a', 'ours'), row('b', 'theirs')] },
    now: '2026-01-15T12:00:00Z',
    environment: {
      JWT_ISSUER: 'issuer',
      JWT_AUDIENCE: 'queries',
      JWT_SECRET: secret,
      JWT_PARAMETER_CLAIMS: 'project=ref',
    },
  });
  return gateway.close;
});

function bearer(more: object): { authorization: string } {
  const exp = Math.floor(gateway.clock.now() / 1000) + 60;
  const claims = { iss: 'issuer', aud: 'queries', sub: 'ada', exp, ...more };
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${encode({ alg: 'HS256' })}.${encode(claims)}`;
  return { authorization: `Bearer ${text}.${createHmac('sha256', secret).update(text).digest('base64url')}` };
}

const counts = '/api/endpoints/query/usage.api-counts?interval=hourly';
const logs = '/api/endpoints/query/logs.all';

test('contract 8.10: a JWT is a token over REST and GraphQL, with the scopes and the fixed parameters of its claims', async () => {
  const ours = bearer({ ref: 'ours' });
  const { body } = await gateway.get(logs, ours);
  expect(body.result.map(({ id }: { id: string }) => id)).toEqual(['a']);
  expect((await gateway.get(`${logs}?project=theirs`, ours)).status).toBe(403);
  expect((await gateway.get(`${logs}?sql=select+1+as+n`, ours)).status).toBe(403);
  expect(
    (await gateway.get(`${logs}?sql=select+1+as+n`, bearer({ ref: 'ours', scope: 'sandbox' }))).status,
  ).toBe(200);
  const field = (project: string) => gateway.graphql(`{ logsAll(project: "${project}") { id } }`, {}, ours);
  expect((await field('ours')).body.data.logsAll).toEqual([{ id: 'a' }]);
  expect((await field('theirs')).body.errors[0].extensions.code).toBe('forbidden');
  expect((await gateway.get('/admin/warm', ours)).status).toBe(403);
  expect((await gateway.get('/admin/warm', bearer({ ref: 'x', scope: 'warm' }))).status).toBe(200);
  expect((await gateway.get(logs, bearer({}))).status).toBe(401);
});

test('contract 8.10: an answer that is repeated ends with its token', async () => {
  const ours = bearer({ ref: 'ours' });
  const ask = async () => {
    const { status, headers } = await gateway.get(counts, ours);
    return [status, headers.get('x-cache')];
  };
  expect(await ask()).toEqual([200, 'MISS']);
  for (let n = 0; n < 3; n++) expect(await ask()).toEqual([200, 'HIT']);
  gateway.clock.advance(90_000);
  expect((await ask())[0]).toBe(401);
});

test('contract 8.7, 8.10: a subject has its limits by whichever way it asks', async () => {
  const poor = bearer({ sub: 'poor', ref: 'ours', sqg_limits: { requestsPerMinute: 3 } });
  const again = bearer({ sub: 'poor', ref: 'ours', jti: 'another', sqg_limits: { requestsPerMinute: 3 } });
  const statuses = [(await gateway.get(counts, poor)).status, (await gateway.get(logs, again)).status];
  for (let n = 0; n < 2; n++) {
    statuses.push((await gateway.graphql('{ logsAll(project: "ours") { id } }', {}, poor)).status);
  }
  statuses.push((await gateway.get(counts, again)).status);
  expect(statuses).toEqual([200, 200, 200, 429, 429]);
  const fat = bearer({ sub: 'fat', ref: 'ours', sqg_limits: { bytesPerDay: 1 } });
  expect((await gateway.get(logs, fat)).status).toBe(200);
  const refused = await gateway.get(logs, fat);
  expect([refused.status, refused.body.error.code]).toEqual([429, 'quota_exceeded']);
  expect((await gateway.get(counts, bearer({ ref: 'ours' }))).status).toBe(200);
});

test('contract 8.4, 8.10: revoked by what the log shows of it, a subject is refused with all that is repeated for it', async () => {
  const ours = bearer({ sub: 'thief', ref: 'ours', jti: 'stolen' });
  for (let n = 0; n < 3; n++) expect((await gateway.get(counts, ours)).status).toBe(200);
  const answered = gateway.events.findLast(({ type }) => type === 'endpoint.answered');
  const { tokenId } = answered as Extract<typeof answered, { type: 'endpoint.answered' }>;
  for (const id of [tokenId, 'jti:stolen']) {
    await gateway.tokenCommand('revoke', id);
    expect((await gateway.get(counts, ours)).status).toBe(401);
    expect((await gateway.graphql('{ logsAll(project: "ours") { id } }', {}, ours)).status).toBe(401);
    const status = (await gateway.get(counts, bearer({ sub: 'thief', ref: 'ours', jti: 'next' }))).status;
    expect(status).toBe(id === tokenId ? 401 : 200);
    await gateway.tokenCommand('allow', id);
    expect((await gateway.get(counts, ours)).status).toBe(200);
  }
});

test.each([
  [{ JWT_LIMITS: 'requestsPerHour=1' }, 'JWT_LIMITS: '],
  [{ JWT_LIMITS: 'burst=5' }, 'JWT_LIMITS: burst is a part of requestsPerSecond'],
  [{ JWT_LIMITS: 'requestsPerMinute=many' }, 'JWT_LIMITS: '],
  [{ JWT_MAX_AGE_SECONDS: '0' }, 'JWT_MAX_AGE_SECONDS: '],
  [{ JWT_ISSUER: 'x' }, 'JWT_AUDIENCE: needed'],
  [{ JWT_SECRET: secret }, 'JWT_ISSUER: needed'],
  [{ JWT_ISSUER: 'x', JWT_AUDIENCE: 'y' }, 'JWT_JWKS_URL: this or JWT_SECRET'],
  [{ JWT_ISSUER: 'x', JWT_AUDIENCE: 'y', JWT_SECRET: 'short' }, 'JWT_SECRET: '],
  [{ JWT_JWKS_URL: 'http://issuer.example/keys' }, 'JWT_JWKS_URL: must be https:'],
  [{ JWT_PARAMETER_CLAIMS: 'project' }, 'JWT_PARAMETER_CLAIMS: must be parameter=claim'],
])('the settings %j are refused', async (environment, message) => {
  await expect(openGateway({ environment })).rejects.toThrow(message);
});
