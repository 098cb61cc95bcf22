import { beforeEach, expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import type { RunOptions } from '../../src/engine/engine.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const sql = `/*
id: 7e57ab1e-0000-4000-8000-000000000201
name: things
description: What costs something.
parameters:
  thing: { type: string, required: true, description: A thing. }
columns:
  n: { type: INT64, description: A number. }
cacheSeconds: 60
staleSeconds: 60
maxBytesBilled: 5000
batch: { parameter: thing, key: thing }
*/
select 1 as n`;

const n = { name: 'n', type: 'INT64', mode: 'NULLABLE' } as const;
const thing = { name: 'thing', type: 'STRING', mode: 'NULLABLE' } as const;

/** The queries that ran: their limit, and the things that they were asked for. */
let runs: (Pick<RunOptions, 'maxBytesBilled'> & { things: number })[];
let priorities: RunOptions['priority'][];
/** What a query waits for. */
let held: Promise<void> | undefined;
let gateway: OpenGateway;
beforeEach(async () => {
  runs = [];
  priorities = [];
  held = undefined;
  gateway = await openGateway({
    tokens: { poor: { maxBytesBilled: 4000 }, rich: { maxBytesBilled: 9000 } },
    // A query of its own for each field outside an operation.
    environment: { BATCH_WINDOW_MS: '0' },
    sqlFiles: { 'things.sql': sql, 'things.batch.sql': 'select thing, 1 as n from unnest(@things) as thing' },
    engine: {
      describe: async ({ sql }) => (sql.includes('unnest') ? [thing, n] : [n]),
      async run({ parameters }, { maxBytesBilled, priority }) {
        priorities.push(priority);
        const [value] = parameters.map(parameter => parameter.value);
        const things = Array.isArray(value) ? value : undefined;
        runs.push({ maxBytesBilled, things: things?.length ?? 1 });
        await held;
        if ((maxBytesBilled ?? Infinity) < 5000) {
          throw new GatewayError('engine_failed', 'Too many bytes', { bytesLimit: maxBytesBilled });
        }
        if (!things) return { columns: [n], rowsJson: Buffer.from('[{"n":1}]'), rowCount: 1 };
        const rows = things.map(value => ({ thing: value, n: 1 }));
        return { columns: [thing, n], rowsJson: Buffer.from(JSON.stringify(rows)), rowCount: rows.length };
      },
    },
  });
  return gateway.close;
});

const by = (name: string) => ({ 'x-api-key': gateway.token(name) });
const get = (value: string, name: string) =>
  gateway.get(`/api/endpoints/query/things?thing=${value}`, by(name));
const graphql = async (query: string, name: string) => (await gateway.graphql(query, {}, by(name))).body;

/**
 * Asks by the token of the lower limit first, then by the other one, whose keys come to wait for the first one's query.
 * @param keys how many keys each of them asks for
 */
async function askTogether<Asked>(keys: number, ask: (name: string) => Promise<Asked>) {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  held = promise;
  const first = ask('poor');
  await expect.poll(() => runs.length).toBe(1);
  const second = ask('rich');
  const waiting = () => gateway.events.filter(({ type }) => type === 'cache.waiting').length;
  await expect.poll(waiting).toBe(keys);
  release();
  return Promise.all([first, second]);
}

test('a caller whose limit is too small fails alone', async () => {
  const [refused, answered] = await askTogether(1, name => get('a', name));
  expect([refused.status, answered.status]).toEqual([502, 200]);
  expect(runs).toEqual([
    { maxBytesBilled: 4000, things: 1 },
    { maxBytesBilled: 5000, things: 1 },
  ]);
});

test('the fields of one operation are refused with nobody else', async () => {
  const query = '{ a: things(thing: "a") { n } b: things(thing: "b") { n } }';
  const [refused, answered] = await askTogether(2, name => graphql(query, name));
  expect(refused.errors).toHaveLength(2);
  expect(answered.data).toEqual({ a: [{ n: 1 }], b: [{ n: 1 }] });
  const unrefused = runs.filter(({ maxBytesBilled }) => maxBytesBilled === 5000);
  expect(unrefused.reduce((sum, { things }) => sum + things, 0)).toBe(2);
});

test('an entry is refreshed behind callers and within the limit of the saved query, whoever reads it', async () => {
  await get('a', 'rich');
  gateway.clock.advance(61_000);
  const stale = await get('a', 'poor');
  expect(stale.headers.get('x-cache')).toBe('STALE');
  await expect.poll(async () => (await get('a', 'poor')).headers.get('x-cache')).toBe('HIT');
  expect(runs.map(({ maxBytesBilled }) => maxBytesBilled)).toEqual([5000, 5000]);
  expect(priorities).toEqual(['interactive', 'background']);
});
