import { beforeEach, describe, expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import type { RunOptions } from '../../src/engine/engine.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const header = (name: string, digit: number, settings: string) => `/*
id: 7e57ab1e-0000-4000-8000-00000000010${digit}
name: ${name}
description: What costs something.
parameters:
  project: { type: string, required: true, description: Reference of the project. }
columns:
  n: { type: INT64, description: A number. }
${settings}
*/
select 1 as n`;

const receipt = { bytesProcessed: 1000, bytesBilled: 10_485_760, slotMs: 1500, jobId: 'sqg_"1"' };
const receiptText = 'bytes-processed=1000, bytes-billed=10485760, slot-ms=1500, job-id="sqg_\\"1\\""';

const columns = [{ name: 'n', type: 'INT64', mode: 'NULLABLE' }] as const;

let runs: RunOptions[];
/** What a query waits for. */
let held: Promise<void> | undefined;
let explained: (string | undefined)[];
let gateway: OpenGateway;
beforeEach(async () => {
  runs = [];
  explained = [];
  held = undefined;
  gateway = await openGateway({
    // In one process, the next turn of the event loop finds every caller waiting.
    environment: { CACHE_MEMORY_MB: '1' },
    tokens: {
      plain: {},
      poor: { maxBytesBilled: 4000 },
      rich: { maxBytesBilled: 6000 },
      explainer: { scopes: ['explain'] },
      'poor explainer': { scopes: ['explain'], maxBytesBilled: 4000 },
    },
    sqlFiles: {
      'kept.sql': header(
        'kept',
        1,
        'cacheSeconds: 60\nmaxBytesBilled: 5000\nlabels: [team, cost-centre]\nstaleSeconds: 0',
      ),
      'open.sql': header('open', 3, 'sandbox: true').replace('required: true', 'required: false'),
      'each.time.sql': header('each.time', 2, ''),
    },
    engine: {
      describe: async () => columns,
      async run(_statement, options) {
        runs.push(options);
        await held;
        return {
          columns,
          rowsJson: Buffer.from('[{"n":1}]'),
          rowCount: 1,
          receipt,
        };
      },
      async explain({ callerSql }) {
        explained.push(callerSql);
        if (callerSql === 'away') throw new GatewayError('unavailable', 'Away');
        if (callerSql === 'bad') {
          throw new GatewayError('sandbox_refused', 'Table bad is no subset', {
            position: { line: 1, column: 2 },
          });
        }
        return { columns, sources: ['edge'], estimatedBytes: 77 };
      },
    },
  });
  return gateway.close;
});

const ask = (path: string, { as = 'plain', ...init }: RequestInit & { as?: string } = {}) =>
  gateway.send(`/api/endpoints/query/${path}`, {
    ...init,
    headers: { 'x-api-key': gateway.token(as), 'content-type': 'application/json', ...init.headers },
  });
const get = (path: string, headers: Record<string, string> = {}) => ask(path, { headers });

describe('the receipt of a query', () => {
  test('is on the answer that waited for it; a hit cost nothing and has none', async () => {
    const miss = await get('kept?project=a');
    expect([miss.headers.get('x-cache'), miss.headers.get('query-receipt')]).toEqual(['MISS', receiptText]);
    for (let times = 0; times < 3; times++) {
      const hit = await get('kept?project=a');
      expect([hit.headers.get('x-cache'), hit.headers.get('query-receipt')]).toEqual(['HIT', null]);
    }
    expect(runs).toHaveLength(1);
  });

  test('is on every answer of an endpoint that is not cached', async () => {
    for (let times = 0; times < 2; times++) {
      expect((await get('each.time?project=a')).headers.get('query-receipt')).toBe(receiptText);
    }
  });

  test('is the same for all who waited for one query', async () => {
    const { promise, resolve: release } = Promise.withResolvers<void>();
    held = promise;
    const asked = [1, 2, 3].map(() => get('kept?project=a'));
    let arrived = 0;
    gateway.server.on('request', () => {
      // By the next turn of the loop the last one waits as well.
      if (++arrived === 3) setImmediate(release);
    });
    const receipts = (await Promise.all(asked)).map(({ headers }) => headers.get('query-receipt'));
    expect([receipts, runs.length]).toEqual([[receiptText, receiptText, receiptText], 1]);
  });

  test('can be read by pages of other origins', async () => {
    const { headers } = await get('kept?project=a', { origin: 'https://studio.example' });
    expect(headers.get('access-control-expose-headers')).toContain('Query-Receipt');
  });

  test('is in the extensions of GraphQL beside the state of the cache', async () => {
    const query = '{ kept(project: "a") { n } }';
    expect((await gateway.graphql(query)).body.extensions.cache).toEqual([
      { path: 'kept', state: 'miss', ageSeconds: 0, receipt },
    ]);
    for (let times = 0; times < 2; times++) {
      expect((await gateway.graphql(query)).body.extensions.cache).toEqual([
        { path: 'kept', state: 'hit', ageSeconds: 0 },
      ]);
    }
  });

  test('is reported as an event and counted once, however many answers there were', async () => {
    for (let times = 0; times < 3; times++) await get('kept?project=a');
    expect(gateway.events.filter(({ type }) => type === 'engine.query')).toMatchObject([{ receipt }]);
    const text = await (await fetch(`${gateway.origin}/metrics`)).text();
    expect(text).toContain('engine_bytes_processed_total{endpoint="kept"} 1000\n');
    expect(text).toContain('engine_bytes_billed_total{endpoint="kept"} 10485760\n');
    expect(text).toContain('engine_slot_seconds_total{endpoint="kept"} 1.5\n');
    // Two of the three were spared.
    expect(text).toContain('cache_saved_bytes_total{endpoint="kept"} 2000\n');
    const tokenId = gateway.token('plain').split('_')[1];
    expect(text).toContain(`token_bytes_total{token_id="${tokenId}"} ${receipt.bytesBilled}\n`);
  });
});

describe('the labels of a query', () => {
  test('name the endpoint, the token and the request', async () => {
    for (const requestId of ['One.1', 'two']) {
      await get('each.time?project=a', { 'x-request-id': requestId });
    }
    const token_id = gateway.token('plain').split('_')[1];
    expect(runs.map(({ labels }) => labels)).toEqual([
      { endpoint: 'each.time', token_id, request_id: 'One.1' },
      { endpoint: 'each.time', token_id, request_id: 'two' },
    ]);
  });

  test('are taken from the request if the saved query allows their keys', async () => {
    const sent = `Team=The Team, cost-centre = 9,endpoint=mine,other=1,team,=`;
    await get('kept?project=a', { 'lf-endpoint-labels': sent });
    expect(runs[0]?.labels).toMatchObject({
      team: 'The Team',
      'cost-centre': '9',
      endpoint: 'kept',
    });
    expect(runs[0]?.labels).not.toHaveProperty('other');
  });

  test('do not divide the cache', async () => {
    await get('kept?project=a', { 'lf-endpoint-labels': 'team=red' });
    const second = await get('kept?project=a', { 'lf-endpoint-labels': 'team=blue' });
    expect([second.headers.get('x-cache'), runs.length]).toEqual(['HIT', 1]);
  });

  test('are those of the request that runs the query, not of an earlier one in the same words', async () => {
    for (const team of ['red', 'blue', 'red']) {
      await get('each.time?project=a', { 'lf-endpoint-labels': `team=${team}` });
      await get(`kept?project=${runs.length}`, { 'lf-endpoint-labels': `team=${team}` });
    }
    expect(runs.map(({ labels }) => labels?.team)).toEqual([
      undefined,
      'red',
      undefined,
      'blue',
      undefined,
      'red',
    ]);
  });
});

test('the smaller limit of bytes holds, the saved query’s or the token’s', async () => {
  await get('kept?project=a');
  await get('each.time?project=a');
  for (const as of ['poor', 'rich']) {
    await ask(`kept?project=${as}`, { as });
    await ask('each.time?project=a', { as });
  }
  expect(runs.map(run => run.maxBytesBilled)).toEqual([5000, undefined, 4000, 4000, 5000, 6000]);
});

describe('explain=true', () => {
  const explain = (path: string, init: RequestInit = {}) => ask(path, { as: 'explainer', ...init });

  test('contract 2.16: is for tokens with the scope alone', async () => {
    const { status, body } = await ask('kept?project=a&explain=true');
    expect([status, body.error.code, runs, explained]).toEqual([403, 'forbidden', [], []]);
  });

  test('says what the query would read, and runs none', async () => {
    const { body } = await ask('kept?project=a&explain=true', { as: 'poor explainer' });
    expect(body).toEqual({
      explain: {
        endpoint: 'kept',
        parameters: { project: 'a' },
        cache_key: expect.stringMatching(/^[0-9a-f]{64}$/),
        max_bytes_billed: 4000,
        verdict: 'ok',
        estimated_bytes: 77,
        sources: ['edge'],
        columns: [{ name: 'n', type: 'INT64', mode: 'NULLABLE' }],
      },
    });
    expect([runs.length, explained]).toEqual([0, [undefined]]);
  });

  test('is no query with its name percent-encoded either', async () => {
    const { body } = await explain('kept?project=a&%65xpl%61in=true');
    expect([body.explain?.endpoint, runs]).toEqual(['kept', []]);
  });

  test('names the one entry of these values, whatever way they came', async () => {
    const keyOf = async (path: string, init?: RequestInit) =>
      (await explain(path, init)).body.explain.cache_key;
    const key = await keyOf('kept?project=a&explain=true');
    expect(await keyOf('kept?explain=true', { method: 'POST', body: '{"project":"a"}' })).toBe(key);
    expect(await keyOf('kept?project=b&explain=true')).not.toBe(key);
  });

  test('gives the verdict on a caller’s SQL, with line and column', async () => {
    const { status, body } = await explain('open?explain=true&sql=bad');
    expect([status, body.explain.verdict, body.explain.error]).toEqual([
      200,
      'refused',
      { code: 'sandbox_refused', message: 'Table bad is no subset', line: 1, column: 2 },
    ]);
  });

  test('fails as any request does if the parameters are wrong or the engine is down', async () => {
    expect((await explain('kept?explain=true')).body.error.code).toBe('invalid_parameter');
    expect((await explain('nowhere?explain=true')).status).toBe(404);
    expect((await explain('open?explain=true&sql=away')).status).toBe(503);
  });

  test('false runs the query, and any other value is refused: who writes 1 wants none to run', async () => {
    expect((await explain('kept?project=a&explain=false')).body).toEqual({ result: [{ n: 1 }] });
    for (const value of ['1', 'TRUE', 'yes']) {
      const { status, body } = await explain(`kept?project=a&explain=${value}`);
      expect([status, body.error.message]).toEqual([400, expect.stringContaining('allowed: true, false')]);
    }
    expect(runs).toHaveLength(1);
  });

  test('in a body it is refused: the query would run', async () => {
    const post = (body: object) => explain('kept', { method: 'POST', body: JSON.stringify(body) });
    for (const value of [true, 'true', 1, { toString: 1, valueOf: 1 }]) {
      const { status, body } = await post({ project: 'a', explain: value });
      expect([status, body.error.message]).toEqual([400, expect.stringContaining('?explain=true')]);
    }
    expect(runs).toEqual([]);
    for (const value of [false, 'false', '', null])
      expect((await post({ project: 'a', explain: value })).status).toBe(200);
  });
});
