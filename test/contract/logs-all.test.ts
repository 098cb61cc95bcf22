import { beforeAll, describe, expect, test } from 'vitest';
import { edgeRow } from '../support/edge-row.ts';
import { type OpenGateway, openGateway } from '../support/open-gateway.ts';

const noon = '2026-01-15T12:00:00.000000Z';
const at = (fraction: string) => `2026-01-15T11:00:00.${fraction}Z`;

/** Rows of every source; `theirs` belong to another project and must never be seen. */
const rows = {
  'cloudflare.logs.prod': [
    edgeRow({ id: 'a1', timestamp: at('000001'), project: 'ours' }),
    edgeRow({ id: 'a2', timestamp: at('000002'), project: 'ours' }),
    edgeRow({ id: 'a3', timestamp: at('000003'), project: 'ours' }),
    { ...edgeRow({ id: 'b2', timestamp: at('000002'), project: 'ours' }), metadata: [{}, {}, {}] },
    { ...edgeRow({ id: 'c0', timestamp: '2026-01-14T00:00:00Z', project: 'ours' }), metadata: [] },
    edgeRow({ id: 'x1', timestamp: at('000002'), project: 'theirs' }),
    edgeRow({ id: 'x2', timestamp: at('000002'), project: 'ours2' }),
  ],
  'postgres.logs': [{ id: 'p1', timestamp: at('000001'), project: 'ours', event_message: 'm', metadata: [] }],
};

let gateway: OpenGateway;
beforeAll(async () => {
  gateway = await openGateway({ rows, now: noon });
  return gateway.close;
});

const ids = async (query: string) => {
  const { status, body } = await gateway.get(`/api/endpoints/query/logs.all?${query}`);
  expect(status).toBe(200);
  return body.result.map((row: { id: string }) => row.id);
};

const everything = ['a3', 'a2', 'b2', 'a1', 'c0'];

describe('logs.all', () => {
  test('contract 1.4: only rows of `project`', async () => {
    expect(await ids('project=ours')).toEqual(everything);
    expect(await ids('project=theirs')).toEqual(['x1']);
    expect(await ids('project=nobody')).toEqual([]);
    expect(await ids('project=OURS')).toEqual([]);
  });

  test('contract 1.5: `iso_timestamp_start` absent or empty: no lower bound', async () => {
    expect(await ids('project=ours&iso_timestamp_start=')).toEqual(everything);
  });

  test('contract 1.5: else timestamp strictly greater', async () => {
    expect(await ids(`project=ours&iso_timestamp_start=${at('000002')}`)).toEqual(['a3']);
    expect(await ids(`project=ours&iso_timestamp_start=${at('000001')}`)).toEqual(['a3', 'a2', 'b2']);
  });

  test('contract 1.6: `iso_timestamp_end` absent or empty: no upper bound', async () => {
    expect(await ids('project=ours&iso_timestamp_start=&iso_timestamp_end=')).toEqual(everything);
  });

  test('contract 1.6: else timestamp less or equal', async () => {
    expect(await ids(`project=ours&iso_timestamp_end=${at('000002')}`)).toEqual(['a2', 'b2', 'a1', 'c0']);
    expect(await ids(`project=ours&iso_timestamp_end=${at('000001')}`)).toEqual(['a1', 'c0']);
  });

  test('contract 1.5, 1.6: both bounds, start exclusive, end inclusive', async () => {
    const range = `iso_timestamp_start=${at('000001')}&iso_timestamp_end=${at('000002')}`;
    expect(await ids(`project=ours&${range}`)).toEqual(['a2', 'b2']);
  });

  test('contract 1.7: both sides compared as TIMESTAMP, microsecond precision, UTC where the text has no zone', async () => {
    const start = (text: string) => ids(`project=ours&iso_timestamp_start=${encodeURIComponent(text)}`);
    expect(await start('2026-01-15 11:00:00.000002')).toEqual(['a3']);
    expect(await start('2026-01-15T13:00:00.000002+02:00')).toEqual(['a3']);
    expect(await start('2026-01-15T05:30:00.000001-0530')).toEqual(['a3', 'a2', 'b2']);
    expect(await start('2026-01-15')).toEqual(['a3', 'a2', 'b2', 'a1']);
    expect(await ids('project=ours&iso_timestamp_start=2026-01-15T13:00:00.000002+02:00')).toEqual(['a3']);
  });

  test('contract 1.8: a row comes back once, however many elements its `metadata` has', async () => {
    expect((await ids('project=ours')).filter((id: string) => id === 'b2')).toHaveLength(1);
  });

  test('contract 1.9: newest first, `id` as tie-break', async () => {
    expect((await ids('project=ours')).slice(1, 3)).toEqual(['a2', 'b2']);
  });

  test('contract 1.9: the final statement selects `id, timestamp, event_message, metadata` from `edge_logs` only', async () => {
    const { body } = await gateway.get('/api/endpoints/query/logs.all?project=ours');
    for (const row of body.result)
      expect(Object.keys(row)).toEqual(['id', 'timestamp', 'event_message', 'metadata']);
  });

  test('contract 2.12, 2.13: a row has its wire form, microseconds, and every nested record an array', async () => {
    const { body } = await gateway.get('/api/endpoints/query/logs.all?project=ours');
    const [newest] = body.result;
    expect(newest.timestamp).toBe(Date.UTC(2026, 0, 15, 11) * 1000 + 3);
    expect(newest.metadata[0].request[0]).toMatchObject({
      method: 'GET',
      path: '/rest/v1/todos',
      cf: [],
      headers: [],
    });
    expect(newest.metadata[0].response[0]).toMatchObject({ status_code: 200, headers: [] });
    expect(body.result.at(-1).metadata).toEqual([]);
  });
});

test('contract 1.9: the newest hundred of more', async () => {
  const many = Array.from({ length: 130 }, (_, n) =>
    edgeRow({
      id: `r${String(n).padStart(3, '0')}`,
      timestamp: `2026-01-15T10:${n % 60}:00Z`,
      project: 'ours',
    }),
  );
  const busy = await openGateway({ rows: { 'cloudflare.logs.prod': many }, now: noon });
  try {
    const { body } = await busy.get('/api/endpoints/query/logs.all?project=ours');
    expect(body.result).toHaveLength(100);
    const newestFirst = many.toSorted((a, b) => {
      const byTime = Date.parse(padMinute(b.timestamp)) - Date.parse(padMinute(a.timestamp));
      return byTime || a.id.localeCompare(b.id);
    });
    expect(body.result.map((row: { id: string }) => row.id)).toEqual(
      newestFirst.slice(0, 100).map(({ id }) => id),
    );
  } finally {
    await busy.close();
  }
});

const padMinute = (timestamp: string) => timestamp.replace(/:(\d):/, ':0$1:');

test("max rows holds above the saved statement's own limit", async () => {
  const counting = `/*
id: 00000000-0000-0000-0000-000000000001
name: counting
description: Numbers.
columns:
  id: { type: STRING, description: An id. }
maxRows: 3
*/
select id from \`cloudflare.logs.prod\` order by id limit 5`;
  const small = await openGateway({ rows, now: noon, sqlFiles: { 'counting.sql': counting } });
  try {
    const { body } = await small.get('/api/endpoints/query/counting');
    expect(body).toEqual({ result: [{ id: 'a1' }, { id: 'a2' }, { id: 'a3' }] });
  } finally {
    await small.close();
  }
});
