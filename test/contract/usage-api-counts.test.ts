import { beforeAll, describe, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const now = '2026-01-15T12:34:56.789000Z';

let nextId = 0;
const request = (timestamp: string, path: string, more: { project?: string; url?: string } = {}) =>
  edgeRow({ id: `r${nextId++}`, timestamp, project: 'live', path, ...more });

const twoRequests = request('2026-01-15T12:00:30Z', '/rest/v1/a');
twoRequests.metadata = [
  {
    request: [
      { path: '/rest/v1/a', url: 'https://live.supabase.co/rest/v1/a' },
      { path: '/storage/v1/b', url: 'https://live.supabase.co/storage/v1/b' },
      { path: '/auth/v1/c', url: 'https://elsewhere.example/auth/v1/c' },
    ],
  },
];

/** Each edge of each window has a row on it and a row a microsecond outside. */
const rows = {
  'cloudflare.logs.prod': [
    request('2026-01-15T11:34:56.788999Z', '/rest/v1/just-outside-an-hour'),
    request('2026-01-15T11:34:56.789000Z', '/rest/v1/on-the-edge-of-an-hour'),
    request('2026-01-15T11:59:59.999999Z', '/auth/v1/token'),
    twoRequests,
    request('2026-01-15T12:00:59.999999Z', '/rest/v1/realtime/both'),
    request('2026-01-15T12:34:56.789000Z', '/realtime/v1/websocket'),
    request('2026-01-15T13:00:00Z', '/rest/v1/future: there is no end'),
    request('2026-01-15T12:10:00Z', '/functions/v1/none-of-the-four'),
    request('2026-01-15T12:10:00Z', '/rest/v1/other', { project: 'other' }),
    {
      ...request('2026-01-15T12:10:00Z', '/rest/v1/no-request'),
      metadata: [{ response: [{ status_code: 200 }] }],
    },
    { ...request('2026-01-15T12:10:00Z', '/rest/v1/no-metadata'), metadata: [] },
    request('2026-01-08T12:34:56.789000Z', '/storage/v1/on-the-edge-of-seven-days'),
    request('2026-01-08T12:34:56.788999Z', '/storage/v1/just-outside-seven-days'),
    request('2026-01-12T00:00:00Z', '/storage/v1/object'),
  ],
  'postgres.logs': [
    {
      id: 'p',
      timestamp: '2026-01-15T12:00:00Z',
      project: 'live',
      event_message: 'https://live.supabase.co/rest',
    },
  ],
};

const bucket = (timestamp: string, rest: number, storage: number, auth: number, realtime: number) => ({
  timestamp,
  total_rest_requests: rest,
  total_storage_requests: storage,
  total_auth_requests: auth,
  total_realtime_requests: realtime,
});

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({ rows, now });
  return gateway.close;
});

const counts = async (interval: string, project = 'live.supabase') => {
  const query = new URLSearchParams({ interval, project });
  const { status, body } = await gateway.get(`/api/endpoints/query/usage.api-counts?${query}`);
  expect(status).toBe(200);
  return body.result;
};

const minutely = [
  bucket('2026-01-15T11:34:00', 1, 0, 0, 0),
  bucket('2026-01-15T11:59:00', 0, 0, 1, 0),
  bucket('2026-01-15T12:00:00', 2, 1, 0, 1),
  bucket('2026-01-15T12:10:00', 0, 0, 0, 0),
  bucket('2026-01-15T12:34:00', 0, 0, 0, 1),
  bucket('2026-01-15T13:00:00', 1, 0, 0, 0),
];

