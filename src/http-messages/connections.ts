import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { GatewayError } from '../base/errors.ts';
import { readCredentials } from './caller-headers.ts';
import { maxPipelined } from './http-limits.ts';

/** A request and its response. */
export type RequestPair = { readonly request: IncomingMessage; readonly response: ServerResponse };

/**
 * What to do with a request: `answer` it; `refuse` it, as the first over the limit of its connection; or `ignore` it, because the
 * connection ends with that refusal.
 */
export type Admission = 'answer' | 'refuse' | 'ignore';

/** The open connections of a server, limited to `max`. */
export type Connections = {
  readonly count: number;
  /**
   * Adds a new connection. If there are too many, one is evicted: preferably one that never sent a request, then an idle one of the
   * caller who has the most, and of these the one that has been idle for the longest, then the one that has been sending its request for
   * the longest. A caller who has less than half of an equal share loses none: its next request may be on its way already. Nor is one
   * evicted that has only just been opened: its first request may be. All whose credentials were not accepted count as one caller, because
   * anybody can make up as many as they like.
   * @returns false if there is none to evict
   */
  add(socket: Socket): boolean;
  /** Records that a request has arrived, whose sender has the connection from now on, and decides what to do with it. */
  begin(request: IncomingMessage, response: ServerResponse): Admission;
  /**
   * Records that a request has arrived that could be answered without being parsed.
   * @returns false if it must be parsed: it is the first of its connection, or earlier ones have not been answered completely
   */
  beginRepeated(socket: Socket): boolean;
  /** Records whether received bytes wait for the store, or for their turn of the event loop; meanwhile the connection is not idle. */
  setWaiting(socket: Socket, isWaiting: boolean): void;
  /** The last request of a connection until its response has been sent completely. Responses leave in the order of requests. */
  inFlight(socket: Duplex): RequestPair | undefined;
  /**
   * Counts a request that is being answered, by its sender.
   * @param credentials as presented; requests without any are not counted because they are answered at once
   * @returns a function to call when it is answered; call it once
   * @throws GatewayError `too_many_requests`; from then on `endsNext` is true of the connection
   */
  enter(socket: Socket, credentials: string | undefined): () => void;
  /** Whether the connection is to end with its next response, because its caller has too many. */
  endsNext(socket: Socket): boolean;
  /** Ends the connections without a request in flight that have been idle for this many milliseconds. */
  endIdle(idleMs: number): void;
  /** Destroys all connections. */
  destroy(): void;
};

type Connection = {
  readonly socket: Socket;
  /** The credentials of its last request, if it had any; as presented. */
  caller: string | undefined;
  last: RequestPair | undefined;
  /** Whether it was opened so recently that nothing can have been read from it. */
  isNew: boolean;
  /** When the connection was opened, or its last request arrived; as performance.now(). */
  activeMs: number;
  /** Unanswered requests that arrived before the one ahead of them was answered. */
  pipelined: number;
  isRefused: boolean;
  /** Whether its caller had too many requests in flight: if it stayed open and idle, a new connection could only take the place of another caller's. */
  isOverShare: boolean;
  /** Whether received bytes wait to be parsed. */
  isWaiting: boolean;
};

type ConnectionsOptions = {
  readonly max: number;
  /** Whether a token was accepted lately, as it was presented. */
  readonly isAccepted: (credentials: string) => boolean;
  /** Called for each evicted connection. */
  readonly onEvicted: () => void;
};

