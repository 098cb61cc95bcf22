import { beforeEach, expect, test } from 'vitest';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';
import { openRaw, readAnswers } from '../support/raw-connection.ts';

let gateway: OpenGateway;
beforeEach(async () => {
  const engine = { describe: async () => [], run: () => Promise.reject(new Error('nothing is asked for')) };
  gateway = await openGateway({ engine });
  return gateway.close;
});

const request = 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n';

/** Answers one request, so that the connection is an idle one. */
async function openIdle() {
  const connection = await openRaw(gateway.port);
  connection.write(request);
  await connection.has('"alive"');
  return connection;
}

/** Leaves the event loop no turn. */
function block(ms: number): void {
  for (const startedMs = performance.now(); performance.now() - startedMs < ms; ) {
    /* works */
  }
}

test('contract 11.1: an idle connection ends, but not with a request that came while the event loop was busy', async () => {
  Object.assign(gateway.server, { keepAliveTimeout: 100, keepAliveTimeoutBuffer: 0 });
  const connection = await openIdle();
  // The bytes are in the socket when the timer is due.
  connection.write(request);
  block(300);
  expect(readAnswers(await connection.ended).map(({ status }) => status)).toEqual([200, 200]);
});

test('contract 11.1: a gateway that stops answers what came while the event loop was busy', async () => {
  const connection = await openIdle();
  const stopped = gateway.http.stop({ quietMs: 50, deadlineMs: 10_000 });
  while (gateway.server.listening) await new Promise(setImmediate);
  connection.write(request);
  block(300);
  expect(readAnswers(await connection.ended).map(({ status }) => status)).toEqual([200, 200]);
  await stopped;
});
