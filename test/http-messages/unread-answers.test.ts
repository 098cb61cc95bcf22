import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { connect, createServer, Socket } from 'node:net';
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { EndReason } from '../../src/http-messages/http-events.ts';
import { pieceBytes } from '../../src/http-messages/http-limits.ts';
import { bytesWaiting, createUnreadAnswers } from '../../src/http-messages/unread-answers.ts';

const timeoutMs = 1000;

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** The two ends of a connection. */
async function openPair(): Promise<{ own: Socket; reader: Socket }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const reader = connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1').pause();
  const [own] = await once(server, 'connection');
  onTestFinished(() => {
    reader.destroy();
    own.destroy();
    server.close();
  });
  return { own, reader };
}

test('contract 2.27: who takes a long answer that was written at once bit by bit makes progress; who stops is cut off', async () => {
  const { own, reader } = await openPair();
  const ended: EndReason[] = [];
  const unread = createUnreadAnswers({
    timeoutMs,
    maxBytes: 1e9,
    onEnded: reason => ended.push(reason),
  });
  onTestFinished(unread.close);
  own.write(Buffer.alloc(64 * 1024 * 1024));
  unread.watch(own, 'reader');
  expect(unread.bytes).toBeGreaterThan(0);
  for (let round = 0; round < 5; round++) {
    const before = bytesWaiting(own);
    expect(before).toBeGreaterThan(pieceBytes);
    reader.resume();
    while (before - bytesWaiting(own) < pieceBytes) await new Promise(setImmediate);
    reader.pause();
    vi.advanceTimersByTime(0.9 * timeoutMs);
    expect([ended, own.destroyed]).toEqual([[], false]);
  }
  vi.advanceTimersByTime(3 * timeoutMs);
  expect([ended, own.destroyed, unread.bytes]).toEqual([['slow_reader'], true, 0]);
});

test('contract 2.27: who takes a few bytes now and then makes no progress', () => {
  const { unread, ended } = watchUnread({ maxBytes: 1e9 });
  const [response] = queueOf(1);
  const handle = { writeQueueSize: 10 * pieceBytes, reset: () => 0 };
  Object.assign(response!.req.socket, { _handle: handle });
  unread.watch(response!, 'slow');
  for (let round = 0; round < 5; round++) {
    vi.advanceTimersByTime(50_000);
    expect(ended).toEqual([]);
    handle.writeQueueSize -= pieceBytes;
  }
  const endsMs = performance.now() + 65_000;
  while (ended.length === 0 && performance.now() < endsMs) {
    vi.advanceTimersByTime(1000);
    handle.writeQueueSize -= 100;
  }
  Object.assign(response!.req.socket, { _handle: null });
  expect(ended).toEqual(['slow_reader']);
});

test('contract 2.27: time in which the gateway stood still is not the reader’s', async () => {
  const { own } = await openPair();
  const ended: EndReason[] = [];
  const now = performance.now.bind(performance);
  let stoodStillMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + stoodStillMs);
  onTestFinished(() => clock.mockRestore());
  const unread = createUnreadAnswers({
    timeoutMs,
    maxBytes: 1e9,
    onEnded: reason => ended.push(reason),
  });
  onTestFinished(unread.close);
  own.write(Buffer.alloc(64 * 1024 * 1024));
  unread.watch(own, 'reader');
  stoodStillMs = 10 * timeoutMs;
  vi.advanceTimersByTime(0.9 * timeoutMs);
  expect([ended, own.destroyed]).toEqual([[], false]);
  vi.advanceTimersByTime(0.5 * timeoutMs);
  expect([ended, own.destroyed]).toEqual([['slow_reader'], true]);
});

