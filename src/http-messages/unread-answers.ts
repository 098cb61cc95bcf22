import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { EndReason } from './http-events.ts';
import { pieceBytes } from './http-limits.ts';

/**
 * Responses that their clients have not read yet. Callers are the ids of accepted access tokens: responses to nobody in particular, of open routes and
 * refused requests, are those of one caller, who may be called anything.
 */
export type UnreadAnswers = {
  /** Bytes that wait to be read, over all connections. */
  readonly bytes: number;
  /** Writes a long body, piece by piece as the client reads it, and ends the response. */
  write(response: ServerResponse, body: Buffer, caller: string): void;
  /**
   * Writes a body part by part, each when the client has read the one before, and ends the response.
   * @param parts ended by `return` where the client leaves
   * @param heldBytes of memory that the parts are made of, which waits for the client as well
   * @returns the bytes that were written
   * @throws whatever `parts` throws; the connection has ended then, so that the client sees that bytes are missing
   */
  writeParts(
    response: ServerResponse,
    parts: AsyncIterableIterator<Buffer>,
    heldBytes: number,
    caller: string,
  ): Promise<number>;
  /** Watches a response that has ended but could not be handed to the system at once; a socket: that was written to it. */
  watch(response: ServerResponse | Socket, caller: string): void;
  /**
   * Ends the connection of a reader who has stopped, of the caller with the most unread responses.
   * @returns false if there is none
   */
  endStopped(): boolean;
  /** Stops watching. */
  close(): void;
};

type UnreadOptions = {
  /** Milliseconds for which a client may read nothing. */
  readonly timeoutMs: number;
  /**
   * Bytes that may wait; beyond them, the responses that have made no progress for the longest are cut off, those of the caller with the most bytes
   * first: one caller's readers, however many, are no reason to cut off another's slow one.
   */
  readonly maxBytes: number;
  readonly onEnded: (reason: EndReason) => void;
};

type Unread = {
  readonly caller: string;
  readonly bytes: number;
  /** Nothing waits any longer. */
  readonly settle: () => void;
  /** When the client last read something; as performance.now(). */
  progressMs: number;
  /** What `bytesWaiting` said then. */
  waiting: number;
};

/** Milliseconds without progress after which a reader has stopped, if its connection is needed. */
const stoppedMs = 1000;

type Watched = [ServerResponse | Socket, Unread];

/** The responses that wait, and whose they are. */
function createWatched({ maxBytes, onEnded }: Pick<UnreadOptions, 'maxBytes' | 'onEnded'>) {
  const unread = new Map<ServerResponse | Socket, Unread>();
  let total = 0;

  function end([response, { settle }]: Watched, reason: EndReason): void {
    settle();
    cutOff(response);
    onEnded(reason);
  }

  /** Spares a new response: its client has had no time to read it. */
  function makeRoom(spared: ServerResponse | Socket): void {
    while (total > maxBytes && unread.size > 1) {
      const slowest = slowestOf([...unread], ({ bytes }) => bytes, spared);
      if (slowest) end(slowest, 'unread_limit');
    }
  }

  return {
    bytes: () => total,
    add(response: ServerResponse | Socket, caller: string, bytes: number): Unread {
      const settle = () => {
        response.off('close', settle);
        if (unread.delete(response)) total -= bytes;
      };
      const entry = { caller, bytes, settle, progressMs: performance.now(), waiting: bytesWaiting(response) };
      unread.set(response, entry);
      total += bytes;
      response.once('close', settle);
      makeRoom(response);
      return entry;
    },
    /** @param lateMs milliseconds in which nobody could make progress */
    endSlow(timeoutMs: number, nowMs: number, lateMs: number): void {
      for (const [response, entry] of unread) {
        entry.progressMs += lateMs;
        noteProgress(response, entry, nowMs);
        if (nowMs - entry.progressMs > timeoutMs) end([response, entry], 'slow_reader');
      }
    },
    endStopped(): boolean {
      const nowMs = performance.now();
      for (const [response, entry] of unread) noteProgress(response, entry, nowMs);
      const stopped = [...unread].filter(([, { progressMs }]) => nowMs - progressMs > stoppedMs);
      const slowest = slowestOf(stopped, () => 1);
      if (slowest) end(slowest, 'connection_limit');
      return slowest !== undefined;
    },
  };
}

/** Of the caller that holds the most, the response that has made no progress for the longest; never the spared one. */
function slowestOf(
  all: readonly Watched[],
  held: (entry: Unread) => number,
  spared?: Watched[0],
): Watched | undefined {
  const sums = new Map<string, number>();
  for (const [, entry] of all) sums.set(entry.caller, (sums.get(entry.caller) ?? 0) + held(entry));
  let slowest: Watched | undefined;
  let most = 0;
  for (const each of all) {
    const sum = sums.get(each[1].caller)!;
    if (each[0] === spared || sum < most) continue;
    if (sum > most || !slowest || each[1].progressMs < slowest[1].progressMs) slowest = each;
    most = sum;
  }
  return slowest;
}

