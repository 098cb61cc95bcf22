import type { Writable } from 'node:stream';

/** An output for lines that never blocks its writer. */
export type LogOutput = {
  /** Takes a line, or drops it if too many wait. */
  write(line: string): void;
  /** Lines that were dropped so far. */
  readonly droppedLines: number;
  /** Resolves when what was written so far has been handed over, or the time is up. */
  flush(timeoutMs: number): Promise<void>;
};

/** Milliseconds for which a line waits at most, where the stream takes it. */
const flushMs = 100;

/** Bytes that are written at a time; a chunk that is full does not wait. */
const chunkBytes = 64 * 1024;

/** Bytes that wait for a reader who has stopped reading. */
const maxWaiting = 1024 * 1024;

/**
 * Makes the output of a log: lines are collected, written asynchronously, and dropped if the reader of the stream does not
 * keep up. They are collected as bytes: as strings they would outlive the requests that they report, and V8 would move them.
 * @param stream as `openStandardOutput` opens it
 */
export function createLogOutput(stream: Writable): LogOutput {
  let chunk = Buffer.allocUnsafe(chunkBytes);
  let used = 0;
  /** Chunks that wait for the write in progress. */
  let full: Buffer[] = [];
  let waitingBytes = 0;
  let droppedLines = 0;
  let reportedLines = 0;
  let writing: Promise<void> | undefined;
  let isScheduled = false;

  // The reader is gone: the lines are lost, the service goes on.
  stream.on('error', () => undefined);

  function collect(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (used + bytes > chunk.length) {
      closeChunk();
      if (bytes > chunk.length) chunk = Buffer.allocUnsafe(bytes);
    }
    used += chunk.write(line, used);
    waitingBytes += bytes;
  }

  function closeChunk(): void {
    if (used === 0) return;
    full.push(chunk.subarray(0, used));
    chunk = Buffer.allocUnsafe(chunkBytes);
    used = 0;
  }

  function writeWaiting(): Promise<void> {
    if (writing) return writing;
    if (droppedLines > reportedLines) {
      const lines = droppedLines - reportedLines;
      reportedLines = droppedLines;
      collect(`${JSON.stringify({ level: 40, time: new Date(), event: 'log.dropped', lines })}\n`);
    }
    closeChunk();
    if (full.length === 0) return Promise.resolve();
    const bytes = full.length === 1 ? full[0]! : Buffer.concat(full);
    full = [];
    writing = new Promise(resolve => {
      stream.write(bytes, () => {
        waitingBytes -= bytes.length;
        writing = undefined;
        if (full.length > 0) void writeWaiting();
        else if (used > 0) schedule();
        resolve();
      });
    });
    return writing;
  }

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    setTimeout(() => {
      isScheduled = false;
      void writeWaiting();
    }, flushMs).unref();
  }

  return {
    get droppedLines() {
      return droppedLines;
    },
    write(line) {
      if (waitingBytes + line.length > maxWaiting) {
        droppedLines++;
        return;
      }
      collect(line);
      if (full.length > 0) void writeWaiting();
      else schedule();
    },
    async flush(timeoutMs) {
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const giveUp = setTimeout(resolve, timeoutMs);
      // First the write in progress, then the lines that came since.
      await Promise.race([late, writeWaiting().then(writeWaiting)]);
      clearTimeout(giveUp);
    },
  };
}
