import { request as httpRequest } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { longestTurn, mostTurnMs } from '../support/longest-turn.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';

const rows = {
  'cloudflare.logs.prod': [
    {
      ...edgeRow({ id: 'a', timestamp: '2026-01-15T11:00:00Z', project: 'ours' }),
      event_message: 'from 203.0.113.7 to mail@example.com',
    },
    edgeRow({ id: 'b', timestamp: '2026-01-15T11:00:00Z', project: 'a b+c/é' }),
  ],
};

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({ rows, now: '2026-01-15T12:00:00Z' });
  return gateway.close;
});

const logs = '/api/endpoints/query/logs.all';
const json = { 'content-type': 'application/json' };

test('contract 2.1, 2.2: name and UUID in any case, in every spelling of the route, return the same rows', async () => {
  const { id } = gateway.endpoint('logs.all');
  const paths = [
    logs,
    `/api/endpoints/query/${id}`,
    `/api/endpoints/query/${id.toUpperCase()}`,
    '/endpoints/query/logs.all',
    `/endpoints/query/${id}`,
    '/api/endpoints/query/name/logs.all',
    `/api/endpoints/query/name/${id}`,
    '/api/endpoints/query/logs%2Eall',
    `${logs}/`,
  ];
  const answers = await Promise.all(paths.map(path => gateway.get(`${path}?project=ours`)));
  expect(new Set(answers.map(({ text }) => text))).toEqual(new Set([answers[0]!.text]));
  expect(answers[0]!.body.result).toHaveLength(1);
});

describe('tokens', () => {
  const status = async (headers: Record<string, string>) =>
    (await gateway.get(`${logs}?project=ours`, headers)).status;

  test('contract 2.3: X-API-KEY or Bearer; Bearer wins', async () => {
    expect(await status({ 'x-api-key': testToken })).toBe(200);
    expect(await status({ authorization: `Bearer ${testToken}` })).toBe(200);
    expect(await status({ authorization: `bearer ${testToken}`, 'x-api-key': 'garbage' })).toBe(200);
    expect(await status({ authorization: 'Bearer garbage', 'x-api-key': testToken })).toBe(401);
  });

  test('a refusal varies with the same headers as an answer: what a proxy notes of it is of that token alone', async () => {
    const [answer, refusal] = await Promise.all(
      [testToken, 'garbage'].map(token => gateway.get(`${logs}?project=ours`, { 'x-api-key': token })),
    );
    expect([answer!.status, refusal!.status]).toEqual([200, 401]);
    expect(answer!.headers.get('vary')).toContain('X-API-KEY');
    expect(refusal!.headers.get('vary')).toBe(answer!.headers.get('vary'));
  });
});

describe('parameters', () => {
  const ids = async (path: string, init?: RequestInit) => {
    const { status, body } = await gateway.send(path, init);
    return status === 200 ? body.result.map((row: { id: string }) => row.id) : body.error.code;
  };
  const post = (path: string, body: object) =>
    ids(path, { method: 'POST', headers: json, body: JSON.stringify(body) });

  test('contract 2.7, 2.8: given twice, the last one wins; unknown ones are ignored', async () => {
    expect(await ids(`${logs}?project=nobody&project=ours&color=red`)).toEqual(['a']);
  });

  test('escapes, and a blank as +, are read', async () => {
    expect(await ids(`${logs}?project=a+b%2Bc/%C3%A9`)).toEqual(['b']);
  });

  test('contract 2.6: a POST carries them in a JSON body, which wins over the query string', async () => {
    expect(await post(logs, { project: 'ours' })).toEqual(['a']);
    expect(await post(`${logs}?project=nobody`, { project: 'ours' })).toEqual(['a']);
  });

  test('contract 11.2: a body of many members that nobody declared is read in one short turn', async () => {
    const many = Array.from({ length: 80_000 }, (_, n) => `"k${n}":0`);
    const body = `{"project":"ours","__proto__":{"project":"theirs"},${many}}`;
    const turns: number[] = [];
    // The collector may fall into one of them.
    for (let n = 0; n < 3; n++) {
      const ask = () => ids(`${logs}?project=nobody&color=red`, { method: 'POST', headers: json, body });
      const { result, turnMs } = await longestTurn(ask);
      expect(result).toEqual(['a']);
      turns.push(turnMs);
    }
    expect(Math.min(...turns)).toBeLessThan(mostTurnMs(body));
  });

  test('contract 2.9: a required parameter that is empty is refused as an absent one', async () => {
    for (const query of ['', '?project=']) expect(await ids(logs + query)).toBe('invalid_parameter');
  });

  test('null in a body is absent', async () => {
    expect(await post(`${logs}?project=ours`, { iso_timestamp_end: null })).toEqual(['a']);
    expect(await post(logs, { project: null })).toBe('invalid_parameter');
  });

  /** fetch refuses a GET with a body; callers of today send one. */
  const getWithBody = (path: string, body: string) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const headers = { ...json, 'x-api-key': testToken, 'content-length': Buffer.byteLength(body) };
      const request = httpRequest(gateway.origin + path, { method: 'GET', headers }, async response => {
        resolve({
          status: response.statusCode ?? 0,
          text: Buffer.concat(await response.toArray()).toString(),
        });
      });
      request.on('error', reject);
      request.end(body);
    });

  test('contract 2.6: a GET of a sandboxed endpoint without `sql` and `lql` may carry them in a JSON body', async () => {
    const { status, text } = await getWithBody(logs, '{"project":"ours"}');
    expect([status, JSON.parse(text).result.length]).toEqual([200, 1]);
  });

  test('contract 2.6, 4.2: with `sql` or `lql` in the query string the body of a GET is not read', async () => {
    expect((await getWithBody(`${logs}?lql=x`, '{"project":"ours"}')).status).toBe(400);
    expect((await getWithBody(`${logs}?project=ours&sql=`, '{"project":"nobody"}')).text).toContain(
      '"id":"a"',
    );
  });

  test('contract 2.10: a request line of 64 KiB is taken', async () => {
    expect(await ids(`${logs}?project=ours&padding=${'x'.repeat(65_536 - 60)}`)).toEqual(['a']);
  });
});

