import fc from 'fast-check';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { GatewayEvent } from '../../src/telemetry/events.ts';
import { createEventLog } from '../../src/telemetry/log-events.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function openLog(level = 'info') {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  return { lines, log: createEventLog(level, { write }) };
}

const answered = fc.record(
  {
    type: fc.constant('http.answered' as const),
    requestId: fc.string({ unit: 'binary' }),
    method: fc.constantFrom('GET', 'POST'),
    path: fc.oneof(fc.webPath(), fc.string({ unit: 'binary' })),
    status: fc.integer({ min: 200, max: 599 }),
    bytes: fc.nat(),
    ms: fc.double({ min: 0, max: 60_000, noNaN: true }),
    endpoint: fc.constantFrom(undefined, 'logs.all', 'usage.api-counts,logs.all'),
    cache: fc.constantFrom(undefined, 'hit', 'hit,miss'),
    tokenId: fc.constantFrom(undefined, 'tok_1'),
    rows: fc.constantFrom(undefined, 0, 1000),
    traceId: fc.constantFrom(undefined, '0af7651916cd43dd8448eb211c80319c'),
    code: fc.constantFrom(undefined, 'source_not_found'),
  },
  { requiredKeys: ['type', 'requestId', 'method', 'path', 'status', 'bytes', 'ms'] },
);

const request: GatewayEvent = {
  type: 'http.answered',
  requestId: 'r',
  method: 'GET',
  path: '/',
  status: 200,
  bytes: 2,
  ms: 0.5,
};

test('the line of a request is the one that pino would write', () => {
  const { lines, log } = openLog();
  const expected: string[] = [];
  const write = (line: string) => void expected.push(line);
  const logger = pino({ base: undefined, timestamp: pino.stdTimeFunctions.isoTime }, { write });
  fc.assert(
    fc.property(answered, event => {
      const { type, ...facts } = event;
      log(event);
      logger.info({ event: type, ...facts });
      expect(lines.at(-1)).toBe(expected.at(-1));
    }),
  );
});

test('each line carries its own time', () => {
  const { lines, log } = openLog();
  for (const ms of [1_000, 1_000, 2_001]) {
    vi.setSystemTime(ms);
    log(request);
    log({ type: 'http.stopping', connections: 1 });
  }
  const times = lines.map(line => JSON.parse(line).time.slice(17));
  expect(times).toEqual(['01.000Z', '01.000Z', '01.000Z', '01.000Z', '02.001Z', '02.001Z']);
});

test('a log of warnings leaves requests out', () => {
  const { lines, log } = openLog('warn');
  log(request);
  expect(lines).toEqual([]);
});
