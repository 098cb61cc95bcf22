import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { createTurnBudget, type TurnBudget } from '../base/turns.ts';
import type { EndReason } from './http-events.ts';
import { pieceBytes } from './http-limits.ts';

/**
 * Responses that their clients have not read yet. Callers are ids of accepted access tokens; responses of open routes and refused requests,
 * which have none, count together, as those of one caller.
 */
export type UnreadAnswers = {
  /** Bytes that wait to be read, over all connections. */
  readonly bytes: number;
  /** Writes a long body, piece by piece as the client reads it, and ends the response. */
  write(response: ServerResponse, body: Buffer, caller: string): void;
  /**
   * Writes a body part by part, each when the client has read the one before, and ends the response.
   * @param parts ended by `return` if the client leaves
   * @param heldBytes bytes of memory of the rows that the parts are made of, which are held until the client has read them
   * @returns the number of bytes written
   * @throws errors of `parts`; the connection is then ended, so that the client sees that bytes are missing
   */
  writeParts(
    response: ServerResponse,
    parts: AsyncIterableIterator<Buffer>,
    heldBytes: number,
    caller: string,
  ): Promise<number>;
  /** Watches a response that has ended but could not be handed to the system at once; given a socket, one that was written to it directly. */
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
  /** Maximum milliseconds for which a client may read nothing. */
  readonly timeoutMs: number;
  /**
   * Maximum bytes that may wait; beyond that, the responses without progress for the longest are cut off, those of the caller with the
   * most bytes first: one caller's readers, however many, must not cause another's slow one to be cut off.
   */
  readonly maxBytes: number;
  readonly onEnded: (reason: EndReason) => void;
};

type Target = ServerResponse | Socket;

type Unread = {
  readonly caller: string;
  /** Called when nothing waits any more. */
  readonly settle: () => void;
};

/** The client of one connection, whose responses leave in the order of requests: many may wait behind the one that is being sent. */
type Reader = {
  readonly unread: Map<Target, Unread>;
  bytes: number;
  /** When the client last read something; as `performance.now()`. */
  progressMs: number;
  /** The result of `bytesWaiting` at that time. */
  waiting: number;
};

/**
 * Milliseconds of one turn of the event loop after which no further piece of a long body is written: the system takes megabytes for a client that has
 * just connected, whether it reads or not.
 */
const maxTurnMs = 8;

/** After this many milliseconds without progress, a reader counts as stopped if its connection is needed. */
const stoppedMs = 1000;

