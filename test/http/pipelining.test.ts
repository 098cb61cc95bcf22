import { beforeAll, expect, test } from 'vitest';
import { maxPipelined } from '../../src/http-messages/http-limits.ts';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';
import { openRaw, readAnswers } from '../support/raw-connection.ts';

const now = '2026-01-15T12:00:00Z';
const row = edgeRow({ id: 'a', timestamp: '2026-01-15T11:00:00Z', project: 'ours' });

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({ rows: { 'cloudflare.logs.prod': [row] }, now });
  return gateway.close;
});

const get = (path: string, more = '') =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nX-API-KEY: ${testToken}\r\n${more}\r\n`;
const logs = get('/api/endpoints/query/logs.all?project=ours');
const closing = get('/health', 'Connection: close\r\n');

test('contract 11.3: a connection has a limit of waiting requests; one more is refused, and it ends', async () => {
  const connection = await openRaw(gateway.port);
  // All come in one piece, so that none is answered before the last has come.
  connection.write(logs.repeat(500));
  const answers = readAnswers(await connection.ended);
  expect(answers).toHaveLength(1 + maxPipelined + 1);
  const last = answers.pop();
  expect(answers.map(({ status }) => status)).toEqual(Array(1 + maxPipelined).fill(200));
  expect(last).toMatchObject({ status: 429, head: expect.stringMatching(/\r\nconnection: close/i) });
  expect(last?.head).toMatch(/\r\nretry-after: 1\r\n/i);
  expect(last?.head).toMatch(/\r\nx-request-id: \S+/i);
  expect(JSON.parse(last?.body ?? '').error.code).toBe('too_many_requests');
});

test('waiting requests up to the limit are answered, repeatedly on one connection', async () => {
  const connection = await openRaw(gateway.port);
  for (let round = 1; round <= 5; round++) {
    connection.write(logs.repeat(maxPipelined) + get(`/health?${round}`, `X-Request-Id: round-${round}\r\n`));
    await connection.has(`round-${round}`);
  }
  connection.write(closing);
  const statuses = readAnswers(await connection.ended).map(({ status }) => status);
  expect(statuses).toEqual(Array(5 * (maxPipelined + 1) + 1).fill(200));
});

test('contract 11.3: requests with an Expect that is refused count too', async () => {
  const connection = await openRaw(gateway.port);
  connection.write(logs + get('/health', 'Expect: the-unexpected\r\n').repeat(500));
  const statuses = readAnswers(await connection.ended).map(({ status }) => status);
  expect(statuses).toEqual([200, ...Array(maxPipelined).fill(417), 429]);
});
