import { beforeEach, expect, test } from 'vitest';
import { GatewayError } from '../../src/base/errors.ts';
import type { RunOptions } from '../../src/engine/engine.ts';
import { openDoors } from '../support/open-doors.ts';

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

/** The queries that ran: their limit, and the things that they were asked for. */
let runs: (Pick<RunOptions, 'maxBytesBilled'> & { things: number })[];
let priorities: RunOptions['priority'][];
/** What a query waits for. */
let held: Promise<void> | undefined;
let doors: Awaited<ReturnType<typeof openDoors>>;
let poor: string;
let rich: string;
beforeEach(async () => {
  runs = [];
  priorities = [];
  held = undefined;
  doors = await openDoors({
    sqlFiles: { 'things.sql': sql, 'things.batch.sql': 'select thing, 1 as n from unnest(@things) as thing' },
    engine: {
      async run({ parameters }, { maxBytesBilled, priority }) {
        priorities.push(priority);
        const [value] = parameters.map(parameter => parameter.value);
        const things = Array.isArray(value) ? value : undefined;
        runs.push({ maxBytesBilled, things: things?.length ?? 1 });
        await held;
        if ((maxBytesBilled ?? Infinity) < 5000) {
          throw new GatewayError('engine_failed', 'Too many bytes', { bytesLimit: maxBytesBilled });
        }
        const n = { name: 'n', type: 'INT64', mode: 'NULLABLE' } as const;
        if (!things) return { columns: [n], rowsJson: Buffer.from('[{"n":1}]'), rowCount: 1 };
        const rows = things.map(thing => ({ thing, n: 1 }));
        const columns = [{ name: 'thing', type: 'STRING', mode: 'NULLABLE' } as const, n];
        return { columns, rowsJson: Buffer.from(JSON.stringify(rows)), rowCount: rows.length };
      },
      explain: async () => ({ columns: [], sources: [] }),
    },
  });
  poor = await doors.token({ maxBytesBilled: 4000 });
  rich = await doors.token({ maxBytesBilled: 9000 });
  return doors.close;
});

const get = (thing: string, token: string) =>
  doors.fetch(`/api/endpoints/query/things?thing=${thing}`, { headers: { 'x-api-key': token } });

async function graphql(query: string, token: string) {
  const headers = { 'x-api-key': token, 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify({ query }) };
  return (await doors.fetch('/graphql', init)).json();
}

/**
 * Asks by the token of the lower limit first, then by the other one, whose keys come to wait for the first one's query.
 * @param keys how many keys each of them asks for
 */
async function askTogether<Asked>(keys: number, ask: (token: string) => Promise<Asked>) {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  held = promise;
  const first = ask(poor);
  await expect.poll(() => runs.length).toBe(1);
  const second = ask(rich);
  const waiting = () => doors.events.filter(({ type }) => type === 'cache.waiting').length;
  await expect.poll(waiting).toBe(keys);
  release();
  return Promise.all([first, second]);
}

test('a caller whose limit is too small fails alone', async () => {
  const [refused, answered] = await askTogether(1, token => get('a', token));
  expect([refused.status, answered.status]).toEqual([502, 200]);
  expect(runs).toEqual([
    { maxBytesBilled: 4000, things: 1 },
    { maxBytesBilled: 5000, things: 1 },
  ]);
});

test('the fields of one operation are refused with nobody else', async () => {
  const query = '{ a: things(thing: "a") { n } b: things(thing: "b") { n } }';
  const [refused, answered] = await askTogether(2, token => graphql(query, token));
  expect(refused.errors).toHaveLength(2);
  expect(answered.data).toEqual({ a: [{ n: 1 }], b: [{ n: 1 }] });
  const unrefused = runs.filter(({ maxBytesBilled }) => maxBytesBilled === 5000);
  expect(unrefused.reduce((sum, { things }) => sum + things, 0)).toBe(2);
});

test('an entry is refreshed behind callers and within the limit of the saved query, whoever reads it', async () => {
  await get('a', rich);
  doors.clock.advance(61_000);
  const stale = await get('a', poor);
  expect(stale.headers.get('x-cache')).toBe('STALE');
  await expect.poll(async () => (await get('a', poor)).headers.get('x-cache')).toBe('HIT');
  expect(runs.map(({ maxBytesBilled }) => maxBytesBilled)).toEqual([5000, 5000]);
  expect(priorities).toEqual(['interactive', 'background']);
});
