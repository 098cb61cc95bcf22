import { expect, onTestFinished, test, vi } from 'vitest';
import { openGateway } from '../support/open-gateway.ts';

/** What a Vector 0.58 sent of lines in which its configuration does not find what it looks for; the texts are ours. */
const shapes: Record<string, object[]> = {
  // A line of JSON without `msg`, and one that is no JSON.
  'storage.logs.prod.2': [
    {
      appname: 'supabase-storage',
      event_message: null,
      metadata: {
        context: [{ host: '4be0d76f1c2a', pid: 1 }],
        level: 50,
        project: 'default',
        tenantId: 'default',
        timestamp: '2026-01-15T10:00:00.481Z',
      },
      timestamp: '2026-01-15T10:00:00.481024Z',
    },
    {
      appname: 'supabase-storage',
      event_message: '(node:1) Warning: a limit is near',
      metadata: { project: 'default', tenantId: 'default' },
      timestamp: '2026-01-15T10:00:00.501025Z',
    },
  ],
  // Functions print empty lines, and every character that JSON can name.
  'deno-relay-logs': [
    {
      appname: 'supabase-edge-functions',
      event_message: '',
      metadata: { project_ref: 'default' },
      timestamp: '2026-01-15T10:00:00.501026Z',
    },
    {
      appname: 'supabase-edge-functions',
      event_message: '{"text":"\u{1F600} and \0"}',
      metadata: { project_ref: 'default' },
      timestamp: '2026-01-15T10:00:00.501027Z',
    },
  ],
  // The second line of a statement: an older configuration fails there, and Vector passes the line on as it came.
  'postgres.logs': [
    {
      appname: 'supabase-db',
      event_message: '\tfrom rooms',
      project: 'default',
      timestamp: '2026-01-15T10:00:00.063118Z',
    },
  ],
  // An older configuration reads fields of the request that Vector's parser does not have.
  'cloudflare.logs.prod': [
    {
      appname: 'supabase-kong',
      event_message:
        '172.18.0.1 - - [15/Jan/2026:10:00:00 +0000] "GET /rest/v1/rooms HTTP/1.1" 200 812 "-" "-"',
      metadata: {
        request: {
          headers: { cf_connecting_ip: '172.18.0.1', referer: '-', user_agent: '-' },
          method: null,
          path: null,
          protocol: null,
        },
        response: { status_code: 200 },
      },
      project: 'default',
      timestamp: '2026-01-15T10:00:00Z',
    },
  ],
};

test('what Vector sends of lines that it could not read is kept whole', async () => {
  const gateway = await openGateway({
    now: '2026-01-15T10:30:00Z',
    environment: { COMPAT: 'logflare' },
  });
  onTestFinished(() => gateway.close());
  for (const [source, events] of Object.entries(shapes)) {
    const { body } = await gateway.send(`/api/logs?source_name=${source}`, {
      method: 'POST',
      body: JSON.stringify(events),
    });
    expect(body).toEqual({ message: 'Logged!', events: events.length });
  }
  const ask = async (sql: string) => {
    const query = new URLSearchParams({
      project: 'default',
      sql,
      iso_timestamp_start: '2026-01-15T09:00:00Z',
    });
    const { body } = await gateway.get(`/api/endpoints/query/logs.all?${query}`);
    return body.result;
  };
  const own = (columns: string, table: string) => `select ${columns} from ${table} order by timestamp`;
  await vi.waitFor(async () => {
    const storage = await ask(own('event_message, metadata', 'storage_logs'));
    expect(storage).toMatchObject([
      { event_message: null, metadata: [{ level: '50', context: [{ host: '4be0d76f1c2a', pid: 1 }] }] },
      {
        event_message: '(node:1) Warning: a limit is near',
        metadata: [{ level: null, tenantId: 'default' }],
      },
    ]);
    const functions = await ask(own('event_message', 'function_edge_logs'));
    expect(functions).toEqual([{ event_message: '' }, { event_message: '{"text":"\u{1F600} and \0"}' }]);
    const postgres = await ask(own('event_message, array_length(metadata) as n', 'postgres_logs'));
    expect(postgres).toEqual([{ event_message: '\tfrom rooms', n: 0 }]);
    const edge = await ask(own('timestamp, metadata', 'edge_logs'));
    expect(edge).toMatchObject([
      {
        timestamp: 1_768_471_200_000_000,
        metadata: [
          { request: [{ path: null, headers: [{ referer: '-' }] }], response: [{ status_code: 200 }] },
        ],
      },
    ]);
  });
});
