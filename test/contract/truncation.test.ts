import { beforeAll, describe, expect, test } from 'vitest';
import { runQueryCommand } from '../../src/commands/client/query-command.ts';
import { formatNames } from '../../src/formats/row-formats.ts';
import { type Answered, type OpenGateway, openGateway, testToken } from '../support/open-gateway.ts';

const savedQuery = (name: string, id: number, settings: string) => `/*
id: 00000000-0000-0000-0000-00000000000${id}
name: ${name}
description: Numbers from 1 on.
sandbox: true
${settings}
parameters:
  upto: { type: string, required: true, description: The last number. }
columns:
  n: { type: INT64, description: A number. }
maxRows: 3
*/
with numbers as (select n from unnest(generate_array(1, cast(@upto as int64))) as n)
select n from numbers order by n`;

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({
    now: '2026-01-15T12:00:00Z',
    sqlFiles: {
      'kept.sql': savedQuery('kept', 1, 'cacheSeconds: 60\nbatch: { parameter: upto, key: upto }'),
      'kept.batch.sql':
        'select upto, n from unnest(@uptos) as upto cross join unnest(generate_array(1, cast(upto as int64))) as n order by upto, n',
      'unkept.sql': savedQuery('unkept', 2, 'cacheSeconds: 0'),
    },
  });
  return gateway.close;
});

const saysCut = ({ headers }: Answered) => [headers.get('result-truncated'), headers.get('result-max-rows')];
const cut = ['?1', '3'];
const whole = [null, null];

describe.each(['kept', 'unkept'])('contract 2.14: %s', name => {
  const get = (query: string, headers = {}) => gateway.get(`/api/endpoints/query/${name}?${query}`, headers);

  test.each([
    ['upto=3', whole, 3],
    ['upto=4', cut, 3],
    // Once more, from the cache where there is one.
    ['upto=4', cut, 3],
    ['upto=9&sql=select n from numbers', cut, 3],
    ['upto=9&sql=select n from numbers limit 3', whole, 3],
    ['upto=9&sql=select n from numbers limit 4', cut, 3],
    ['upto=9&sql=select n from numbers limit 2', whole, 2],
  ])('REST: %s', async (query, says, rows) => {
    const answer = await get(query);
    expect(answer.body.result).toHaveLength(rows);
    expect(saysCut(answer)).toEqual(says);
  });

  test('GraphQL, one field and several', async () => {
    const field = (alias: string, upto: number) => `${alias}: ${name}(upto: "${upto}") { n }`;
    const { body } = await gateway.graphql(`{ ${field('a', 33)} ${field('b', 2)} ${field('c', 44)} }`);
    const of = (path: string) =>
      body.extensions.cache.find((entry: { path: string }) => entry.path === path) ?? 'none';
    expect([body.data.a, body.data.b, body.data.c].map(rows => rows.length)).toEqual([3, 2, 3]);
    expect(of('a')).toMatchObject({ truncated: true, maxRows: 3 });
    expect(of('b')).not.toHaveProperty('truncated');
    expect(of('c')).toMatchObject({ truncated: true, maxRows: 3 });
    const alone = await gateway.graphql(`{ ${field('a', 55)} }`);
    expect(alone.body.extensions.cache).toMatchObject([{ truncated: true, maxRows: 3 }]);
  });
});

describe('contract 2.14: the other handlers', () => {
  test.each(formatNames)('an export as %s', async format => {
    const headersOf = async (upto: number) => {
      const path = `/api/endpoints/query/kept?upto=${upto}&format=${format}`;
      const response = await fetch(gateway.origin + path, { headers: { 'x-api-key': testToken } });
      await response.arrayBuffer();
      return [response.headers.get('result-truncated'), response.headers.get('result-max-rows')];
    };
    expect([await headersOf(3), await headersOf(4)]).toEqual([whole, cut]);
  });

  test('an agent', async () => {
    const call = async (upto: string) => {
      const params = { name: 'kept', arguments: { upto } };
      const { body } = await gateway.send('/mcp', {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${testToken}`,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      });
      return body.result.structuredContent;
    };
    expect(await call('4')).toMatchObject({
      row_count: 3,
      note: expect.stringContaining('an answer has at most 3'),
    });
    expect(await call('3')).not.toHaveProperty('note');
  });

  test.each(['table', 'csv'])('the command line, as %s', async format => {
    const notesOf = async (upto: string) => {
      const notes: string[] = [];
      const deps = {
        environment: { GATEWAY_URL: gateway.origin, GATEWAY_TOKEN: testToken },
        out: { write: () => true },
        note: (line: string) => notes.push(line),
        screen: undefined,
        signal: new AbortController().signal,
      };
      await runQueryCommand(deps, ['kept', '--upto', upto, '--format', format]);
      return notes;
    };
    expect(await notesOf('3')).toEqual([]);
    expect(await notesOf('4')).toEqual(['There are more rows; an answer has at most 3.']);
  });
});

test('contract 2.14: pages of other origins may read it', async () => {
  const { headers } = await gateway.get('/api/endpoints/query/kept?upto=4', {
    origin: 'https://studio.example',
  });
  expect(headers.get('access-control-expose-headers')).toMatch(/Result-Max-Rows, Result-Truncated/);
});