test('contract 11.1: readers of one caller who stop cut off no slow reader of another', async () => {
  const slow = await openPair();
  const { unread, ended } = watchUnread({ maxBytes: 64 * 1024 * 1024 });
  slow.own.write(Buffer.alloc(24 * 1024 * 1024));
  unread.watch(slow.own, 'slow');
  // Each is newer than the slow one, and has been idle for less.
  const stopped = await Promise.all(Array.from({ length: 8 }, openPair));
  for (const { own } of stopped) {
    vi.advanceTimersByTime(10);
    own.write(Buffer.alloc(16 * 1024 * 1024));
    unread.watch(own, 'flood');
  }
  expect(ended.length).toBeGreaterThan(0);
  expect(slow.own.destroyed).toBe(false);
  expect(stopped.at(-1)?.own.destroyed).toBe(false);
  expect(unread.bytes).toBeLessThanOrEqual(64 * 1024 * 1024);
});

test('where connections are needed, readers who have stopped make way, those of the caller with the most of them first', async () => {
  const { unread, ended } = watchUnread({ maxBytes: 1e9 });
  const [one, ...many] = await Promise.all(Array.from({ length: 3 }, openPair));
  for (const [at, { own }] of [one!, ...many].entries()) {
    own.write(Buffer.alloc(16 * 1024 * 1024));
    unread.watch(own, at === 0 ? 'one' : 'flood');
  }
  const left = () => [one, ...many].map(pair => !pair?.own.destroyed);
  // They may be reading just now.
  expect(unread.endStopped()).toBe(false);
  vi.advanceTimersByTime(900);
  expect(unread.endStopped()).toBe(false);
  const endOne = () =>
    // The system may take some more of what was written.
    expect
      .poll(() => {
        vi.advanceTimersByTime(1100);
        return unread.endStopped();
      })
      .toBe(true);
  await endOne();
  expect([left()[0], left().filter(Boolean).length]).toEqual([true, 2]);
  expect(ended).toEqual(['connection_limit']);
  await endOne();
  await endOne();
  expect([left(), unread.endStopped()]).toEqual([[false, false, false], false]);
});

/** Responses on one connection that have been written and that nobody reads; the first of them is being sent. */
function queueOf(length: number): ServerResponse[] {
  const socket = new Socket();
  const responses = Array.from({ length }, () => {
    const response = new ServerResponse(new IncomingMessage(socket));
    response.end('x');
    return response;
  });
  Object.assign(responses[0]!, { socket });
  return responses;
}

test('a connection ends as one: what waits on it behind the first response goes with it, and is no progress', () => {
  const { unread, ended } = watchUnread({ maxBytes: 1e9 });
  const responses = queueOf(3);
  for (const response of responses) {
    unread.watch(response, 'flood');
    vi.advanceTimersByTime(600);
  }
  expect(unread.bytes).toBeGreaterThan(0);
  expect(unread.endStopped()).toBe(true);
  expect([ended, unread.bytes, responses[0]?.destroyed]).toEqual([['connection_limit'], 0, true]);
});

test('contract 2.27: while an earlier response is being made, its client is not slow', () => {
  const { unread, ended } = watchUnread({ maxBytes: 1e9 });
  const [earlier, ...responses] = queueOf(3);
  for (const response of responses) unread.watch(response, 'one');
  vi.advanceTimersByTime(100_000);
  expect([unread.endStopped(), ended]).toEqual([false, []]);
  unread.watch(earlier!, 'one');
  vi.advanceTimersByTime(50_000);
  expect(ended).toEqual([]);
  vi.advanceTimersByTime(15_000);
  expect([ended, unread.bytes]).toEqual([['slow_reader'], 0]);
});

