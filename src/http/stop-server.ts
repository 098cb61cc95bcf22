import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { afterReading } from '../http-messages/after-reading.ts';
import type { Connections } from '../http-messages/connections.ts';
import type { RequestHandler } from './handle-request.ts';

/** How a server stops. */
export type StopOptions = {
  /** New connections are accepted until none has arrived for this many milliseconds. */
  readonly quietMs: number;
  /** After this many milliseconds all connections are closed, whatever they are doing. */
  readonly deadlineMs: number;
};

/** Milliseconds for which an idle connection stays open: a request may be on its way. */
const idleMs = 250;

const pollMs = 20;

/**
 * Stops a server without losing a request that has reached it:
 * 1. it reports that it is not ready, and accepts connections while they arrive;
 * 2. it accepts no more connections;
 * 3. each response is the last of its connection; idle connections are closed;
 * 4. shortly before the deadline, requests in flight are answered with an error; at the deadline they are cut off.
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
    // Not `server.close()` of HTTP: it also destroys idle connections, on which a request may be on its way. So far no
    // connection has been closed, so no client is opening a new one just now.
    NetServer.prototype.close.call(server);
  }
  handler.closesConnections();
  const closedMs = elapsedMs();
  while (connections.count > 0 && elapsedMs() < deadlineMs * 0.8) {
    await afterReading();
    if (elapsedMs() - closedMs >= Math.min(idleMs, quietMs)) connections.endIdle(Math.min(idleMs, quietMs));
    await setTimeout(pollMs);
  }
  if (connections.count > 0) handler.abort();
  while (connections.count > 0 && elapsedMs() < deadlineMs * 0.9) await setTimeout(pollMs);
  connections.destroy();
  // Ends its interval, which looks for slow headers.
  server.close(() => undefined);
}

async function untilQuiet(server: Server, quietMs: number, maxMs: number): Promise<void> {
  let lastMs = performance.now();
  const note = () => {
    lastMs = performance.now();
  };
  const endMs = lastMs + maxMs;
  server.on('connection', note);
  while (performance.now() < Math.min(lastMs + quietMs, endMs)) await setTimeout(pollMs);
  server.off('connection', note);
}