test('contract 2.1: HEAD answers the headers of GET without a body', async () => {
  const got = await gateway.get(`${logs}?project=ours`);
  const { status, headers, text } = await gateway.send(`${logs}?project=ours`, { method: 'HEAD' });
  expect([status, text]).toEqual([200, '']);
  expect(headers.get('content-length')).toBe(String(Buffer.byteLength(got.text)));
  expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
});

test('contract 2.11: nothing but `result` is in the body', async () => {
  const { body } = await gateway.get(`${logs}?project=nobody`);
  expect(body).toEqual({ result: [] });
});

describe('redaction', () => {
  const message = async (headers: Record<string, string>) =>
    (await gateway.get(`${logs}?project=ours`, headers)).body.result[0].event_message;

  test('contract 2.5: LF-ENDPOINT-REDACT-PII in any letter case overrides the endpoint for one request', async () => {
    expect(await message({})).toBe('from 203.0.113.7 to mail@example.com');
    expect(await message({ 'LF-ENDPOINT-REDACT-PII': 'true' })).toBe('from REDACTED to REDACTED');
    expect(await message({ 'lf-endpoint-redact-pii': 'TRUE' })).toBe('from REDACTED to REDACTED');
    expect(await message({ 'LF-ENDPOINT-REDACT-PII': 'False' })).toBe('from 203.0.113.7 to mail@example.com');
    const { status, body } = await gateway.get(`${logs}?project=ours`, { 'LF-ENDPOINT-REDACT-PII': '1' });
    expect([status, body.error.code]).toEqual([400, 'invalid_header']);
  });
});

describe('CORS', () => {
  test('contract 2.23: a preflight is answered before authentication', async () => {
    const { status, headers, text } = await gateway.send(logs, {
      method: 'OPTIONS',
      headers: {
        'x-api-key': '',
        origin: 'https://studio.example',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'x-api-key, x-client-info',
      },
    });
    expect([status, text]).toEqual([204, '']);
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST');
    expect(headers.get('access-control-allow-headers')).toBe('x-api-key, x-client-info');
  });

  test('contract 2.23: a preflight of a path without a route is answered, so that a page can read its 404', async () => {
    const asked = { origin: 'https://studio.example', 'access-control-request-method': 'POST' };
    const { status, headers } = await gateway.send('/nowhere', { method: 'OPTIONS', headers: asked });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    expect(headers.get('access-control-allow-methods')).toBe('GET, HEAD, POST');
    expect((await gateway.send('/nowhere', { method: 'OPTIONS' })).status).toBe(404);
  });

  test('contract 2.24: allowed origins come from the configuration, and errors have the headers too', async () => {
    const own = await openGateway({
      now: '2026-01-15T12:00:00Z',
      environment: { CORS_ORIGINS: 'https://a.example' },
    });
    try {
      const allowed = await own.get('/health', { origin: 'https://a.example' });
      const other = await own.get('/nowhere', { origin: 'https://b.example' });
      const error = await own.get('/nowhere', { origin: 'https://a.example' });
      expect([error.status, error.headers.get('access-control-allow-origin')]).toEqual([
        404,
        'https://a.example',
      ]);
      expect(allowed.headers.get('access-control-allow-origin')).toBe('https://a.example');
      expect(other.headers.get('access-control-allow-origin')).toBeNull();
      expect(allowed.headers.get('vary')).toBe('Origin');
      expect(other.headers.get('vary')).toMatch(/, Origin$/);
    } finally {
      await own.close();
    }
  });
});

test('contract 2.29: X-Request-Id of the caller comes back, a strange one is replaced', async () => {
  const id = async (given: string) =>
    (await gateway.get('/health', { 'x-request-id': given })).headers.get('x-request-id');
  expect(await id('abc-1.2:3')).toBe('abc-1.2:3');
  expect(await id('<script>')).toMatch(/^[0-9a-f-]{36}$/);
});

test('contract 5.10: Server-Timing names the stages of the pipeline', async () => {
  const timing = async () =>
    (await gateway.get(`${logs}?project=ours&never=before`)).headers.get('server-timing');
  expect(await timing()).toMatch(/^auth;dur=[\d.]+, params;dur=[\d.]+, query;dur=[\d.]+$/);
  // What the same request means is known by then.
  expect(await timing()).toMatch(/^query;dur=[\d.]+$/);
});

test('contract 5.6: fifty callers of one cold key run one query', async () => {
  const own = await openGateway({ rows, now: '2026-01-15T12:00:00Z' });
  try {
    const path = '/api/endpoints/query/usage.api-counts?interval=hourly&project=ours';
    const answers = await Promise.all(Array.from({ length: 50 }, () => own.get(path)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(own.events.filter(({ type }) => type === 'engine.query')).toHaveLength(1);
  } finally {
    await own.close();
  }
});