/** Makes the list of a server's connections. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the methods of one list
export function createConnections({ max, isAccepted, onEvicted }: ConnectionsOptions): Connections {
  const all = new Map<Duplex, Connection>();
  const share = createCallerShares(max);
  const remove = ({ socket }: Connection) => all.delete(socket);

  function findEvictable(): Connection | undefined {
    const held = countByCaller(all.values(), isAccepted);
    const evictable = [...all.values()].filter(each => held.with(each) >= max / held.callers / 2);
    return longestIdle(evictable, held.with) ?? longestSending(evictable);
  }

  return {
    enter(socket, credentials) {
      try {
        return share(credentials);
      } catch (refusal) {
        const connection = all.get(socket);
        if (connection) connection.isOverShare = true;
        throw refusal;
      }
    },
    endsNext: socket => all.get(socket)?.isOverShare === true,
    get count() {
      return all.size;
    },
    add(socket) {
      if (all.size >= max) {
        const evicted = findEvictable();
        if (!evicted) return false;
        remove(evicted);
        // One that was ended for another reason is replaced before it is closed, and was not evicted.
        if (!evicted.socket.destroyed) onEvicted();
        evicted.socket.destroy();
      }
      const connection: Connection = {
        socket,
        caller: undefined,
        last: undefined,
        isNew: true,
        activeMs: performance.now(),
        pipelined: 0,
        isRefused: false,
        isOverShare: false,
        isWaiting: false,
      };
      all.set(socket, connection);
      socket.once('close', () => remove(connection));
      // What its client has sent with it is read in the next turn of the event loop.
      setImmediate(() => setImmediate(() => (connection.isNew = false)));
      return true;
    },
    begin(request, response) {
      const connection = all.get(request.socket);
      if (!connection) return 'answer';
      if (connection.isRefused) return 'ignore';
      if (isAnswering(connection)) {
        connection.pipelined += 1;
        response.once('close', () => {
          connection.pipelined -= 1;
        });
      }
      connection.caller = readCredentials(request.headers);
      connection.last = { request, response };
      connection.activeMs = performance.now();
      connection.isRefused = connection.pipelined > maxPipelined;
      return connection.isRefused ? 'refuse' : 'answer';
    },
    beginRepeated(socket) {
      const connection = all.get(socket);
      if (!connection?.last || isBusy(connection)) return false;
      connection.activeMs = performance.now();
      return true;
    },
    setWaiting(socket, isWaiting) {
      const connection = all.get(socket);
      if (connection) connection.isWaiting = isWaiting;
    },
    inFlight(socket) {
      const connection = all.get(socket);
      return connection && isAnswering(connection) ? connection.last : undefined;
    },
    endIdle(idleMs) {
      const latestMs = performance.now() - idleMs;
      for (const connection of all.values()) {
        if (!isBusy(connection) && connection.activeMs <= latestMs) connection.socket.destroySoon();
      }
    },
    destroy() {
      for (const { socket } of all.values()) socket.destroy();
    },
  };
}

/** Counts connections that had a request by their callers; all without accepted credentials have one in common. */
function countByCaller(connections: Iterable<Connection>, isAccepted: (credentials: string) => boolean) {
  const counts = new Map<string | undefined, number>();
  const callerOf = ({ caller }: Connection) =>
    caller !== undefined && isAccepted(caller) ? caller : undefined;
  for (const connection of connections) {
    if (!connection.last) continue;
    const caller = callerOf(connection);
    counts.set(caller, (counts.get(caller) ?? 0) + 1);
  }
  return {
    callers: counts.size,
    /** How many connections its caller has; one that never sent a request may belong to somebody who holds all the others. */
    with: (connection: Connection) => (connection.last ? (counts.get(callerOf(connection)) ?? 0) : Infinity),
  };
}

/** Whether a response is being made or sent, or a request may have arrived that is not read yet. */
function isBusy(connection: Connection): boolean {
  const { socket, isNew, isWaiting } = connection;
  if (socket.destroyed) return false;
  return isNew || isWaiting || isAnswering(connection) || socket.writableLength > 0;
}

function isAnswering({ last }: Connection): boolean {
  return last !== undefined && !last.response.writableFinished && !last.response.destroyed;
}

/** The connection that has been idle for the longest among those of the caller who has the most. */
function longestIdle(
  connections: readonly Connection[],
  heldWith: (connection: Connection) => number,
): Connection | undefined {
  let found: Connection | undefined;
  let most = 0;
  for (const connection of connections) {
    if (isBusy(connection)) continue;
    const count = heldWith(connection);
    const isBefore = count === most && found !== undefined && connection.activeMs < found.activeMs;
    if (found && count <= most && !isBefore) continue;
    [found, most] = [connection, count];
  }
  return found;
}

/** The connection that has been sending its request for the longest: slow bodies would otherwise hold all places. Its client can retry. */
function longestSending(connections: readonly Connection[]): Connection | undefined {
  let found: Connection | undefined;
  for (const connection of connections) {
    if (connection.last?.request.complete !== false) continue;
    if (!found || connection.activeMs < found.activeMs) found = connection;
  }
  return found;
}

/** The share of connections on which requests of one access token may wait, so that some are left for others. */
const callerShare = 0.75;

/** @param maxConnections maximum number of open connections */
function createCallerShares(maxConnections: number): (credentials: string | undefined) => () => void {
  const max = Math.ceil(maxConnections * callerShare);
  const counts = new Map<string, number>();
  return credentials => {
    if (credentials === undefined) return () => undefined;
    const count = counts.get(credentials) ?? 0;
    if (count >= max) {
      const message = `${count} requests of this access token are in flight already; allowed: ${max}`;
      throw new GatewayError('too_many_requests', message);
    }
    counts.set(credentials, count + 1);
    return () => {
      const left = counts.get(credentials)! - 1;
      if (left === 0) counts.delete(credentials);
      else counts.set(credentials, left);
    };
  };
}
