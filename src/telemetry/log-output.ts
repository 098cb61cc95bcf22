import type { Writable } from 'node:stream';

/** An output for lines that never blocks its writer. */
export type LogOutput = {
  /** Queues a line, or drops it if too many wait. */
  write(line: string): void;
  /** Number of lines dropped so far. */
  readonly droppedLines: number;
  /** Resolves when all lines so far are handed to the stream, or after `timeoutMs`. */
  flush(timeoutMs: number): Promise<void>;
};

/** Maximum milliseconds for which a line waits if the stream accepts it. */
const flushMs = 100;

/** Bytes of one write; a full chunk does not wait. */
const chunkBytes = 64 * 1024;

/** Maximum bytes that wait for a reader who has stopped reading. */
const maxWaiting = 1024 * 1024;

/**
 * Makes the output of a log: lines are collected, written asynchronously, and dropped if the reader of the stream does not
 * keep up. They are collected as bytes: as strings they would outlive their requests, and V8's collector would copy them.
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
      // First the write in progress, then the lines added since.
      await Promise.race([late, writeWaiting().then(writeWaiting)]);
      clearTimeout(giveUp);
    },
  };
}
