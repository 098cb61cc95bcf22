import { request } from 'node:http';
import { beforeAll, describe, expect, test } from 'vitest';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { openRaw, readAnswers } from '../support/raw-connection.ts';
import { bringPages } from './built-pages.ts';

const pageSample = { token: 'sample_of_the_tests', parameters: { project: 'abc' } };

/** What Chromium sends when somebody types an address. */
const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

let gateway: OpenGateway;
beforeAll(async () => {
  await bringPages();
  gateway = await openGateway({ now: '2026-01-15T12:00:00Z', pageSample });
  return gateway.close;
});

/** A GET without a token; `fetch` would set headers of its own. */
function get(path: string, headers: Record<string, string> = {}) {
  return new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; body: Buffer }>(
    (resolve, reject) => {
      request({ port: gateway.port, host: '127.0.0.1', path, headers }, response => {
        const parts: Buffer[] = [];
        response.on('data', part => parts.push(part));
        response.on('end', () => {
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(parts),
          });
        });
      })
        .on('error', reject)
        .end();
    },
  );
}

test.each([
  [browser, 'text/html'],
  ['text/html', 'text/html'],
  ['*/*', 'application/json'],
  ['application/json', 'application/json'],
  ['text/html;q=0.5, application/json', 'application/json'],
  ['text/html;q=0', 'application/json'],
])('the root answers Accept %j with %s', async (accept, type) => {
  const { status, headers } = await get('/', { accept });
  expect([status, String(headers['content-type']).split(';')[0]]).toEqual([200, type]);
  expect(headers.vary).toMatch(/^Accept, /);
});

test('programs that state no preference get the list of routes', async () => {
  const { body } = await get('/');
  expect(JSON.parse(body.toString())).toMatchObject({
    service: 'saved-query-gateway',
    endpoints: '/api/endpoints',
    graphiql: '/graphql',
  });
});

