import type { Writable } from 'node:stream';

/** An output for lines that never blocks its writer. */
export type LogOutput = {
  /** Takes a line, or drops it where too many wait. */
  write(line: string): void;
  /** Lines that were dropped so far. */
  readonly droppedLines: number;
  /** Resolves when what was written so far has been handed over, or the time is up. */
  flush(timeoutMs: number): Promise<void>;
};

/** Milliseconds between two writes of the collected lines. */
const flushMs = 100;

/** Bytes, about, that wait for a reader who has stopped reading. */
const maxWaiting = 1024 * 1024;

/**
 * Makes the output of a log: lines are collected, written asynchronously, and dropped where the reader of the stream does not
 * keep up.
 * @param stream as `openStandardOutput` opens it
 */
export function createLogOutput(stream: Writable): LogOutput {
  let waiting: string[] = [];
  let waitingLength = 0;
  let droppedLines = 0;
  let reportedLines = 0;
  let writing: Promise<void> | undefined;
  let isScheduled = false;

  // The reader is gone: the lines are lost, the service goes on.
  stream.on('error', () => undefined);

  function writeWaiting(): Promise<void> {
    if (writing) return writing;
    if (droppedLines > reportedLines) {
      const lines = droppedLines - reportedLines;
      reportedLines = droppedLines;
      const line = `${JSON.stringify({ level: 40, time: new Date(), event: 'log.dropped', lines })}\n`;
      waiting.push(line);
      waitingLength += line.length;
    }
    if (waiting.length === 0) return Promise.resolve();
    const text = waiting.join('');
    waiting = [];
    writing = new Promise(resolve => {
      stream.write(text, () => {
        waitingLength -= text.length;
        writing = undefined;
        if (waiting.length > 0) schedule();
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
      if (waitingLength + line.length > maxWaiting) {
        droppedLines++;
        return;
      }
      waiting.push(line);
      waitingLength += line.length;
      schedule();
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
