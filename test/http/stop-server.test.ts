import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { startLoopClock } from '../support/loop-clock.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { openRaw, type RawConnection, readAnswers } from '../support/raw-connection.ts';

let gateway: OpenGateway;
let asked: () => void;
beforeEach(async () => {
  asked = () => undefined;
  const run = (_statement: unknown, { signal }: { readonly signal: AbortSignal }) => {
    asked();
    return new Promise<never>((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
  };
  const sqlFiles = {
    'never.sql': `/*
id: 00000000-0000-4000-8000-000000000001
name: never
description: Its query never ends.
columns: { n: { type: INT64, description: Nothing. } }
*/
select 1 as n
`,
  };
  const column = { name: 'n', type: 'INT64', mode: 'NULLABLE' } as const;
  gateway = await openGateway({ engine: { describe: async () => [column], run }, sqlFiles });
  return gateway.close;
});

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${testToken}\r\n\r\n`;

/** Answers one request, so that the connection is an idle one. */
async function openIdle(): Promise<RawConnection> {
  const connection = await openRaw(gateway.port);
  connection.write(get('/livez'));
  await connection.has('"alive"');
  return connection;
}

/** Leaves the event loop no turn. */
function block(ms: number): void {
  for (const startedMs = performance.now(); performance.now() - startedMs < ms; ) {
    /* works */
  }
}

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise(setImmediate);
};

const statuses = async (connection: RawConnection) =>
  readAnswers(await connection.ended).map(({ status }) => status);

test('what came on an idle connection before the listener closes is answered', async () => {
  const connection = await openIdle();
  const stopped = gateway.http.stop({ quietMs: 50, deadlineMs: 10_000 });
  // The bytes are in the socket when the timer is due.
  connection.write(get('/livez'));
  block(300);
  expect(await statuses(connection)).toEqual([200, 200]);
  await stopped;
});

test('a request that was on its way when the listener closed is answered', async () => {
  const connection = await openIdle();
  const stopped = gateway.http.stop({ quietMs: 300, deadlineMs: 60_000 });
  while (gateway.server.listening) await turns(1);
  const nowMs = performance.now();
  const clock = vi.spyOn(performance, 'now').mockReturnValue(nowMs);
  onTestFinished(() => clock.mockRestore());
  await turns(100);
  connection.write(get('/livez'));
  expect(await statuses(connection)).toEqual([200, 200]);
  clock.mockRestore();
  await stopped;
});

test('new connections are taken until none came for a while, and are told that it is not ready', async () => {
  const stopped = gateway.http.stop({ quietMs: 1000, deadlineMs: 60_000 });
  for (let n = 0; n < 3; n++) {
    const connection = await openRaw(gateway.port);
    connection.write(get('/readyz').replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    const [answer] = readAnswers(await connection.ended);
    expect(answer).toMatchObject({ status: 503, body: expect.stringContaining('"stopping"') });
  }
  await stopped;
});

test('new connections that keep coming do not hold up the end', async () => {
  const stopped = gateway.http.stop({ quietMs: 60_000, deadlineMs: 2000 });
  const refused = async () => {
    for (;;) (await openRaw(gateway.port)).socket.destroy();
  };
  await expect(refused()).rejects.toThrow(/ECONNREFUSED|ECONNRESET/);
  await stopped;
});

test('an idle connection ends before the deadline', async () => {
  // Its own time-out does not end it.
  gateway.server.keepAliveTimeout = 0;
  const connection = await openIdle();
  const tookMs = startLoopClock();
  await gateway.http.stop({ quietMs: 20, deadlineMs: 20_000 });
  expect(await statuses(connection)).toEqual([200]);
  expect(tookMs()).toBeLessThan(5000);
});

test('what is under way shortly before the deadline is answered with unavailable, and what came after it too', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  asked = resolve;
  const connection = await openRaw(gateway.port);
  connection.write(get('/api/endpoints/query/never'));
  await promise;
  const stopped = gateway.http.stop({ quietMs: 0, deadlineMs: 4000 });
  while (gateway.server.listening) await turns(1);
  await turns(1);
  connection.write(get('/livez'));
  const [answer, last] = readAnswers(await connection.ended);
  expect(answer).toMatchObject({ status: 503, body: expect.stringContaining('"unavailable"') });
  // Only the last answer may end the connection.
  expect(answer?.head).not.toMatch(/\r\nconnection: close/i);
  expect(last).toMatchObject({ status: 200, head: expect.stringMatching(/\r\nconnection: close/i) });
  await stopped;
});