/** The readers of the waiting responses. */
function createReaders({ maxBytes, onEnded }: Pick<UnreadOptions, 'maxBytes' | 'onEnded'>) {
  const readers = new Map<Socket, Reader>();
  let total = 0;

  function end(socket: Socket, reader: Reader, reason: EndReason): void {
    const target = currentOf(reader) ?? socket;
    for (const { settle } of [...reader.unread.values()]) settle();
    cutOff(target);
    onEnded(reason);
  }

  /** Cuts off readers until there is room, except the one of a new response, who has had no time to read it. */
  function makeRoom(spared: Target): void {
    if (total <= maxBytes) return;
    const others = [...readers].filter(
      ([, reader]) => !reader.unread.has(spared) || (currentOf(reader) ?? spared) !== spared,
    );
    for (const slowest of slowestFirst(others, ({ bytes }) => bytes)) {
      end(...slowest, 'unread_limit');
      if (total <= maxBytes) return;
    }
  }

  function readerOf(socket: Socket): Reader {
    const found = readers.get(socket);
    if (found) return found;
    const reader = {
      unread: new Map(),
      bytes: 0,
      progressMs: performance.now(),
      waiting: bytesWaiting(socket),
    };
    readers.set(socket, reader);
    return reader;
  }

  return {
    bytes: () => total,
    /** @returns what to call when nothing waits any more, and when the client has read something */
    add(target: Target, caller: string, bytes: number) {
      const socket = target instanceof Socket ? target : target.req.socket;
      const reader = readerOf(socket);
      // Of those that wait behind another nothing can be read yet.
      const noteRead = () => {
        if (currentOf(reader) === target) reader.progressMs = performance.now();
      };
      const settle = () => {
        target.off('close', settle);
        if (!reader.unread.delete(target)) return;
        reader.progressMs = performance.now();
        total -= bytes;
        reader.bytes -= bytes;
        if (reader.unread.size === 0 && readers.get(socket) === reader) readers.delete(socket);
      };
      reader.unread.set(target, { caller, settle });
      reader.bytes += bytes;
      total += bytes;
      target.once('close', settle);
      makeRoom(target);
      return { settle, noteRead };
    },
    /** @param lateMs milliseconds for which this process was busy, so that no client could make progress */
    endSlow(timeoutMs: number, nowMs: number, lateMs: number): void {
      for (const [socket, reader] of readers) {
        reader.progressMs += lateMs;
        noteProgress(socket, reader, nowMs);
        if (nowMs - reader.progressMs > timeoutMs) end(socket, reader, 'slow_reader');
      }
    },
    endStopped(): boolean {
      const nowMs = performance.now();
      for (const [socket, reader] of readers) noteProgress(socket, reader, nowMs);
      const stopped = [...readers].filter(([, { progressMs }]) => nowMs - progressMs > stoppedMs);
      const [slowest] = slowestFirst(stopped, () => 1);
      if (slowest) end(...slowest, 'connection_limit');
      return slowest !== undefined;
    },
  };
}

/** The response that is being sent; undefined while all of them wait for an earlier one that is not made yet. */
function currentOf({ unread }: Reader): Target | undefined {
  for (const target of unread.keys()) if (target instanceof Socket || target.socket) return target;
  return undefined;
}

type Entry = [Socket, Reader];

/**
 * Yields readers in the order in which they make way: each time, of the caller that holds the most at that moment, the reader that has been without
 * progress for the longest. Everything that waits on a connection counts for its first caller. One response may displace hundreds of readers, so
 * finding each must be cheap.
 */
function* slowestFirst(readers: readonly Entry[], held: (reader: Reader) => number): Generator<Entry> {
  const callers = new Map<string, CallersReaders>();
  for (const entry of readers) {
    const [, reader] = entry;
    const name = reader.unread.values().next().value?.caller ?? '';
    const caller = callers.get(name) ?? { sum: 0, entries: [] };
    callers.set(name, caller);
    caller.sum += held(reader);
    caller.entries.push(entry);
  }
  for (let next = slowestIn(callers); next; next = slowestIn(callers)) {
    const { caller, at } = next;
    const entry = caller.entries[at]!;
    caller.sum -= held(entry[1]);
    caller.entries[at] = caller.entries.at(-1)!;
    caller.entries.pop();
    yield entry;
  }
}

/** The readers of one caller, and what they hold. */
type CallersReaders = { sum: number; readonly entries: Entry[] };

/** Where the next reader is; undefined if nobody holds anything any more. */
function slowestIn(callers: ReadonlyMap<string, CallersReaders>) {
  const most = callers.values().reduce((sum, caller) => Math.max(sum, caller.sum), 1);
  let found: { readonly caller: CallersReaders; readonly at: number } | undefined;
  let slowestMs = Infinity;
  for (const caller of callers.values()) {
    if (caller.sum < most) continue;
    for (const [at, [, { progressMs }]] of caller.entries.entries()) {
      if (progressMs >= slowestMs) continue;
      slowestMs = progressMs;
      found = { caller, at };
    }
  }
  return found;
}

