import { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createLogOutput } from '../../src/telemetry/log-output.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A stream whose reader takes what was written when told to. */
function openReader() {
  const taken: string[] = [];
  const waiting: (() => void)[] = [];
  const stream = new Writable({
    highWaterMark: 1,
    write(bytes, _encoding, done) {
      waiting.push(() => {
        taken.push(String(bytes));
        done();
      });
    },
  });
  const read = async () => {
    waiting.shift()?.();
    await vi.advanceTimersByTimeAsync(0);
  };
  return { stream, taken, waiting, read };
}

const ending = '\n';

describe('the output of a log', () => {
  test('writes the lines of a tenth of a second at once, in their order', async () => {
    const { stream, taken, read, waiting } = openReader();
    const log = createLogOutput(stream);
    log.write(`one é${ending}`);
    await vi.advanceTimersByTimeAsync(99);
    log.write(`two 🐢${ending}`);
    expect(waiting).toHaveLength(0);
    await vi.advanceTimersByTimeAsync(1);
    await read();
    expect(taken).toEqual(['one é\ntwo 🐢\n']);
  });

  test('does not wait with a chunk that is full, and keeps what comes meanwhile', async () => {
    const { stream, taken, read, waiting } = openReader();
    const log = createLogOutput(stream);
    const lines = Array.from({ length: 300 }, (_, n) => `${n} ${'x'.repeat(1000)}${ending}`);
    for (const line of lines) log.write(line);
    expect(waiting).toHaveLength(1);
    await read();
    await vi.advanceTimersByTimeAsync(100);
    while (waiting.length > 0) await read();
    expect(taken.join('')).toBe(lines.join(''));
    expect(log.droppedLines).toBe(0);
  });

  test('takes a line that is longer than a chunk', async () => {
    const { stream, taken, read, waiting } = openReader();
    const log = createLogOutput(stream);
    const lines = [`a${ending}`, `${'b'.repeat(200_000)}${ending}`, `c${ending}`];
    for (const line of lines) log.write(line);
    const flushed = log.flush(1000);
    while (taken.join('').length < 200_000) {
      await read();
      await vi.advanceTimersByTimeAsync(100);
    }
    while (waiting.length > 0) await read();
    await flushed;
    expect(taken.join('')).toBe(lines.join(''));
  });

  test('drops lines while nobody reads, counts them, and says so when somebody does', async () => {
    const { stream, taken, read, waiting } = openReader();
    const log = createLogOutput(stream);
    const line = `${'x'.repeat(1023)}${ending}`;
    for (let n = 0; n < 3000; n++) log.write(line);
    expect(log.droppedLines).toBe(3000 - 1024);
    do {
      await read();
      await vi.advanceTimersByTimeAsync(100);
    } while (waiting.length > 0);
    log.write(`after${ending}`);
    await vi.advanceTimersByTimeAsync(100);
    await read();
    const text = taken.join('');
    expect(text.split(line)).toHaveLength(1024 + 1);
    expect(text).toMatch(/"event":"log.dropped","lines":1976/);
    expect(text).toContain('after\n');
  });

  test('flushes what waits, and gives up at its time where nobody reads', async () => {
    const { stream, taken, read } = openReader();
    const log = createLogOutput(stream);
    log.write(`last${ending}`);
    let isFlushed = false;
    void log.flush(500).then(() => {
      isFlushed = true;
    });
    await vi.advanceTimersByTimeAsync(499);
    expect(isFlushed).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(isFlushed).toBe(true);
    await read();
    expect(taken).toEqual(['last\n']);
  });
});
