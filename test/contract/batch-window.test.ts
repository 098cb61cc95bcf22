import { expect, onTestFinished, test } from 'vitest';
import { openGateway } from '../support/open-gateway.ts';

test.each([
  { batchWindowMs: '1000', runs: 1 },
  { batchWindowMs: '0', runs: 2 },
])(
  'two requests at once for two projects are $runs runs of the engine with BATCH_WINDOW_MS=$batchWindowMs',
  async each => {
    const { batchWindowMs, runs } = each;
    const gateway = await openGateway({
      now: '2026-01-15T12:00:00Z',
      environment: { BATCH_WINDOW_MS: batchWindowMs },
    });
    onTestFinished(() => gateway.close());
    const [rest, graphql] = await Promise.all([
      gateway.get('/api/endpoints/query/usage.api-counts?interval=minutely&project=ours'),
      gateway.graphql('{ usageApiCounts(project: "theirs", interval: MINUTELY) { timestamp } }'),
    ]);
    expect([rest.status, graphql.body.errors]).toEqual([200, undefined]);
    const metrics = await fetch(`${gateway.origin}/metrics`).then(answer => answer.text());
    expect(metrics).toContain(`engine_queries_total{endpoint="usage.api-counts",outcome="ok"} ${runs}\n`);
  },
);
