import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { type FleetGateway, startFleet } from '../support/fleet.ts';
import { freePort } from '../support/free-port.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type CachingProxy, proxyPrograms, startProxy } from './start-proxy.ts';

const tokens = ['the-first-token', 'the-second-token'] as const;
const tokenHashes = tokens.map(token => createHash('sha256').update(token).digest('hex')).join(',');

/** A saved query with other rows at each run, unless its rows are steady. */
function savedQuery(name: string, id: string, lifetimes: string, drawn = 'rand()'): string {
  return `/*
id: ${id}
name: ${name}
description: Rows for a proxy to keep.
parameters:
  key:
    type: string
    required: true
    description: Names the entry.
columns:
  key:
    type: STRING
    description: The parameter.
  drawn:
    type: FLOAT64
    description: The number of this run.
${lifetimes}
*/
select @key as key, ${drawn} as drawn
`;
}

const files = {
  'open.sql': savedQuery(
    'open',
    '0b0e4b52-1f6e-4c7c-9d0a-3a4f6f1d2c01',
    'public: true\ncacheSeconds: 5\nstaleSeconds: 60',
  ),
  'steady.sql': savedQuery(
    'steady',
    '0b0e4b52-1f6e-4c7c-9d0a-3a4f6f1d2c02',
    'public: true\ncacheSeconds: 2\nstaleSeconds: 60',
    '0.5',
  ),
  'strict.sql': savedQuery(
    'strict',
    '0b0e4b52-1f6e-4c7c-9d0a-3a4f6f1d2c03',
    'public: true\ncacheSeconds: 2\nstaleSeconds: 0\nstaleIfErrorSeconds: 600',
  ),
  'closed.sql': savedQuery('closed', '0b0e4b52-1f6e-4c7c-9d0a-3a4f6f1d2c04', 'cacheSeconds: 600'),
};

const waiting = { timeout: 20_000, interval: 50 };

