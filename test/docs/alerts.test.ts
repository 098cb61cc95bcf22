import { readFileSync } from 'node:fs';
import { parser } from '@prometheus-io/lezer-promql';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import type { GatewayEvent } from '../../src/telemetry/events.ts';
import { createMetrics } from '../../src/telemetry/metrics.ts';

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

type Rule = {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly summary: string; readonly runbook: string };
};

const rules: Rule[] = parse(read('deploy/prometheus-alerts.yaml')).groups.flatMap(
  (group: { rules: Rule[] }) => group.rules,
);
const panels: { title: string; targets: { expr: string }[] }[] = JSON.parse(
  read('deploy/grafana-dashboard.json'),
).panels;

const expressions = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
];

/** One of each event that makes a series. */
const endpoint = 'e';
const events: GatewayEvent[] = [
  { type: 'http.answered', requestId: 'r', method: 'GET', path: '/', status: 200, bytes: 1, ms: 1 },
  { type: 'http.refused', code: 'forbidden' },
  { type: 'http.connection_ended', reason: 'slow_reader' },
  {
    type: 'endpoint.answered',
    requestId: 'r',
    endpoint,
    tokenId: 't',
    cache: 'hit',
    rows: 1,
    isWarmed: true,
    savedBytes: 1,
    stages: [{ name: 'cache', ms: 1 }],
    ms: 1,
  },
  { type: 'endpoint.failed', requestId: 'r', endpoint, code: 'internal', ms: 1 },
  { type: 'engine.query_started', endpoint },
  {
    type: 'engine.query',
    endpoint,
    outcome: 'ok',
    ms: 1,
    rows: 1,
    bytes: 1,
    receipt: { bytesProcessed: 1, bytesBilled: 1, slotMs: 1 },
  },
  { type: 'token.spent', tokenId: 't', bytes: 1 },
  { type: 'store.failed', operation: 'read', message: 'gone' },
];

/** Labels by the names of the series. */
const labelsOf = new Map<string, Set<string>>();

beforeAll(async () => {
  const metrics = createMetrics();
  metrics.watch({ state: async () => ({ groups: [], keys: 1, totals: { refreshed: 1 } }) });
  for (const event of events) metrics.observe(event);
  for (const [, name = '', labels = ''] of (await metrics.render()).matchAll(/^(\w+)(?:\{(.*)\})? /gm)) {
    const known = labelsOf.get(name) ?? new Set(['instance', 'job']);
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label);
    labelsOf.set(name, known);
  }
});

/** Metrics and labels that an expression names, and where it is not PromQL, by Prometheus' own grammar. */
function namesIn(expr: string) {
  // Grafana puts an interval there.
  const text = expr.replaceAll('$__rate_interval', '5m');
  const found = { metrics: [] as string[], labels: [] as string[], errors: [] as string[] };
  parser.parse(text).iterate({
    enter({ type, from, to }) {
      const own = text.slice(from, to);
      if (type.isError) found.errors.push(`${from}: ${own}`);
      if (type.name === 'Identifier') found.metrics.push(own);
      if (type.name === 'LabelName') found.labels.push(own);
    },
  });
  return found;
}

test('the grammar finds what is no PromQL', () => {
  expect(namesIn('sum(rate(x_total[5m]) > 0').errors).not.toEqual([]);
});

test.each(expressions)(
  '%s: the expression is PromQL over metrics and labels that are there',
  (_name, expr) => {
    const { metrics, labels, errors } = namesIn(expr);
    expect(errors).toEqual([]);
    expect(metrics).not.toEqual([]);
    expect(metrics.filter(name => !labelsOf.has(name))).toEqual([]);
    const known = new Set(metrics.flatMap(name => [...labelsOf.get(name)!]));
    expect(labels.filter(label => !known.has(label))).toEqual([]);
  },
);

test('each alert has a case of when it fires, for promtool', () => {
  const { tests } = parse(read('test/deploy/alert-cases.yaml')) as { tests: { name: string }[] };
  expect(tests.map(({ name }) => name)).toEqual(rules.map(({ alert }) => alert));
});

describe('docs/operations.md', () => {
  const page = read('docs/operations.md');

  test('has a paragraph for each alert, which its runbook names', () => {
    const anchors = [...page.matchAll(/^## (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replace(/[^a-z0-9 -]/g, '')
        .replaceAll(' ', '-'),
    );
    const [first] = anchors.slice(anchors.indexOf('alerts') + 1);
    expect(first).toBeDefined();
    const missing = rules.filter(({ annotations: { runbook } }) => {
      const [path, anchor = ''] = runbook.split('#');
      return path !== 'docs/operations.md' || !anchors.includes(anchor);
    });
    expect(missing).toEqual([]);
  });

  test('lists the alerts in their order, with their paragraphs', () => {
    const rows = [...page.matchAll(/^\| `(\w+)` \| \[.*\]\((#[\w-]+)\) \|$/gm)].map(([, alert, anchor]) => [
      alert,
      `docs/operations.md${anchor}`,
    ]);
    expect(rows).toEqual(rules.map(({ alert, annotations }) => [alert, annotations.runbook]));
  });
});
