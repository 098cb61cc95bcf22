import type { ServerResponse } from 'node:http';
import type { EndReason } from './http-events.ts';
import { pieceBytes } from './http-limits.ts';

/** Responses that their clients have not read yet. */
export type UnreadAnswers = {
  /** Bytes that wait to be read, over all connections. */
  readonly bytes: number;
  /** Writes a long body, piece by piece as the client reads it, and ends the response. */
  write(response: ServerResponse, body: Buffer): void;
  /** Watches a response that has ended but could not be handed to the system at once. */
  watch(response: ServerResponse): void;
  /** Stops watching. */
  close(): void;
};

type UnreadOptions = {
  /** Milliseconds for which a client may read nothing. */
  readonly timeoutMs: number;
  /** Bytes that may wait; beyond them, the responses that have made no progress for the longest are cut off. */
  readonly maxBytes: number;
  readonly onEnded: (reason: EndReason) => void;
};

type Unread = {
  readonly bytes: number;
  /** When the client last read something; as performance.now(). */
  progressMs: number;
};

/** Watches responses until they have been read. */
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

  /** Spares a new response: its client has had no time to read it. */
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
        // It waits for the response ahead of it on its connection; its own client has not been sent anything yet.
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