describe.each(Object.keys(proxyPrograms) as (keyof typeof proxyPrograms)[])('%s before a gateway', name => {
  let gateway: FleetGateway;
  let proxy: CachingProxy;
  let startGateway: () => Promise<void>;
  beforeEach(async () => {
    const directory = await temporaryDirectory();
    for (const [file, text] of Object.entries(files)) await writeFile(join(directory, file), text);
    const port = String(await freePort());
    const stops: (() => Promise<void>)[] = [];
    startGateway = async () => {
      const fleet = await startFleet(1, { SQL_DIR: directory, PORT: port, TOKEN_HASHES: tokenHashes });
      stops.push(fleet.stop);
      gateway = fleet.gateways[0]!;
    };
    await startGateway();
    proxy = await startProxy(name, Number(port));
    return async () => {
      await proxy.stop();
      for (const stop of stops) await stop();
    };
  });

  async function ask(path: string, headers: Record<string, string> = {}) {
    const response = await fetch(`${proxy.origin}/api/endpoints/query/${path}`, {
      headers: { 'x-api-key': tokens[0], ...headers },
    });
    return {
      status: response.status,
      proxy: response.headers.get('x-proxy') ?? '',
      gateway: response.headers.get('x-cache'),
      age: Number(response.headers.get('age')),
      etag: response.headers.get('etag') ?? '',
      text: await response.text(),
    };
  }

  const asked = (status: string) => gateway.metric('http_requests_total', `status="${status}"`);

  /** Asks until the proxy's copy is past its time. */
  const isPast = (path: string) =>
    vi.waitFor(async () => {
      const answer = await ask(path);
      expect(answer.proxy).not.toBe('HIT');
      return answer;
    }, waiting);

  test('keeps what is public: the second answer is its own, byte for byte', async () => {
    const miss = await ask('open?key=a');
    expect([miss.status, miss.proxy, miss.gateway]).toEqual([200, 'MISS', 'MISS']);
    const hit = await ask('open?key=a');
    expect([hit.status, hit.proxy, hit.text, hit.etag]).toEqual([200, 'HIT', miss.text, miss.etag]);
    const known = await ask('open?key=a', { 'if-none-match': miss.etag });
    expect([known.status, known.text]).toEqual([304, '']);
  });

  test('counts the time that an entry was kept in the gateway', async () => {
    const startedMs = performance.now();
    await gateway.get('/api/endpoints/query/open?key=aged');
    await vi.waitFor(async () => {
      const { headers } = await gateway.get('/api/endpoints/query/open?key=aged');
      expect(headers.age).toBe('2');
    }, waiting);
    const first = await ask('open?key=aged');
    expect([first.proxy, first.gateway, first.age]).toEqual(['MISS', 'HIT', 2]);
    await isPast('open?key=aged');
    // Five seconds in all; proxies count whole ones.
    expect(performance.now() - startedMs).toBeLessThan(6500);
  });

  // nginx passes on the age that it received.
  if (name === 'varnish') {
    test('adds the time that it kept an answer to its age', async () => {
      const first = await ask('open?key=older');
      expect([first.proxy, first.age]).toEqual(['MISS', 0]);
      await vi.waitFor(async () => {
        const { proxy: state, age, text } = await ask('open?key=older');
        expect([state, age, text]).toEqual(['HIT', 2, first.text]);
      }, waiting);
    });
  }

  test('shows an answer past its time while it gets the next one', async () => {
    const first = await ask('open?key=stale');
    const stale = await isPast('open?key=stale');
    expect([stale.status, stale.proxy, stale.text]).toEqual([200, 'STALE', first.text]);
    const staleMs = performance.now();
    await vi.waitFor(async () => {
      const next = await ask('open?key=stale');
      expect(next.status).toBe(200);
      expect(next.text).not.toBe(first.text);
    }, waiting);
    // The gateway's own entry is stale by then; a proxy that took it for fresh would keep it five seconds more.
    expect(performance.now() - staleMs).toBeLessThan(4000);
  });

  test('revalidates with the tag that it has, and gets a 304', async () => {
    const first = await ask('steady?key=a');
    await isPast('steady?key=a');
    await vi.waitFor(async () => {
      await ask('steady?key=a');
      expect(await asked('304')).toBeGreaterThan(0);
    }, waiting);
    expect((await ask('steady?key=a')).text).toBe(first.text);
  });

  test('shows what it has while the gateway is down, and asks it again when it is back', async () => {
    const first = await ask('strict?key=a');
    await gateway.kill();
    const stale = await isPast('strict?key=a');
    expect([stale.status, stale.proxy, stale.text]).toEqual([200, 'STALE', first.text]);
    await startGateway();
    await vi.waitFor(async () => {
      const next = await ask('strict?key=a');
      expect(next.status).toBe(200);
      expect(next.text).not.toBe(first.text);
    }, waiting);
  });

  test('gives nothing of one token to another, and nothing to a token that is none', async () => {
    const first = await ask('open?key=ours');
    const second = await ask('open?key=ours', { 'x-api-key': tokens[1] });
    expect([second.status, second.proxy, second.text]).toEqual([200, 'MISS', first.text]);
    expect((await ask('open?key=ours', { 'x-api-key': 'none' })).status).toBe(401);
    expect((await ask('open?key=ours')).proxy).toBe('HIT');
  });

  test('keeps redacted and unredacted answers apart', async () => {
    const address = 'key=203.0.113.7';
    const redacted = { 'lf-endpoint-redact-pii': 'true' };
    for (const _round of [1, 2]) {
      expect((await ask(`open?${address}`)).text).toContain('203.0.113.7');
      expect((await ask(`open?${address}`, redacted)).text).not.toContain('203.0.113.7');
    }
    expect((await ask(`open?${address}`, redacted)).proxy).toBe('HIT');
  });

  test('never keeps what is private: every request reaches the gateway', async () => {
    const states = [];
    for (let n = 0; n < 3; n++) states.push(await ask('closed?key=a'));
    expect(states.map(({ proxy: state }) => state)).toEqual(['MISS', 'MISS', 'MISS']);
    expect(states.map(({ gateway: state }) => state)).toEqual(['MISS', 'HIT', 'HIT']);
    expect(await gateway.metric('cache_requests_total', 'endpoint="closed"')).toBe(3);
  });
});
