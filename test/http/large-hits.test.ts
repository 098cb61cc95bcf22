import { beforeAll, expect, test } from 'vitest';
import type { Column } from '../../src/base/rows.ts';
import { type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';

const text: Column = { name: 'text', type: 'STRING', mode: 'NULLABLE' };
const row = JSON.stringify({ text: `from 203.0.113.7, ${'x'.repeat(7000)}` });
/** Seven megabytes, of which four fit into one caller's share. */
const rowsJson = Buffer.from(`[${Array(1000).fill(row).join(',')}]`);

const large = `/*
id: 7e57ab1e-0000-4000-8000-000000000301
name: large
description: Seven megabytes of rows.
parameters:
  n: { type: INT64, required: true, description: Which of them. }
columns:
  text: { type: STRING, description: A long text. }
maxRows: 1000
cacheSeconds: 60
redactPii: false
*/
select text from a where n = @n`;

const keys = Array.from({ length: 9 }, (_, n) => n);

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    sqlFiles: { 'large.sql': large },
    // Every hit reads the store.
    environment: { CACHE_MEMORY_MB: '12' },
    tokens: { other: {} },
    engine: {
      describe: async () => [text],
      run: async () => ({ columns: [text], rowsJson, rowCount: 1000 }),
    },
  });
  for (const n of keys) expect((await ask(n)).status).toBe(200);
  return gateway.close;
});

async function ask(n: number, more = '', headers: Record<string, string> = {}) {
  const url = `${gateway.origin}/api/endpoints/query/large?n=${n}${more}`;
  const response = await fetch(url, { headers: { 'x-api-key': testToken, ...headers } });
  const body = await response.text();
  return { status: response.status, code: response.ok ? undefined : JSON.parse(body).error.code };
}

test.each([
  ['written as CSV', '&format=csv', {}],
  ['redacted', '', { 'lf-endpoint-redact-pii': 'true' }],
] as const)(
  'contract 11.3: a hit that is to be %s is refused before it is decompressed, and no other caller is',
  async (_, more, headers) => {
    gateway.events.length = 0;
    const greedy = keys.map(n => ask(n, more, headers));
    const plain = ask(8);
    const other = ask(8, more, { ...headers, 'x-api-key': gateway.token('other') });
    const answers = await Promise.all(greedy);
    expect([(await plain).status, (await other).status]).toEqual([200, 200]);
    expect(new Set(answers.map(({ status, code }) => `${status} ${code}`))).toEqual(
      new Set(['200 undefined', '429 too_many_requests']),
    );
    const refused = answers.filter(({ status }) => status === 429).length;
    const typesOf = (type: string) => gateway.events.filter(event => event.type === type).length;
    expect([typesOf('endpoint.failed'), typesOf('endpoint.answered')]).toEqual([
      refused,
      keys.length + 2 - refused,
    ]);
    // Its share is free again.
    for (const n of keys) expect((await ask(n, more, headers)).status).toBe(200);
  },
);
