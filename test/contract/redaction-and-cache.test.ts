import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';
import { type RedisServer, startRedisServer } from '../support/redis-server.ts';

const address = '203.0.113.7';
const rows = {
  'cloudflare.logs.prod': ['ours', 'theirs'].map(project => ({
    ...edgeRow({ id: project, timestamp: '2026-01-15T11:59:00Z', project }),
    event_message: `${project} from ${address} `.repeat(60),
  })),
};

const cachedRows = `/*
id: 7e57ab1e-0000-4000-8000-000000000003
name: cached.rows
description: Rows of a project, cached.
parameters:
  project: { type: string, required: true, description: Reference of the project. }
columns:
  id: { type: STRING, description: Id. }
  event_message: { type: STRING, description: Message. }
cacheSeconds: 100
*/
select id, event_message from \`cloudflare.logs.prod\` where project = @project order by id`;

let redis: RedisServer;
let gateways: readonly OpenGateway[];
beforeAll(async () => {
  redis = await startRedisServer();
  const options = { rows, now: '2026-01-15T12:00:00Z', sqlFiles: { 'cached.rows.sql': cachedRows } };
  const memory = { REDIS_URL: redis.url };
  const alone = { ...memory, CACHE_MEMORY_MB: '0' };
  gateways = [
    await openGateway({ ...options, environment: memory }),
    await openGateway({ ...options, environment: alone }),
  ];
  return async () => {
    await Promise.all(gateways.map(gateway => gateway.close()));
    await redis.stop();
  };
});

const question = fc.record({
  gateway: fc.nat(1),
  handler: fc.constantFrom('rest', 'graphql'),
  project: fc.constantFrom('ours', 'theirs'),
  redact: fc.constantFrom('true', 'false', undefined),
  coding: fc.constantFrom('gzip', 'br', 'zstd', undefined),
  passMs: fc.constantFrom(0, 0, 0, 99_000, 101_000),
});

test('contract 5.4: redacted and unredacted callers never see each other’s form, nor two projects each other’s rows', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(question, { maxLength: 12 }), async questions => {
      for (const { gateway, handler, project, redact, coding, passMs } of questions) {
        for (const { clock } of gateways) clock.advance(passMs);
        const headers = {
          ...(redact && { 'lf-endpoint-redact-pii': redact }),
          'accept-encoding': coding ?? 'identity',
        };
        const asked = gateways[gateway]!;
        const { status, text } =
          handler === 'rest'
            ? await asked.get(`/api/endpoints/query/cached.rows?project=${project}`, headers)
            : await asked.graphql(`{ cachedRows(project: "${project}") { id eventMessage } }`, {}, headers);
        expect(status).toBe(200);
        expect(text.includes(address)).toBe(redact !== 'true');
        expect(text.includes('REDACTED')).toBe(redact === 'true');
        expect(text).toContain(`${project} from`);
        expect(text).not.toContain(`${project === 'ours' ? 'theirs' : 'ours'} from`);
      }
    }),
    { numRuns: 30 },
  );
});
