import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import type { Connections } from '../http-messages/connections.ts';
import type { RequestHandler } from './handle-request.ts';

/** How a server stops. All are milliseconds. */
export type StopOptions = {
  /** New connections are still taken while they come: until none came for so long. */
  readonly quietMs: number;
  /** From now on until all connections are closed, whatever they do. */
  readonly deadlineMs: number;
};

/** Milliseconds that a connection is left open on which no request is under way: one may be on its way. */
const idleMs = 250;

const lookMs = 20;

/**
 * Stops a server so that no request is lost that reached it:
 * 1. it says that it is not ready, and takes connections while they come;
 * 2. it takes no more connections;
 * 3. each answer is the last of its connection; connections on which nothing comes are closed;
 * 4. shortly before the deadline, what is still under way is answered with an error, and at the deadline cut off.
 */
export async function stopServer(
  server: Server,
  connections: Connections,
  handler: Pick<RequestHandler, 'closesConnections' | 'abort'>,
  { quietMs, deadlineMs }: StopOptions,
): Promise<void> {
  const startedMs = performance.now();
  const elapsedMs = () => performance.now() - startedMs;
  if (server.listening) {
    await untilQuiet(server, quietMs, deadlineMs / 4);
    // Not the close of an HTTP server: that one also destroys idle connections, on which a request may be on its way. Clients
    // still keep their connections here, so that none of them is just making a new one.
    NetServer.prototype.close.call(server);
  }
  handler.closesConnections();
  const closedMs = elapsedMs();
  while (connections.count > 0 && elapsedMs() < deadlineMs * 0.8) {
    if (elapsedMs() - closedMs >= Math.min(idleMs, quietMs)) connections.endIdle(Math.min(idleMs, quietMs));
    await setTimeout(lookMs);
  }
  if (connections.count > 0) handler.abort();
  while (connections.count > 0 && elapsedMs() < deadlineMs * 0.9) await setTimeout(lookMs);
  connections.destroy();
  // Its interval looks for slow heads.
  server.close(() => undefined);
}

async function untilQuiet(server: Server, quietMs: number, maxMs: number): Promise<void> {
  let lastMs = performance.now();
  const note = () => {
    lastMs = performance.now();
  };
  const endMs = lastMs + maxMs;
  server.on('connection', note);
  while (performance.now() < Math.min(lastMs + quietMs, endMs)) await setTimeout(lookMs);
  server.off('connection', note);
}