/** The assets that a page and its scripts load, all of them, with the bytes that travel. */
async function assetsOf(path: string) {
  const found = new Map<string, number>();
  const scan = async (text: string) => {
    for (const [, name = ''] of text.matchAll(/([\w-]+-[0-9A-Z]{8}\.(?:js|css|svg))/g)) {
      if (found.has(name)) continue;
      const encoded = await get(`/assets/${name}`, { 'accept-encoding': 'br' });
      expect([name, encoded.status]).toEqual([name, 200]);
      expect(encoded.headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(encoded.headers['content-encoding']).toBe('br');
      found.set(name, encoded.body.length);
      if (!name.includes('library') && !name.startsWith('swagger'))
        await scan((await get(`/assets/${name}`)).body.toString());
    }
  };
  await scan((await get(path, { accept: browser })).body.toString());
  return found;
}

test('the whole explorer, its editor included, travels in less than 250 KB', async () => {
  const assets = await assetsOf('/');
  expect(assets.size).toBeGreaterThan(3);
  const bytes = [...assets.values()].reduce((sum, each) => sum + each, 0);
  expect(bytes).toBeLessThan(250_000);
});

test('the first view of the explorer travels in less than 60 KB', async () => {
  const html = (await get('/', { accept: browser })).body.toString();
  const named = [...new Set(html.match(/[\w-]+-[0-9A-Z]{8}\.\w+/g))];
  expect(named.map(name => name.replace(/-\w{8}\./, '.'))).toContain('time-chart.js');
  const all = await assetsOf('/');
  expect(named.reduce((sum, name) => sum + all.get(name)!, 0)).toBeLessThan(60_000);
});

test.each(['/', '/docs', '/graphql'])(
  'the page at %s holds nothing inline and nothing from elsewhere',
  async path => {
    const { headers, body } = await get(path, { accept: browser });
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(/script-src ([^;]*)/.exec(policy)?.[1]).toBe("'self'");
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
    if (path === '/') expect(policy).not.toContain('unsafe');
    const html = body.toString();
    expect(html).not.toMatch(/<style|style=|<script(?![^>]* src=)|\son\w+=|(?:src|href)="(?:https?:)?\/\//);
    expect((await assetsOf(path)).size).toBeGreaterThan(2);
  },
);

test.each([
  ['nothing-AAAAAAAA.js'],
  ['..%2f..%2fpackage.json'],
  ['explorer.html'],
  ['%2e%2e%2fexplorer.html'],
])('there is no asset %s', async name => {
  const { status, body } = await get(`/assets/${name}`);
  expect([status, JSON.parse(body.toString()).error.code]).toEqual([404, 'route_not_found']);
});

test('GRAPHIQL=false serves no GraphiQL, and the root lists none', async () => {
  const bare = await openGateway({ environment: { GRAPHIQL: 'false' } });
  try {
    expect(Object.keys((await bare.get('/')).body)).not.toContain('graphiql');
    expect((await bare.get('/graphql', { accept: browser })).status).toBe(400);
  } finally {
    await bare.close();
  }
});

test('PAGES=false serves no page', async () => {
  const bare = await openGateway({ environment: { PAGES: 'false' } });
  const headers = { accept: browser };
  try {
    const { body } = await bare.get('/', headers);
    expect([body.service, body.graphiql]).toEqual(['saved-query-gateway', undefined]);
    expect((await bare.get('/docs', headers)).status).toBe(404);
    expect((await bare.get('/graphql', headers)).status).toBe(400);
  } finally {
    await bare.close();
  }
});

describe('the token of a first start', () => {
  const own = { 'sec-fetch-site': 'same-origin', host: '127.0.0.1:4000' };
  const ask = async (headers: Record<string, string>) => {
    const { status, body } = await get('/api/sample', headers);
    return status === 200 ? JSON.parse(body.toString()) : status;
  };

  test('goes to the page of this gateway in a browser on this machine', async () => {
    expect(await ask(own)).toEqual(pageSample);
    expect(await ask({ ...own, host: 'localhost:4000' })).toEqual(pageSample);
  });

  test.each<[string, Record<string, string>, unknown]>([
    ['a program', { host: own.host }, {}],
    [
      'a page of another origin, which CORS would let read',
      { ...own, 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
      403,
    ],
    ['a page of another port of this machine', { ...own, 'sec-fetch-site': 'same-site' }, 403],
    ['an address that somebody types', { ...own, 'sec-fetch-site': 'none' }, 403],
    ['a foreign name that leads here', { ...own, host: 'evil.example:4000' }, {}],
    ['a proxy before the gateway', { ...own, 'x-forwarded-for': '203.0.113.7' }, {}],
    ['another proxy', { ...own, forwarded: 'for=203.0.113.7' }, {}],
    ['a proxy that says little', { ...own, 'x-real-ip': '203.0.113.7' }, {}],
  ])('does not go to %s', async (_who, headers, expected) => {
    expect(await ask(headers)).toEqual(expected);
  });

  test('does not go to nginx as it comes, which says nothing', async () => {
    const asked = `Host: ${own.host}\r\nSec-Fetch-Site: same-origin\r\n`;
    for (const [version, more, expected] of [
      ['1.1', 'Connection: keep-alive\r\n', pageSample],
      ['1.1', 'Connection: close\r\n', {}],
      ['1.1', '', {}],
      ['1.0', 'Connection: keep-alive\r\n', {}],
      ['1.0', 'Connection: close\r\n', {}],
    ] as const) {
      const connection = await openRaw(gateway.port);
      connection.write(`GET /api/sample HTTP/${version}\r\n${asked}${more}\r\n`);
      await connection.has('}');
      connection.socket.destroy();
      const [answer] = readAnswers(connection.text());
      expect(JSON.parse(answer?.body ?? '')).toEqual(expected);
    }
  });

  test('is not handed out where the gateway did not make it', async () => {
    const other = await openGateway({});
    try {
      expect((await other.get('/api/sample', { 'sec-fetch-site': 'same-origin' })).body).toEqual({});
    } finally {
      await other.close();
    }
  });
});

describe('the check of SQL', () => {
  const check = (sql: string, headers: Record<string, string> = {}) =>
    gateway.send('/api/endpoints/logs.all/check', {
      method: 'POST',
      body: JSON.stringify({ sql }),
      headers: { 'content-type': 'application/json', ...headers },
    });

  test('says which columns it has', async () => {
    const { status, body } = await check('select id, count(*) as n from edge_logs group by id');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      verdict: 'ok',
      columns: [
        { name: 'id', type: 'STRING' },
        { name: 'n', type: 'INT64' },
      ],
    });
  });

  test.each([
    ['select id,\n  evnt from edge_logs', 'invalid_query', 2, 3],
    ['select * from `cloudflare.logs.prod`', 'sandbox_refused', 1, 15],
  ])('says of %j what is wrong, and where', async (sql, code, line, column) => {
    const { status, body } = await check(sql);
    expect([status, body.verdict]).toEqual([200, 'refused']);
    expect(body.error).toMatchObject({ code, line, column });
  });

  test('needs a token with the scope sandbox', async () => {
    expect((await check('select 1', { 'x-api-key': 'wrong' })).status).toBe(401);
    const token = await gateway.issue({ without: ['sandbox'] });
    expect((await check('select 1', { 'x-api-key': token })).status).toBe(403);
    expect((await check('select 1', { 'x-api-key': testToken })).status).toBe(200);
  });
});

test('the dialect names keywords, types and functions with their signatures', async () => {
  const { body } = await gateway.get('/api/dialect');
  expect(body.keywords).toContain('SELECT');
  expect(body.types).toContain('TIMESTAMP');
  const substr = body.functions.find(({ name }: { name: string }) => name === 'SUBSTR');
  expect(substr).toMatchObject({ kind: 'scalar' });
  expect(substr.signatures).toContain('SUBSTR(STRING, INT64) STRING');
  expect(body.functions.find(({ name }: { name: string }) => name === 'COUNT')).toMatchObject({
    kind: 'aggregate',
  });
});
