import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { maxPipelined } from './http-limits.ts';

/** A request and its response. */
export type RequestPair = { readonly request: IncomingMessage; readonly response: ServerResponse };

/**
 * What is done with a request: it is answered; it is refused, as the first that is too many on its connection; or it is left alone,
 * because the connection ends with that refusal.
 */
export type Admission = 'answer' | 'refuse' | 'ignore';

/** The open connections of a server, of which at most `max` stay. */
export type Connections = {
  readonly count: number;
  /**
   * Takes a new connection in. Where there are too many, one without a request under way makes place: first those that never
   * sent one, then the one that has been idle for the longest.
   * @returns false where all have a request under way
   */
  add(socket: Socket): boolean;
  /** Notes that a request has come, and says what is to be done with it: see `Admission`. */
  begin(request: IncomingMessage, response: ServerResponse): Admission;
  /** The last request of a connection, while its answer has not been sent whole. Answers leave in the order of requests. */
  underWay(socket: Duplex): RequestPair | undefined;
  /** Ends the connections that have no request under way, and had none for so many milliseconds. */
  endIdle(idleMs: number): void;
  /** Destroys all. */
  destroy(): void;
};

type Connection = {
  readonly socket: Socket;
  last: RequestPair | undefined;
  /** When the connection was opened, or its last request came; as performance.now(). */
  activeMs: number;
  /** Requests that came before the one ahead of them was answered, and are not answered yet. */
  pipelined: number;
  isRefused: boolean;
};

/**
 * Makes the list of a server's connections.
 * @param onEvicted called for each connection that had to make place
 */
export function createConnections(max: number, onEvicted: () => void): Connections {
  const all = new Map<Duplex, Connection>();

  return {
    get count() {
      return all.size;
    },
    add(socket) {
      if (all.size >= max) {
        const idle = longestIdle(all.values());
        if (!idle) return false;
        all.delete(idle.socket);
        idle.socket.destroy();
        onEvicted();
      }
      const activeMs = performance.now();
      all.set(socket, { socket, last: undefined, activeMs, pipelined: 0, isRefused: false });
      socket.once('close', () => all.delete(socket));
      return true;
    },
    begin(request, response) {
      const connection = all.get(request.socket);
      if (!connection) return 'answer';
      if (connection.isRefused) return 'ignore';
      if (isBusy(connection)) {
        connection.pipelined += 1;
        response.once('close', () => {
          connection.pipelined -= 1;
        });
      }
      connection.last = { request, response };
      connection.activeMs = performance.now();
      connection.isRefused = connection.pipelined > maxPipelined;
      return connection.isRefused ? 'refuse' : 'answer';
    },
    underWay(socket) {
      const connection = all.get(socket);
      return connection && isBusy(connection) ? connection.last : undefined;
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

function isBusy({ last }: Connection): boolean {
  return last !== undefined && !last.response.writableFinished && !last.response.destroyed;
}

function longestIdle(connections: Iterable<Connection>): Connection | undefined {
  let found: Connection | undefined;
  for (const connection of connections) {
    if (!isBusy(connection) && (!found || goesBefore(connection, found))) found = connection;
  }
  return found;
}

function goesBefore(one: Connection, other: Connection): boolean {
  const isNew = one.last === undefined;
  return isNew === (other.last === undefined) ? one.activeMs < other.activeMs : isNew;
}