test('contract 11.2: to find who makes way takes no longer for many responses on each connection', () => {
  /** Milliseconds of processor time. */
  const costOf = (length: number) => {
    const { unread } = watchUnread({ maxBytes: 1e9 });
    for (let n = 0; n < 200; n++) for (const response of queueOf(length)) unread.watch(response, 'flood');
    vi.advanceTimersByTime(1100);
    const before = process.threadCpuUsage();
    for (let n = 0; n < 20; n++) expect(unread.endStopped()).toBe(true);
    const { user, system } = process.threadCpuUsage(before);
    unread.close();
    return (user + system) / 1000;
  };
  costOf(1);
  const least = (length: number) => Math.min(...Array.from({ length: 3 }, () => costOf(length)));
  // Of a hundred times as many; the processor's time may be counted in whole milliseconds.
  expect(least(100)).toBeLessThan(20 * Math.max(1, least(1)));
});

test('contract 11.2: two thousand readers who make way for one response take no longer than it took to add them', () => {
  const kib = 1024;
  const count = 2000;
  const since = (before: NodeJS.CpuUsage) => {
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  };
  /** Milliseconds of processor time that they take to be added, and to make way. */
  const costs = () => {
    const { unread, ended } = watchUnread({ maxBytes: count * 64 * kib });
    const write = (bytes: number, caller: string) => {
      const [response] = queueOf(1);
      const quiet = { write: () => false, end: () => response };
      unread.write(Object.assign(response!, quiet), Buffer.alloc(bytes), caller);
    };
    const before = process.threadCpuUsage();
    for (let n = 0; n < count; n++) write(64 * kib, `caller ${n % 50}`);
    const addMs = since(before);
    const middle = process.threadCpuUsage();
    write(count * 64 * kib - 1, 'large');
    const evictMs = since(middle);
    expect([ended.length, unread.bytes]).toEqual([count, count * 64 * kib - 1]);
    unread.close();
    return { addMs, evictMs };
  };
  costs();
  const all = Array.from({ length: 3 }, costs);
  expect(Math.min(...all.map(({ evictMs }) => evictMs))).toBeLessThan(
    2 * Math.max(1, Math.min(...all.map(({ addMs }) => addMs))),
  );
});

test('contract 11.2: long bodies for which the system has room are written in many turns of the event loop', async () => {
  const { unread } = watchUnread({ maxBytes: 1e9 });
  let turn = 0;
  const turns: number[] = [];
  /** A piece takes a millisecond, and the system accepts each. */
  class Eager extends ServerResponse {
    override write() {
      expect(this.destroyed).toBe(false);
      vi.advanceTimersByTime(1);
      turns.push(turn);
      process.nextTick(() => this.emit('drain'));
      return false;
    }
    override end() {
      this.emit('close');
      return this;
    }
  }
  const body = Buffer.alloc(20 * pieceBytes);
  async function* inParts() {
    yield body;
  }
  const open = () => new Eager(new IncomingMessage(new Socket()));
  for (let n = 0; n < 10; n++) unread.write(open(), body, 'flood');
  const written = Array.from({ length: 10 }, () => unread.writeParts(open(), inParts(), 0, 'flood'));
  const left = [open(), open()];
  unread.write(left[0]!, body, 'flood');
  written.push(unread.writeParts(left[1]!, inParts(), 0, 'flood'));
  await new Promise(setImmediate);
  for (const each of left) each.destroy().emit('close');
  let areWritten = false;
  void Promise.all(written).then(() => {
    areWritten = true;
  });
  for (; !areWritten || unread.bytes > 0; turn++) await new Promise(setImmediate);
  expect(turns.length).toBeGreaterThanOrEqual(10 * 19 + 10 * 20);
  // Eight milliseconds of each turn, of which two may count as one here; the first pieces of all are written at once.
  const most = Math.max(
    ...Map.groupBy(turns, each => each)
      .values()
      .map(({ length }) => length),
  );
  expect(most).toBeLessThanOrEqual(22 + 2 * 9);
});

function watchUnread({ maxBytes }: { maxBytes: number }) {
  const ended: EndReason[] = [];
  const unread = createUnreadAnswers({
    timeoutMs: 60_000,
    maxBytes,
    onEnded: reason => ended.push(reason),
  });
  onTestFinished(unread.close);
  return { unread, ended };
}
