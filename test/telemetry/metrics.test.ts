import { expect, test } from 'vitest';
import type { GatewayEvent } from '../../src/telemetry/events.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

const endpoint = 'logs.all';
const requestId = 'r';
const answered = {
  type: 'endpoint.answered',
  requestId,
  endpoint,
  tokenId: 't',
  rows: 1,
  ms: 3,
  savedBytes: 0,
} as const;
const ran = { type: 'engine.query', endpoint, ms: 250, rows: 0, bytes: 0 } as const;

/** Renders what was counted of these events. */
async function linesAfter(...events: readonly GatewayEvent[]): Promise<string[]> {
  const metrics = createMetrics();
  for (const event of events) metrics.observe(event);
  return (await metrics.render()).split('\n');
}

test.each<[string, GatewayEvent[], string[]]>([
  [
    'jobs of the warehouse that were replaced, and whether the first may have been billed',
    [
      { type: 'warehouse.job_replaced', endpoint, reason: 'jobLost', mayBeBilled: true },
      { type: 'warehouse.job_replaced', endpoint, reason: 'jobBackendError', mayBeBilled: false },
      { type: 'warehouse.job_replaced', endpoint, reason: 'jobLost', mayBeBilled: true },
    ],
    [
      'warehouse_replaced_jobs_total{endpoint="logs.all",may_be_billed="true"} 2',
      'warehouse_replaced_jobs_total{endpoint="logs.all",may_be_billed="false"} 1',
    ],
  ],
  [
    'answers, by endpoint and state of the cache; the time of each stage in seconds',
    [
      { ...answered, cache: 'hit', isWarmed: true, stages: [{ name: 'cache', ms: 2 }] },
      { ...answered, cache: 'hit', isWarmed: false, stages: [{ name: 'cache', ms: 4 }] },
      { ...answered, cache: 'miss', isWarmed: false, stages: [{ name: 'query', ms: 500 }] },
    ],
    [
      'endpoint_request_seconds_sum{endpoint="logs.all",state="hit"} 0.006',
      'endpoint_request_seconds_count{endpoint="logs.all",state="miss"} 1',
      'cache_requests_total{endpoint="logs.all",state="hit"} 2',
      'cache_requests_total{endpoint="logs.all",state="miss"} 1',
      'cache_warmed_reads_total{endpoint="logs.all"} 1',
      'pipeline_stage_seconds_sum{stage="cache"} 0.006',
      'pipeline_stage_seconds_count{stage="cache"} 2',
      'pipeline_stage_seconds_sum{stage="query"} 0.5',
    ],
  ],
  [
    'requests that failed, by code',
    [{ type: 'endpoint.failed', requestId, endpoint, code: 'overloaded', ms: 1 }],
    ['endpoint_errors_total{code="overloaded"} 1'],
  ],
  [
    'connections that were ended, by reason',
    [
      { type: 'http.connection_ended', reason: 'slow_reader' },
      { type: 'http.connection_ended', reason: 'slow_sender' },
      { type: 'http.connection_ended', reason: 'slow_reader' },
      { type: 'http.connection_ended', reason: 'unread_limit' },
      { type: 'http.connection_ended', reason: 'connection_limit' },
    ],
    [
      'http_connections_ended_total{reason="slow_reader"} 2',
      'http_connections_ended_total{reason="slow_sender"} 1',
      'http_connections_ended_total{reason="unread_limit"} 1',
      'http_connections_ended_total{reason="connection_limit"} 1',
    ],
  ],
  [
    'queries under way, and those that ended, by outcome, with their time and cost',
    [
      { type: 'engine.query_started', endpoint },
      { type: 'engine.query_started', endpoint },
      { type: 'engine.query_started', endpoint },
      { ...ran, outcome: 'ok', receipt: { bytesProcessed: 1000, bytesBilled: 4000, slotMs: 1500 } },
      { ...ran, outcome: 'deadline_exceeded' },
    ],
    [
      'engine_queries_running{endpoint="logs.all"} 1',
      'engine_queries_total{endpoint="logs.all",outcome="ok"} 1',
      'engine_queries_total{endpoint="logs.all",outcome="deadline_exceeded"} 1',
      'engine_query_seconds_sum{endpoint="logs.all"} 0.5',
      'engine_query_seconds_count{endpoint="logs.all"} 2',
      'engine_bytes_processed_total{endpoint="logs.all"} 1000',
      'engine_bytes_billed_total{endpoint="logs.all"} 4000',
      'engine_slot_seconds_total{endpoint="logs.all"} 1.5',
    ],
  ],
  [
    'what came too late to be stored, what was waited for, and what the store did not do',
    [
      { type: 'cache.refused', endpoint },
      { type: 'cache.waiting', endpoint },
      { type: 'cache.waiting', endpoint },
      { type: 'store.failed', operation: 'claim', message: 'gone' },
    ],
    [
      'cache_refused_writes_total{endpoint="logs.all"} 1',
      'cache_waits_total{endpoint="logs.all"} 2',
      'cache_store_errors_total{operation="claim"} 1',
    ],
  ],
  [
    'the bytes that the cache saved',
    [
      { ...answered, cache: 'hit', isWarmed: false, stages: [], savedBytes: 1000 },
      { ...answered, cache: 'stale', isWarmed: false, stages: [], savedBytes: 500 },
    ],
    ['cache_saved_bytes_total{endpoint="logs.all"} 1500'],
  ],
  [
    'the engine as down from the event that says so to the one that says otherwise',
    [{ type: 'engine.down', failures: 5 }, { type: 'engine.up' }, { type: 'engine.down', failures: 5 }],
    ['engine_up 0'],
  ],
  [
    'turns of the event loop that took too long',
    [
      { type: 'process.stalled', ms: 200 },
      { type: 'process.stalled', ms: 2000 },
    ],
    ['event_loop_stalls_total 2'],
  ],
  ['the store and the engine up from the start', [], ['cache_store_up 1', 'engine_up 1']],
  ['the store down', [{ type: 'store.down', message: 'gone' }], ['cache_store_up 0']],
  [
    'the store up again',
    [{ type: 'store.down', message: 'gone' }, { type: 'store.up' }],
    ['cache_store_up 1'],
  ],
  [
    'HTTP answers, by method and status, and their time by method',
    [{ type: 'http.answered', requestId, method: 'GET', path: '/', status: 304, bytes: 0, ms: 2 }],
    [
      'http_requests_total{method="GET",status="304"} 1',
      'http_request_seconds_sum{method="GET"} 0.002',
      'http_request_seconds_count{method="GET"} 1',
    ],
  ],
])('counts %s', async (_what, events, expected) => {
  expect(await linesAfter(...events)).toEqual(expect.arrayContaining(expected));
});

