import type { ServerResponse } from 'node:http';
import type { EndReason } from './http-events.ts';

/** Answers that their readers have not taken yet. */
export type UnreadAnswers = {
  /** Bytes that wait for their readers, over all connections. */
  readonly bytes: number;
  /** Writes a long body, piece by piece as its reader takes it, and ends the answer. */
  write(response: ServerResponse, body: Buffer): void;
  /** Watches an answer that was ended, if it could not be handed to the system at once. */
  watch(response: ServerResponse): void;
  /** Stops watching. */
  close(): void;
};

type UnreadOptions = {
  /** Milliseconds that a reader may take nothing for. */
  readonly timeoutMs: number;
  /** Bytes that may wait; beyond, the answers end whose readers have taken nothing for the longest. */
  readonly maxBytes: number;
  readonly onEnded: (reason: EndReason) => void;
};

type Unread = {
  readonly bytes: number;
  /** When the reader last took something; as performance.now(). */
  progressMs: number;
};

/** Bytes that are handed over at a time; a reader who takes as much within the time-out makes progress. */
const pieceBytes = 128 * 1024;

/** Watches answers until they are taken. */
export function createUnreadAnswers({ timeoutMs, maxBytes, onEnded }: UnreadOptions): UnreadAnswers {
  const unread = new Map<ServerResponse, Unread>();
  let total = 0;

  function add(response: ServerResponse, bytes: number): Unread {
    const entry = { bytes, progressMs: performance.now() };
    unread.set(response, entry);
    total += bytes;
    response.once('close', () => {
      if (unread.delete(response)) total -= bytes;
    });
    makeRoom(response);
    return entry;
  }

  /** A new answer is spared: nobody has had the time to take it. */
  function makeRoom(spared: ServerResponse): void {
    while (total > maxBytes && unread.size > 1) {
      let slowest: [ServerResponse, Unread] | undefined;
      for (const each of unread) {
        if (each[0] !== spared && (!slowest || each[1].progressMs < slowest[1].progressMs)) slowest = each;
      }
      if (slowest) end(slowest[0], slowest[1], 'unread_limit');
    }
  }

  function end(response: ServerResponse, { bytes }: Unread, reason: EndReason): void {
    if (unread.delete(response)) total -= bytes;
    response.destroy();
    onEnded(reason);
  }

  const timer = setInterval(
    () => {
      const nowMs = performance.now();
      for (const [response, entry] of unread) {
        // It waits for the answer before it on its connection; its own reader is not asked yet.
        if (!response.socket) entry.progressMs = nowMs;
        else if (nowMs - entry.progressMs > timeoutMs) end(response, entry, 'slow_reader');
      }
    },
    Math.min(1000, Math.ceil(timeoutMs / 4)),
  ).unref();

  return {
    get bytes() {
      return total;
    },
    write(response, body) {
      const entry = add(response, body.length);
      let at = 0;
      const writeMore = () => {
        entry.progressMs = performance.now();
        while (at < body.length) {
          const piece = body.subarray(at, at + pieceBytes);
          at += piece.length;
          if (at === body.length) response.end(piece);
          else if (!response.write(piece)) return;
        }
      };
      response.on('drain', writeMore);
      writeMore();
    },
    watch(response) {
      const { writableLength } = response;
      if (writableLength > 0) add(response, writableLength);
    },
    close() {
      clearInterval(timer);
    },
  };
}
