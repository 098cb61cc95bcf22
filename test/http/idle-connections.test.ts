import { once } from 'node:events';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
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
  Object.assign(gateway.server, { keepAliveTimeout: 1000, keepAliveTimeoutBuffer: 0 });
  const connection = await openIdle();
  // The bytes are in the socket when the timer is due.
  connection.write(request);
  block(1300);
  expect(readAnswers(await connection.ended).map(({ status }) => status)).toEqual([200, 200]);
});

test.each(['/graphql', '/api/sources/postgres.logs/rows'])(
  'contract 11.1: what came of a body while the event loop was busy is in time: %s',
  async path => {
    const engine = { describe: async () => [], run: () => Promise.reject(new Error('nothing is asked for')) };
    const own = await openGateway({ engine, environment: { RECEIVE_TIMEOUT_MS: '1000' } });
    onTestFinished(own.close);
    const connection = await openRaw(own.port);
    const arrived = once(own.server, 'request');
    connection.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${testToken}\r\nConnection: close\r\nContent-Length: 20\r\n\r\n{"query":`,
    );
    await arrived;
    // Its first part is read, and the timer runs.
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    connection.write('"{hello}"} ');
    block(1300);
    const [answer] = readAnswers(await connection.ended);
    expect(answer?.status).not.toBe(408);
  },
);

test('contract 11.1: a gateway that stops answers what came while the event loop was busy', async () => {
  const connection = await openIdle();
  const stopped = gateway.http.stop({ quietMs: 50, deadlineMs: 10_000 });
  while (gateway.server.listening) await new Promise(setImmediate);
  connection.write(request);
  block(300);
  expect(readAnswers(await connection.ended).map(({ status }) => status)).toEqual([200, 200]);
  await stopped;
});
