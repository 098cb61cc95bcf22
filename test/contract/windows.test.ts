import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type Answered, type OpenGateway, openGateway } from '../support/open-gateway.ts';
import '../support/seed-properties.ts';

const minute = 60_000;
const nowMs = Date.parse('2026-01-15T12:00:00Z');
const at = (minutes: number) => new Date(nowMs + minutes * minute).toISOString();

/** A row every 20 minutes, from 30 hours ago to 12 hours ahead: clocks of those who log go wrong. */
const minutesOfRows = Array.from({ length: 126 }, (_, n) => -1800 + 20 * n);
const rows = minutesOfRows.map(minutes =>
  edgeRow({ id: `r${minutes}`, timestamp: at(minutes), project: 'ours' }),
);

const query = (project: string) => `select id, timestamp
  from \`cloudflare.logs.prod\`
  where project ${project}
    and timestamp > coalesce(cast(@since as timestamp), timestamp '0001-01-01 00:00:00+00')
    and timestamp <= coalesce(cast(@until as timestamp), timestamp '9999-12-31 23:59:59+00')`;

const header = (name: string, digit: number, more: string) => `/*
id: 7e57ab1e-0000-4000-8000-00000000050${digit}
name: ${name}
description: Rows of a project in a window.
parameters:
  project: { type: string, required: true, description: Whose. }
  since: { type: timestamp, description: Exclusive lower bound. }
  until: { type: timestamp, description: Inclusive upper bound. }
columns:
  id: { type: STRING, description: Id. }
  timestamp: { type: TIMESTAMP, description: When. }
window: { start: since, end: until, default: 2h, max: 6h }
${more}
*/
with logs as (
  ${query('= @project')}
)
select id, timestamp from logs order by timestamp`;

const batch = {
  text: 'batch: { parameter: project, key: project }',
  sql: `select project, id, timestamp from (
  ${query('in (select p from unnest(@projects) as p)').replace('select id', 'select project, id')}
) order by project, timestamp`,
};

const options = () => ({
  now: at(0),
  rows: { 'cloudflare.logs.prod': rows },
  sqlFiles: {
    'every.sql': header('every', 1, 'sandbox: true'),
    'kept.sql': header('kept', 2, 'sandbox: true\ncacheSeconds: 60\ncoalesce: true'),
    'many.sql': header('many', 3, batch.text),
    'many.batch.sql': batch.sql,
    'warm.sql': header('warm', 4, `cacheSeconds: 900\nwarmSeconds: 300\n${batch.text}`),
    'warm.batch.sql': batch.sql,
  },
});
let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway(options());
});
afterAll(() => gateway.close());

/** Bounds in minutes from now, as a caller means them. */
type Bounds = { readonly since: number | undefined; readonly until: number | undefined };

/** What those bounds come to; undefined where they are refused. */
function rowsWithin({ since, until }: Bounds): string[] | undefined {
  if (since !== undefined && (until ?? 0) - since > 360) return undefined;
  const end = until ?? (since === undefined ? 0 : since + 360);
  const start = since ?? end - 120;
  return minutesOfRows.filter(minutes => minutes > start && minutes <= end).map(minutes => `r${minutes}`);
}

type Outcome = { readonly code: string | undefined; readonly ids: unknown };

const restOutcome = ({ body }: Answered): Outcome => ({
  code: body.error?.code,
  ids: body.result?.map(({ id }: { id: string }) => id),
});

function graphqlOutcome(field: string, { body }: Answered): Outcome {
  const found = body.data?.[field];
  return {
    code: body.errors?.[0].extensions.code,
    ids: (found?.rows ?? found)?.map(({ id }: { id: string }) => id),
  };
}

/** Texts of the bounds; where there is none, absent or empty. */
type Texts = { readonly since?: string; readonly until?: string };

const sql = 'select id, timestamp from logs order by timestamp';
const path = (endpoint: string, parameters: Texts & { sql?: string; explain?: string }) =>
  `/api/endpoints/query/${endpoint}?${new URLSearchParams({ project: 'ours', ...parameters })}`;

function selected(field: string, { since, until }: Texts, own = ''): string {
  const bounds = [since && `since: "${since}"`, until && `until: "${until}"`].filter(Boolean).join(' ');
  return `${field}(project: "ours" ${bounds} ${own})`;
}

/** Every way in; a saved query with a batch form is run by it where a second project is asked for. */
const channels: Record<string, (texts: Texts) => Promise<Outcome>> = {
  'query string': async texts => restOutcome(await gateway.get(path('every', texts))),
  'query string, cached': async texts => restOutcome(await gateway.get(path('kept', texts))),
  "a caller's sql": async texts => restOutcome(await gateway.get(path('every', { ...texts, sql }))),
  "a caller's sql, cached": async texts => restOutcome(await gateway.get(path('kept', { ...texts, sql }))),
  body: async texts => {
    const body = JSON.stringify({ project: 'ours', ...texts });
    const headers = { 'content-type': 'application/json' };
    return restOutcome(await gateway.send('/api/endpoints/query/kept', { method: 'POST', headers, body }));
  },
  graphql: async texts =>
    graphqlOutcome('every', await gateway.graphql(`{ ${selected('every', texts)} { id } }`)),
  "graphql with a caller's sql": async texts =>
    graphqlOutcome(
      'keptSql',
      await gateway.graphql(`{ ${selected('keptSql', texts, `sql: "${sql}"`)} { rows } }`),
    ),
  'batch form': async texts => {
    const others = selected('many', texts).replace('ours', 'theirs');
    return graphqlOutcome(
      'many',
      await gateway.graphql(`{ ${selected('many', texts)} { id } b: ${others} { id } }`),
    );
  },
};