/** Watches responses until they have been read. */
export function createUnreadAnswers({ timeoutMs, ...options }: UnreadOptions): UnreadAnswers {
  const watched = createReaders(options);
  const { add, endStopped } = watched;
  const turns = createTurnBudget(maxTurnMs);
  const timer = lookEvery(Math.min(1000, Math.ceil(timeoutMs / 4)), (nowMs, lateMs) =>
    watched.endSlow(timeoutMs, nowMs, lateMs),
  );

  return {
    get bytes() {
      return watched.bytes();
    },
    write(response, body, caller) {
      // Its `close` has been emitted: an entry added now would never be removed.
      if (response.destroyed) return;
      const { noteRead } = add(response, caller, body.length);
      let at = 0;
      const writeNow = () => {
        while (at < body.length && !response.destroyed) {
          const piece = body.subarray(at, at + pieceBytes);
          at += piece.length;
          if (at === body.length) response.end(piece);
          else if (!response.write(piece)) return;
        }
      };
      const writeMore = () => {
        noteRead();
        if (turns.isSpent()) turns.wait(writeNow);
        else writeNow();
      };
      response.on('drain', writeMore);
      noteRead();
      writeNow();
    },
    async writeParts(response, parts, heldBytes, caller) {
      if (response.destroyed) {
        await parts.return?.();
        return 0;
      }
      const { noteRead } = add(response, caller, heldBytes + pieceBytes);
      return writeAll(response, parts, turns, noteRead);
    },
    watch(response, caller) {
      const { writableLength } = response;
      if (writableLength === 0 || response.destroyed) return;
      const { settle } = add(response, caller, writableLength);
      // A socket stays open; the callback runs when all earlier bytes have been handed to the system.
      if (response instanceof Socket) response.write('', settle);
    },
    endStopped,
    close() {
      clearInterval(timer);
    },
  };
}

/**
 * Calls back at an interval.
 * @param look called with the time, and with how many milliseconds late it is: for that time this process was stopped or busy, which is not the clients' fault
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

/** Records what the client of a long write has read since the last check. */
function noteProgress(socket: Socket, reader: Reader, nowMs: number): void {
  const waiting = bytesWaiting(socket);
  if (!currentOf(reader) || reader.waiting - waiting >= pieceBytes) reader.progressMs = nowMs;
  else if (waiting <= reader.waiting) return;
  reader.waiting = waiting;
}

/**
 * Bytes that were written and that the system has not accepted yet. Node's own socket time-out uses this number too, which has no public
 * name; `writableLength` does not change until the whole of a write is accepted.
 */
export function bytesWaiting(socket: Socket): number {
  const { _handle: handle } = socket as unknown as { _handle?: { writeQueueSize: number } | null };
  return handle?.writeQueueSize ?? 0;
}

/** @param onProgress called when the client is ready for a next piece */
async function writeAll(
  response: ServerResponse,
  parts: AsyncIterableIterator<Buffer>,
  turns: TurnBudget,
  onProgress: () => void,
): Promise<number> {
  let written = 0;
  // The client may leave while a part is being made.
  const leave = () => void parts.return?.();
  response.once('close', leave);
  try {
    for await (const part of parts) {
      if (response.destroyed) break;
      for (let at = 0; at < part.length; at += pieceBytes) {
        onProgress();
        if (written > 0 && turns.isSpent()) await new Promise<void>(turns.wait);
        if (response.destroyed) break;
        const piece = part.subarray(at, at + pieceBytes);
        written += piece.length;
        if (!response.write(piece)) await drained(response);
      }
    }
    response.end();
  } catch (error) {
    // A client that leaves also ends the parts.
    if (response.destroyed) return written;
    cutOff(response);
    throw error;
  } finally {
    response.off('close', leave);
  }
  return written;
}

/**
 * Ends a connection in the middle of a response by a reset. For a client of HTTP/1.0, such as nginx by default, a plain end is the regular
 * end of a body without a length: missing rows would go unnoticed. `resetAndDestroy` would first wait until all is read; the property set
 * here, which Node does not document, is what it sets itself.
 */
function cutOff(target: Target): void {
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
