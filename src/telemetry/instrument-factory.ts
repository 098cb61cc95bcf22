import type { Metric, Registry } from 'prom-client';

/** A counter of events or amounts, by the values of one or two labels. */
export type Counter = {
  inc(first: string, second?: string): void;
  add(amount: number, first: string, second?: string): void;
};

/** A histogram of times, by the values of one or two labels. */
export type Histogram = { observe(seconds: number, first: string, second?: string): void };

/** Upper bounds in seconds, from a hit in memory to a query at its deadline. */
const bounds = [0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30];

/**
 * Makes counters and histograms that cost a hit next to nothing: an event is one look-up and one addition, whereas
 * prom-client sorts and joins the labels each time. The values take prom-client's form only when the metrics are read.
 */
export function createInstrumentFactory(registry: Registry) {
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
    counter(name: string, help: string, labelNames: readonly string[]): Counter {
      // A map of maps: looking up two existing strings is faster than joining them.
      const counts = new Map<string, Map<string, number>>();
      register('counter', name, help, () =>
        [...counts].flatMap(([first, inner]) =>
          [...inner].map(([second, value]) => ({ labels: pair(labelNames, [first, second]), value })),
        ),
      );
      const add = (amount: number, first: string, second = '') => {
        const inner = counts.get(first);
        if (inner) inner.set(second, (inner.get(second) ?? 0) + amount);
        else counts.set(first, new Map([[second, amount]]));
      };
      return { add, inc: (first, second) => add(1, first, second) };
    },
    histogram(name: string, help: string, labelNames: readonly string[]): Histogram {
      const series = new Map<string, Map<string, Series>>();
      register('histogram', name, help, () =>
        [...series].flatMap(([first, inner]) =>
          [...inner].flatMap(([second, each]) => valuesOf(name, pair(labelNames, [first, second]), each)),
        ),
      );
      return {
        observe(seconds, first, second = '') {
          let inner = series.get(first);
          if (!inner) {
            inner = new Map();
            series.set(first, inner);
          }
          let found = inner.get(second);
          if (!found) {
            found = { sum: 0, within: new Float64Array(bounds.length + 1) };
            inner.set(second, found);
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
  sum: number;
  /** Observations by the first bound that they do not exceed; the last element counts those beyond. */
  readonly within: Float64Array;
};

function pair(names: readonly string[], values: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name, at) => [name, values[at] ?? '']));
}

/** The lines of a histogram. Buckets are cumulative, as Prometheus requires. */
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
