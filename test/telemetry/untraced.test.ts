import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunOptions } from '../../src/engine/engine.ts';
import { createEventLog } from '../../src/telemetry/log-events.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const savedQuery = `/*
id: 5b8f1f36-91a9-4a34-8f0e-1d2c3b4a5f61
name: plain
description: One number.
columns:
  n:
    type: INT64
    description: A number.
*/
select 1 as n
`;

const columns = [{ name: 'n', type: 'INT64', mode: 'NULLABLE' }] as const;
const labels: RunOptions['labels'][] = [];
let gateway: OpenGateway;

beforeAll(async () => {
  gateway = await openGateway({
    sqlFiles: { 'plain.sql': savedQuery },
    engine: {
      describe: async () => columns,
      async run(_statement, options) {
        labels.push(options.labels);
        return { columns, rowsJson: Buffer.from('[{"n":1}]'), rowCount: 1 };
      },
    },
  });
});
afterAll(() => gateway.close());

const traceId = '0af7651916cd43dd8448eb211c80319c';

test.each([
  [`00-${traceId}-b7ad6b7169203331-01`, traceId],
  [`cc-${traceId}-b7ad6b7169203331-01-of-a-later-version`, traceId],
  [`ff-${traceId}-b7ad6b7169203331-01`, undefined],
  [`00-${'0'.repeat(32)}-b7ad6b7169203331-01`, undefined],
  [`00-${traceId}-${'0'.repeat(16)}-01`, undefined],
  [`00-${traceId.toUpperCase()}-b7ad6b7169203331-01`, undefined],
  ['"><script>', undefined],
])(
  'without an SDK, traceparent %s gives the trace id %s to the log and to the labels of the query',
  async (traceparent, expected) => {
    for (const send of [
      () => gateway.get('/api/endpoints/query/plain', { traceparent }),
      () => gateway.graphql('{ plain { n } }', {}, { traceparent }),
    ]) {
      expect((await send()).status).toBe(200);
      const line = gateway.events.findLast(event => event.type === 'http.answered');
      expect(line?.traceId).toBe(expected);
      expect(labels.at(-1)?.trace_id).toBe(expected);
    }
  },
);

test('LOG_FORMAT=pretty: a line for reading, in which nothing steers the terminal, and the stack of an error', () => {
  let text = '';
  const emit = createEventLog(
    'info',
    {
      write: line => {
        text += line;
      },
    },
    'pretty',
  );
  emit({
    type: 'http.answered',
    requestId: 'r1',
    method: 'GET',
    path: '/\u001b[2J"x"\u009d0;title\u009c',
    status: 200,
    bytes: 10,
    ms: 1.23456,
  });
  emit({ type: 'http.bug', requestId: 'r2', cause: new Error('broken by \u001b]0;title\u0007') });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the colours of a terminal
  const [first, second, ...stack] = text.replace(/\u001b\[\d+m/g, '').split('\n');
  expect(first).toMatch(
    /^\d\d:\d\d:\d\d\.\d{3} info {2}http\.answered requestId=r1 method=GET path="\/\\"x\\"\\u009d0;title\\u009c" status=200 bytes=10 ms=1\.23$/,
  );
  expect(second).toMatch(/ERROR http\.bug requestId=r2$/);
  expect(stack.join('\n')).toMatch(/^Error: broken by .*\n {4}at /);
  expect(stack.join('\n')).not.toContain('\u001b');
});
