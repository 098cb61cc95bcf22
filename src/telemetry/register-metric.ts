import type { Metric, Registry } from 'prom-client';

/** One line of the text format. */
export type Value = {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

type ReadMetric = {
  readonly name: string;
  readonly help: string;
  readonly type: string;
  /** Called at each scrape. */
  readonly read: () => readonly Value[] | Promise<readonly Value[]>;
};

/** Adds a metric whose values take prom-client's form only when they are read. */
export function registerMetric(registry: Registry, { name, help, type, read }: ReadMetric): void {
  const metric = {
    name,
    help,
    type,
    aggregator: 'sum',
    get: async () => ({ name, help, type, values: await read() }),
  };
  // The five members of a metric that the registry reads; its own type requires all the others as well.
  registry.registerMetric(metric as unknown as Metric);
}
