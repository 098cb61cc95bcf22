import type { Metric, Registry } from 'prom-client';

/** Counts by label values. */
export type CounterTally = { inc(...labels: string[]): void };

/** Times by label values. */
export type HistogramTally = { observe(seconds: number, ...labels: string[]): void };

/** Upper bounds in seconds, from a hit in memory to a query at its deadline. */
const bounds = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30];

/**
 * Makes counters and histograms of a registry that cost a hit next to nothing: an event is one look-up and one addition, where
 * prom-client sorts and joins the labels each time. What was tallied takes prom-client's own form when somebody reads it.
 */
export function createTallies(registry: Registry) {
  function register(type: string, name: string, help: string, values: () => Value[]): void {
    const metric = {
      name,
      help,
      type,
      aggregator: 'sum',
      get: async () => ({ name, help, type, values: values() }),
    };
    // What the registry reads of a metric is these five; its own type asks for all that can be done to one.
    registry.registerMetric(metric as unknown as Metric);
  }

  return {
    counter(name: string, help: string, labelNames: readonly string[]): CounterTally {
      const counts = new Map<string, { readonly labels: string[]; n: number }>();
      register('counter', name, help, () =>
        [...counts.values()].map(({ labels, n }) => ({ labels: pair(labelNames, labels), value: n })),
      );
      return {
        inc(...labels) {
          const found = counts.get(keyOf(labels));
          if (found) found.n++;
          else counts.set(keyOf(labels), { labels, n: 1 });
        },
      };
    },
    histogram(name: string, help: string, labelNames: readonly string[]): HistogramTally {
      const series = new Map<string, Series>();
      register('histogram', name, help, () =>
        [...series.values()].flatMap(each => valuesOf(name, pair(labelNames, each.labels), each)),
      );
      return {
        observe(seconds, ...labels) {
          let found = series.get(keyOf(labels));
          if (!found) {
            found = { labels, sum: 0, within: new Float64Array(bounds.length + 1) };
            series.set(keyOf(labels), found);
          }
          let at = 0;
          while (at < bounds.length && seconds > bounds[at]!) at++;
          found.within[at]!++;
          found.sum += seconds;
        },
      };
    },
  };
}

/** One line of the text format. */
type Value = {
  readonly metricName?: string;
  readonly labels: Record<string, string>;
  readonly value: number;
};

type Series = {
  readonly labels: string[];
  sum: number;
  /** Observations by the first bound that they are within; the last place is for those beyond. */
  readonly within: Float64Array;
};

function keyOf(labels: string[]): string {
  return labels.length === 1 ? labels[0]! : labels.join('\n');
}

function pair(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']));
}

/** Buckets count all observations up to their bound, as Prometheus wants them. */
function valuesOf(name: string, labels: Record<string, string>, { sum, within }: Series): Value[] {
  let count = 0;
  const buckets = [...bounds, '+Inf'].map((le, at) => {
    count += within[at]!;
    return { metricName: `${name}_bucket`, labels: { ...labels, le: String(le) }, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
