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
let isSourceFailure: boolean;
let events: string[];
let guarded: Engine;
beforeEach(() => {
  clock = createStandingClock(0);
  runs = 0;
  explained = 0;
  failure = undefined;
  isSourceFailure = false;
  events = [];
  const engine: Engine = {
    async run() {
      runs++;
      if (failure) throw new GatewayError(failure, 'failed', { isSourceFailure });
      return rows;
    },
    describe: async () => [],
    subsets: async () => [],
    tablesVersion: async () => '',
    check: async () => [],
    async explain() {
      explained++;
      if (failure) throw new GatewayError(failure, 'failed');
      return { columns: [], sources: [] };
    },
    usage: () => ({ waiting: 0, memoryBytes: 0 }),
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

test('an engine that is unavailable five times in a row is not called', async () => {
  failure = 'unavailable';
  await askTimes(5);
  expect(await ask()).toBe('unavailable');
  expect(runs).toBe(5);
  expect(events).toEqual(['engine.down']);
});

test('after five seconds one query tries; if it fails the back-off starts over', async () => {
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

test('a clock that is set back prolongs no back-off', async () => {
  failure = 'unavailable';
  await askTimes(6);
  clock.advance(-3_600_000);
  failure = undefined;
  expect(await ask()).toBe('ok');
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

test.each<ErrorCode>([
  'invalid_query',
  'sandbox_refused',
  'overloaded',
  'too_many_requests',
  'deadline_exceeded',
  'cancelled',
])(
  '%s, which an engine that is down has too, neither resets the count nor closes the circuit',
  async code => {
    failure = 'unavailable';
    await askTimes(4);
    failure = code;
    await ask();
    failure = 'unavailable';
    await ask();
    expect(events).toEqual(['engine.down']);
    clock.advance(5000);
    failure = code;
    expect(await ask()).toBe(code);
    failure = 'unavailable';
    // It has left its turn to the next query.
    await askTimes(2);
    expect(runs).toBe(8);
    expect(events).toEqual(['engine.down']);
  },
);

test('a refusal by the engine itself closes the circuit', async () => {
  failure = 'unavailable';
  await askTimes(5);
  clock.advance(5000);
  failure = 'engine_failed';
  expect([await ask(), await ask()]).toEqual(['engine_failed', 'engine_failed']);
  expect(events).toEqual(['engine.down', 'engine.up']);
});

test('one source that is unavailable keeps nobody from the others', async () => {
  failure = 'unavailable';
  isSourceFailure = true;
  await askTimes(20);
  expect(runs).toBe(20);
  expect(events).toEqual([]);
});

test('a success between failures resets the count', async () => {
  for (let round = 0; round < 3; round++) {
    failure = 'unavailable';
    await askTimes(4);
    failure = undefined;
    await ask();
  }
  expect(runs).toBe(15);
  expect(events).toEqual([]);
});

test('explain is refused while the circuit is open, and counts as a failure if the engine is unavailable', async () => {
  failure = 'unavailable';
  await askTimes(3);
  await explain();
  await explain();
  expect(events).toEqual(['engine.down']);
  expect([await ask(), await explain()]).toEqual(['unavailable', 'unavailable']);
  expect([runs, explained]).toEqual([3, 2]);
});

test('explain neither takes the place of the trying query, nor closes the circuit', async () => {
  failure = 'unavailable';
  await askTimes(5);
  clock.advance(5000);
  failure = undefined;
  expect(await explain()).toBe('ok');
  expect(events).toEqual(['engine.down']);
  expect(await ask()).toBe('ok');
  expect(events).toEqual(['engine.down', 'engine.up']);
});

test('an invalid query in explain does not open the circuit', async () => {
  failure = 'invalid_query';
  for (let times = 0; times < 6; times++) expect(await explain()).toBe('invalid_query');
  failure = undefined;
  expect([await ask(), events]).toEqual(['ok', []]);
});
