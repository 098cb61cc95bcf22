import { expect, onTestFinished, test } from 'vitest';
import { parseDefinition } from '../../src/endpoints/parse-definition.ts';
import { createHotKeys } from '../../src/warming/hot-keys.ts';
import { createMemorySchedule } from '../../src/warming/memory-schedule.ts';
import type { WarmKey, WarmSchedule } from '../../src/warming/schedule.ts';
import { createStandingClock } from '../support/standing-clock.ts';

const definition = parseDefinition(
  'things.sql',
  `/*
id: 00000000-0000-0000-0000-000000000001
name: things
description: Test.
columns: { n: { type: INT64, description: A number. } }
cacheSeconds: 900
warmSeconds: 300
*/
select 1 as n`,
);
const query = { definition, parameters: [], callerSql: 'select 2 as n' };

function openHotKeys(recordReads?: WarmSchedule['recordReads'], maxPending = 2) {
  const recorded: WarmKey[][] = [];
  const events: string[] = [];
  const schedule = {
    ...createMemorySchedule({ clock: createStandingClock(0), maxKeys: 10 }),
    recordReads: recordReads ?? (async (keys: readonly WarmKey[]) => void recorded.push([...keys])),
  };
  const hotKeys = createHotKeys({ schedule, emit: ({ type }) => events.push(type), maxPending });
  onTestFinished(() => hotKeys.close());
  return { hotKeys, recorded, events };
}

test('a key is reported once, however often it was read, with what is needed to query it again', async () => {
  const { hotKeys, recorded } = openHotKeys();
  for (let n = 0; n < 5; n++) hotKeys.recordRead('a', query);
  await hotKeys.flush();
  await hotKeys.flush();
  const payload = JSON.stringify({ endpoint: definition.id, parameters: { sql: 'select 2 as n' } });
  const key = {
    digest: 'a',
    group: 'a',
    endpoint: 'things',
    payload,
    periodMs: 300_000,
    lifetimeMs: 900_000,
  };
  expect(recorded).toEqual([[key]]);
});

test('under pressure reads are forgotten', async () => {
  const { hotKeys, recorded } = openHotKeys();
  for (const digest of ['a', 'b', 'c']) hotKeys.recordRead(digest, query);
  await hotKeys.flush();
  expect(recorded.map(keys => keys.map(({ digest }) => digest))).toEqual([['a', 'b']]);
});

test('contract 11.3: a key of long SQL is not kept warm: twenty thousand of them would fill the memory of the schedule', async () => {
  const { hotKeys, recorded } = openHotKeys();
  hotKeys.recordRead('too long', { ...query, callerSql: `select ${'1, '.repeat(4096)} 2 as n` });
  hotKeys.recordRead('long', { ...query, callerSql: `select ${'1, '.repeat(2700)} 2 as n` });
  await hotKeys.flush();
  expect(recorded.map(keys => keys.map(({ digest }) => digest))).toEqual([['long']]);
});

test('a schedule that does not answer is reported as an event, and fails no request', async () => {
  const { hotKeys, events } = openHotKeys(() => Promise.reject(new Error('away')));
  hotKeys.recordRead('a', query);
  await hotKeys.flush();
  expect(events).toEqual(['warm.schedule_failed']);
});

test('contract 11.2: ten thousand keys with long SQL are reported in several turns of the event loop', async () => {
  const { hotKeys, recorded } = openHotKeys(undefined, 10_000);
  const long = { ...query, callerSql: `select ${'1, '.repeat(3000)} 2 as n` };
  for (let n = 0; n < 10_000; n++) hotKeys.recordRead(`${n}`, long);
  let turns = 0;
  const flushed = hotKeys.flush();
  let isOver = false;
  void flushed.then(() => {
    isOver = true;
  });
  for (; !isOver; turns++) await new Promise(setImmediate);
  expect(recorded[0]).toHaveLength(10_000);
  expect(turns).toBeGreaterThan(3);
});

test('what was read while a report is under way is reported at the end, too', async () => {
  const gate = Promise.withResolvers<void>();
  const recorded: string[] = [];
  const { hotKeys } = openHotKeys(async keys => {
    recorded.push(...keys.map(({ digest }) => digest));
    await gate.promise;
  });
  hotKeys.recordRead('a', query);
  void hotKeys.flush();
  hotKeys.recordRead('b', query);
  const closed = hotKeys.close();
  gate.resolve();
  await closed;
  expect(recorded).toEqual(['a', 'b']);
});
