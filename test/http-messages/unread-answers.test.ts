import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
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
  unread.watch(own);
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
  unread.watch(own);
  stoodStillMs = 10 * timeoutMs;
  vi.advanceTimersByTime(0.9 * timeoutMs);
  expect([ended, own.destroyed]).toEqual([[], false]);
  vi.advanceTimersByTime(0.5 * timeoutMs);
  expect([ended, own.destroyed]).toEqual([['slow_reader'], true]);
});