describe('usage.api-counts', () => {
  test('contract 1.13, 1.14, 1.15: minutely, now − 60 minutes with its edge, by minute, ascending, no empty bucket', async () => {
    expect(await counts('minutely')).toEqual(minutely);
  });

  test('contract 1.13: hourly, now − 1 hour with its edge, by hour', async () => {
    expect(await counts('hourly')).toEqual([
      bucket('2026-01-15T11:00:00', 1, 0, 1, 0),
      bucket('2026-01-15T12:00:00', 2, 1, 0, 2),
      bucket('2026-01-15T13:00:00', 1, 0, 0, 0),
    ]);
  });

  test('contract 1.13: daily, now − 7 days with its edge, by day', async () => {
    expect(await counts('daily')).toEqual([
      bucket('2026-01-08T00:00:00', 0, 1, 0, 0),
      bucket('2026-01-12T00:00:00', 0, 1, 0, 0),
      bucket('2026-01-15T00:00:00', 5, 1, 1, 2),
    ]);
  });

  test('contract 1.11: edge request rows only, each expanded into its request entries', async () => {
    const [, , noon] = await counts('minutely');
    expect(noon).toEqual(bucket('2026-01-15T12:00:00', 2, 1, 0, 1));
  });

  test('contract 1.12: an entry counts when its `url` contains a match of the pattern', async () => {
    expect(await counts('minutely', 'https://(live|none)[.]supabase')).toEqual(minutely);
    expect(await counts('minutely', '(?i)LIVE.SUPABASE')).toEqual(minutely);
    expect(await counts('minutely', '^live')).toEqual([]);
    expect(await counts('minutely', 'elsewhere')).toEqual([bucket('2026-01-15T12:00:00', 0, 0, 1, 0)]);
    expect(await counts('minutely', '^https://other[.]')).toEqual([
      bucket('2026-01-15T12:10:00', 1, 0, 0, 0),
    ]);
  });

  test('contract 1.14: a counter with nothing to count is 0, never null', async () => {
    expect(await counts('minutely')).toContainEqual(bucket('2026-01-15T12:10:00', 0, 0, 0, 0));
  });
});

test('contract 5.3, 5.7: the answer is fresh for 900 s, then refreshed behind its back, and is the same entry by name and by UUID', async () => {
  const own = await openGateway({ rows, now });
  try {
    const query = '?interval=minutely&project=live';
    const { id } = own.endpoint('usage.api-counts');
    const states = [];
    for (const [reference, seconds] of [
      ['usage.api-counts', 0],
      [id, 0],
      [id.toUpperCase(), 899],
      [id, 1],
    ] as const) {
      own.clock.advance(seconds * 1000);
      const { headers } = await own.get(`/api/endpoints/query/${reference}${query}`);
      states.push([headers.get('x-cache'), headers.get('age')]);
    }
    expect(states).toEqual([
      ['MISS', '0'],
      ['HIT', '0'],
      ['HIT', '899'],
      ['STALE', '900'],
    ]);
  } finally {
    await own.close();
  }
});

test("the callers' words for a window of the contract share its entry, over REST alone", async () => {
  const own = await openGateway({ rows, now });
  try {
    const path = '/api/endpoints/query/usage.api-counts?project=live.supabase&interval=';
    const answers = [];
    for (const interval of ['minutely', '1hr', '7day', 'daily', '1day', '3day']) {
      const { headers, body } = await own.get(path + interval);
      answers.push([interval, headers.get('x-cache'), body.result.length]);
    }
    expect(answers).toEqual([
      ['minutely', 'MISS', 6],
      ['1hr', 'HIT', 6],
      ['7day', 'MISS', 3],
      ['daily', 'HIT', 3],
      ['1day', 'MISS', 3],
      ['3day', 'MISS', 3],
    ]);
    const { body } = await own.get(`${path}1hour`);
    expect(body.error.message).toContain('allowed: one of minutely, hourly, daily');
    const explained = await own.get(`${path}1hr&explain=true`);
    expect(explained.body.explain.parameters.interval).toBe('minutely');
    const listed = await own.get('/api/endpoints/usage.api-counts');
    expect(JSON.stringify(listed.body)).not.toContain('1hr');
  } finally {
    await own.close();
  }
});

test('contract 5.12: `logs.all` is not stored: every request runs the query', async () => {
  const { headers } = await gateway.get('/api/endpoints/query/logs.all?project=live');
  expect([headers.get('x-cache'), headers.get('cache-control')]).toEqual(['BYPASS', 'no-store']);
});