/** Watches responses until they have been read. */
export function createUnreadAnswers({ timeoutMs, ...options }: UnreadOptions): UnreadAnswers {
  const watched = createWatched(options);
  const { add, endStopped } = watched;
  const timer = lookEvery(Math.min(1000, Math.ceil(timeoutMs / 4)), (nowMs, lateMs) =>
    watched.endSlow(timeoutMs, nowMs, lateMs),
  );

  return {
    get bytes() {
      return watched.bytes();
    },
    write(response, body, caller) {
      // Its `close` is over: nothing would ever remove what is added now.
      if (response.destroyed) return;
      const entry = add(response, caller, body.length);
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
    async writeParts(response, parts, heldBytes, caller) {
      if (response.destroyed) {
        await parts.return?.();
        return 0;
      }
      const entry = add(response, caller, heldBytes + pieceBytes);
      return writeAll(response, parts, () => {
        entry.progressMs = performance.now();
      });
    },
    watch(response, caller) {
      const { writableLength } = response;
      if (writableLength === 0 || response.destroyed) return;
      const { settle } = add(response, caller, writableLength);
      // A socket stays open; this is called when all before it has been handed to the system.
      if (response instanceof Socket) response.write('', settle);
    },
    endStopped,
    close() {
      clearInterval(timer);
    },
  };
}

/**
 * Looks again and again.
 * @param look called with the time, and with how many milliseconds late it is: this process stood still then, or was busy, which is not the clients'
 */
function lookEvery(everyMs: number, look: (nowMs: number, lateMs: number) => void): NodeJS.Timeout {
  let lookedMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    look(nowMs, Math.max(0, nowMs - lookedMs - everyMs));
    lookedMs = nowMs;
  }, everyMs);
  return timer.unref();
}

/** Notes what the client of a long write has read since the last look. */
function noteProgress(target: ServerResponse | Socket, entry: Unread, nowMs: number): void {
  const waiting = bytesWaiting(target);
  // It waits for the response ahead of it on its connection; its own client has not been sent anything yet.
  const waitsForTurn = !(target instanceof Socket) && !target.socket;
  if (waitsForTurn || entry.waiting - waiting >= pieceBytes) entry.progressMs = nowMs;
  else if (waiting <= entry.waiting) return;
  entry.waiting = waiting;
}

/**
 * Bytes that were written and that the system has not taken yet. Node's own time-out of sockets goes by this number too, which has no public
 * name; `writableLength` stays what it was until all of a write has been taken.
 */
export function bytesWaiting(target: ServerResponse | Socket): number {
  const socket = target instanceof Socket ? target : target.socket;
  const { _handle: handle } = (socket ?? {}) as { _handle?: { writeQueueSize: number } | null };
  return handle?.writeQueueSize ?? 0;
}

/** @param onProgress called when the client is ready for a next piece */
async function writeAll(
  response: ServerResponse,
  parts: AsyncIterableIterator<Buffer>,
  onProgress: () => void,
): Promise<number> {
  let written = 0;
  // The client may leave while a part is being made.
  const leave = () => void parts.return?.();
  response.once('close', leave);
  try {
    for await (const part of parts) {
      if (response.destroyed) break;
      for (let at = 0; at < part.length && !response.destroyed; at += pieceBytes) {
        onProgress();
        const piece = part.subarray(at, at + pieceBytes);
        written += piece.length;
        if (!response.write(piece)) await drained(response);
      }
    }
    response.end();
  } catch (error) {
    // The client's leaving ends the parts, too.
    if (response.destroyed) return written;
    cutOff(response);
    throw error;
  } finally {
    response.off('close', leave);
  }
  return written;
}

/**
 * Ends a connection in the middle of a response by a reset. To a client of HTTP/1.0, which nginx is by default, a plain end is that of a body
 * without a length: rows that are missing would be missed by nobody. `resetAndDestroy` would first wait until all is read; this property, which
 * Node does not document, is what it sets.
 */
function cutOff(target: ServerResponse | Socket): void {
  const socket = target instanceof Socket ? target : target.socket;
  if (socket) Object.assign(socket, { resetAndClosing: true });
  target.destroy();
}

/** Resolves when the client has read what was written, or is gone. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise(resolve => {
    const settle = () => {
      response.off('drain', settle).off('close', settle);
      resolve();
    };
    response.on('drain', settle).on('close', settle);
    if (response.destroyed) settle();
  });
}
