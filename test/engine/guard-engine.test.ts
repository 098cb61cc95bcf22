import { beforeEach, expect, test } from 'vitest';
import { type ErrorCode, GatewayError } from '../../src/base/errors.ts';
import type { Engine, Statement } from '../../src/engine/engine.ts';
import { guardEngine } from '../../src/engine/guard-engine.ts';
import { createStandingClock, type StandingClock } from '../support/standing-clock.ts';

const statement: Statement = { endpoint: 'test', sql: 'select 1', parameters: [], maxRows: 1 };
const rows = { columns: [], rowsJson: Buffer.from('[]'), rowCount: 0 };

let clock: StandingClock;
let runs: number;
let explained: number;
let failure: ErrorCode | undefined;
let events: string[];
let guarded: Engine;
beforeEach(() => {
  clock = createStandingClock(0);
  runs = 0;
  explained = 0;
  failure = undefined;
  events = [];
  const engine: Engine = {
    async run() {
      runs++;
      if (failure) throw new GatewayError(failure, 'failed');
      return rows;
    },
    describe: async () => [],
    async explain() {
      explained++;
      if (failure) throw new GatewayError(failure, 'failed');
      return { columns: [], sources: [] };
    },
    close: async () => undefined,
  };
  guarded = guardEngine(engine, { clock, emit: ({ type }) => events.push(type) });
});

const options = { signal: new AbortController().signal, timeoutMs: 1000 };
const outcome = (asked: Promise<unknown>) =>
  asked.then(
    () => 'ok',
    (error: GatewayError) => error.code,
  );
const ask = () => outcome(guarded.run(statement, options));
const explain = () => outcome(guarded.explain(statement, options));
const askTimes = async (times: number) => {
  for (let n = 0; n < times; n++) await ask();
};

test('an engine that is away five times in a row is left alone', async () => {
  failure = 'unavailable';
  await askTimes(5);
  expect(await ask()).toBe('unavailable');
  expect(runs).toBe(5);
  expect(events).toEqual(['engine.down']);
});

test('after five seconds one query tries; where it fails the rest begins again', async () => {
  failure = 'unavailable';
  await askTimes(6);
  clock.advance(5000);
  await Promise.all([ask(), ask(), ask()]);
  expect(runs).toBe(6);
  clock.advance(4999);
  await ask();
  expect(runs).toBe(6);
  clock.advance(1);
  failure = undefined;
  expect(await ask()).toBe('ok');
  expect(await ask()).toBe('ok');
  expect(events).toEqual(['engine.down', 'engine.up']);
});

test.each<ErrorCode>(['invalid_query', 'engine_failed', 'deadline_exceeded', 'overloaded', 'cancelled'])(
  'what one query met, %s, keeps nobody else away',
  async code => {
    failure = code;
    await askTimes(20);
    expect(runs).toBe(20);
    expect(events).toEqual([]);
  },
);

test('a success between failures begins the count anew', async () => {
  for (let round = 0; round < 3; round++) {
    failure = 'unavailable';
    await askTimes(4);
    failure = undefined;
    await ask();
  }
  expect(runs).toBe(15);
  expect(events).toEqual([]);
});

test('an explanation is refused while the engine is left alone, and counts where it finds it away', async () => {
  failure = 'unavailable';
  await askTimes(3);
  await explain();
  await explain();
  expect(events).toEqual(['engine.down']);
  expect([await ask(), await explain()]).toEqual(['unavailable', 'unavailable']);
  expect([runs, explained]).toEqual([3, 2]);
});

test('an explanation neither takes the place of the query that tries, nor says that the engine is back', async () => {
  failure = 'unavailable';
  await askTimes(5);
  clock.advance(5000);
  failure = undefined;
  expect(await explain()).toBe('ok');
  expect(events).toEqual(['engine.down']);
  expect(await ask()).toBe('ok');
  expect(events).toEqual(['engine.down', 'engine.up']);
});

test('what an explanation finds wrong with its query keeps nobody away', async () => {
  failure = 'invalid_query';
  for (let times = 0; times < 6; times++) expect(await explain()).toBe('invalid_query');
  failure = undefined;
  expect([await ask(), events]).toEqual(['ok', []]);
});