const minutes = fc.option(
  fc.oneof(fc.integer({ min: -1900, max: 800 }), fc.constantFrom(-360, -361, -359, 0, -120)),
  { nil: undefined },
);
const spelling = fc.constantFrom(
  (minute: number) => at(minute),
  (minute: number) => at(minute).replace('T', ' ').replace('Z', '+00'),
  (minute: number) => at(minute + 120).replace('.000Z', '+02:00'),
);
const empty = fc.constantFrom<[object, object]>([{}, {}], [{ since: '' }, { until: '' }]);

describe('a window', () => {
  test.each(Object.keys(channels))('is kept, to the row, by: %s', async channel => {
    await fc.assert(
      fc.asyncProperty(minutes, minutes, spelling, empty, async (since, until, spell, [noSince, noUntil]) => {
        const expected = rowsWithin({ since, until });
        const outcome = await channels[channel]!({
          ...(since === undefined ? noSince : { since: spell(since) }),
          ...(until === undefined ? noUntil : { until: spell(until) }),
        });
        expect(outcome.code).toBe(expected ? undefined : 'invalid_parameter');
        if (expected) expect(outcome.ids).toEqual(expected);
      }),
      { numRuns: 40 },
    );
  });

  test('a wider one is a 400 that names the parameter, its value and the bound', async () => {
    const { status, body } = await gateway.get(path('kept', { since: at(-361) }));
    expect([status, body.error.message]).toEqual([
      400,
      'Parameter "since" is "2026-01-15T05:59:00.000000Z"; allowed: at most 6h before now, which is the end where "until" is absent',
    ]);
  });

  test('is shown by explain, in OpenAPI and in GraphQL', async () => {
    const { body } = await gateway.get(path('every', { explain: 'true' }));
    expect(body.explain.parameters).toEqual({
      project: 'ours',
      since: '2026-01-15T10:00:00.000000Z',
      until: '2026-01-15T12:00:00.000000Z',
    });
    const since =
      'Exclusive lower bound. At most 6h before until, or before now without one; absent: 2h before it.';
    const openapi = (await gateway.get('/openapi.json')).body;
    const [, parameter] = openapi.paths['/api/endpoints/query/every'].get.parameters;
    expect(parameter.description).toBe(since);
    const fields = await gateway.graphql(
      '{ __type(name: "Query") { fields { name args { description } } } }',
    );
    expect(fields.text).toContain(since);
  });

  test('absent bounds are one cache entry, whenever they are asked for', async () => {
    const own = await openGateway(options());
    onTestFinished(() => own.close());
    const ask = async () => (await own.get(path('kept', {}))).headers.get('x-cache');
    expect(await ask()).toBe('MISS');
    own.clock.advance(59_000);
    expect(await ask()).toBe('HIT');
    own.clock.advance(2000);
    expect(await ask()).not.toBe('MISS');
  });

  test('is left by a start alone that lies too far back by now, however fresh its answer is', async () => {
    const own = await openGateway(options());
    onTestFinished(() => own.close());
    const texts = { since: at(-359) };
    const rest = () => own.get(path('warm', texts));
    const graphql = async () =>
      graphqlOutcome('warm', await own.graphql(`{ ${selected('warm', texts)} { id } }`)).code;
    for (const _ of [1, 2]) expect([(await rest()).status, await graphql()]).toEqual([200, undefined]);
    own.clock.advance(2 * minute);
    expect([(await rest()).status, await graphql()]).toEqual([400, 'invalid_parameter']);
  });

  test('moves on where what is read is kept warm', async () => {
    // A schedule in Redis goes by the clock of Redis.
    const own = await openGateway({ ...options(), environment: { REDIS_URL: '' } });
    onTestFinished(() => own.close());
    const warmed = async () => (await own.get('/admin/warm')).body;
    const ask = () => own.get(path('warm', {}));
    let answered = await ask();
    await vi.waitFor(async () => expect((await warmed()).keys).toBe(1));
    for (let cycle = 1; cycle <= 4; cycle++) {
      own.clock.advance(301_000);
      await vi.waitFor(async () => expect((await warmed()).totals.refreshed).toBe(cycle));
      answered = await ask();
    }
    expect(restOutcome(answered).ids).toEqual(['r-80', 'r-60', 'r-40', 'r-20', 'r0', 'r20']);
    expect([answered.headers.get('x-cache'), answered.headers.get('age')]).toEqual(['HIT', '0']);
  });
});