test('puts a time into each bucket whose bound it does not exceed', async () => {
  const took = (ms: number): GatewayEvent => ({
    type: 'http.answered',
    requestId,
    method: 'GET',
    path: '/',
    status: 200,
    bytes: 0,
    ms,
  });
  const lines = await linesAfter(took(1), took(1.001), took(60_000));
  const counts = ['0.0005', '0.001', '0.005', '30', '+Inf'].map(
    bound =>
      lines
        .find(line => line.startsWith(`http_request_seconds_bucket{method="GET",le="${bound}"}`))
        ?.split(' ')[1],
  );
  expect(counts).toEqual(['0', '1', '2', '2', '3']);
});

test('counts bytes by token in a bounded number of series', async () => {
  const spent = (tokenId: string): GatewayEvent => ({ type: 'token.spent', tokenId, bytes: 10 });
  const many = Array.from({ length: 1000 }, (_, at) => spent(`t${at}`));
  const lines = await linesAfter(...many, spent('t0'), spent('jwt-one'), spent('jwt-two'));
  const series = lines.filter(line => line.startsWith('token_bytes_total{'));
  expect(series).toHaveLength(202);
  expect(series).toContain('token_bytes_total{token_id="t0"} 20');
  expect(series).toContain('token_bytes_total{token_id="jwt"} 20');
  expect(series).toContain('token_bytes_total{token_id="other"} 8000');
});
