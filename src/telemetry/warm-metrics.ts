import type { Registry } from 'prom-client';
import type { ScheduleState, WarmSchedule } from '../warming/schedule.ts';
import { registerMetric, type Value } from './register-metric.ts';

/** A metric that is read from the schedule at each scrape: it covers all workers, whichever process is scraped. */
type WarmMetric = {
  readonly name: string;
  readonly type: 'gauge' | 'counter';
  readonly help: string;
  readonly read: (state: ScheduleState) => readonly Value[];
};

const total =
  (name: string) =>
  ({ totals }: ScheduleState) => [{ labels: {}, value: totals[name] ?? 0 }];

const metrics: readonly WarmMetric[] = [
  { name: 'warm_keys', type: 'gauge', help: 'Keys that are kept warm, in all workers.', read: ({ keys }) => [{ labels: {}, value: keys }] },
  { name: 'warm_groups_due', type: 'gauge', help: 'Groups of keys that are due and that no worker has taken.', read: dueGroups },
  { name: 'warm_lag_seconds', type: 'gauge', help: 'Time that the longest due group has waited for.', read: lag },
  { name: 'warm_cycles_total', type: 'counter', help: 'Groups that workers took.', read: total('groups') },
  { name: 'warm_keys_total', type: 'counter', help: 'Keys that were due, by outcome: refreshed, failed, or skipped and why.', read: outcomes },
  { name: 'warm_engine_runs_total', type: 'counter', help: 'Queries that workers ran.', read: total('runs') },
  { name: 'warm_bytes_total', type: 'counter', help: 'Bytes that the engine read for workers, where it counts them.', read: total('bytes') },
  { name: 'warm_saved_bytes_total', type: 'counter', help: 'Bytes that a query for each key would have read on top.', read: total('savedBytes') },
]; // biome-ignore format: a table

/** Adds the metrics of warming to a registry; they are left out while the schedule does not answer. */
export function addWarmMetrics(registry: Registry, schedule: Pick<WarmSchedule, 'state'>): void {
  let state: Promise<ScheduleState | undefined> | undefined;
  // One read for all metrics of one scrape.
  const look = () => {
    state ??= schedule.state().catch(() => undefined);
    void state.then(() => {
      state = undefined;
    });
    return state;
  };
  for (const { read, ...metric } of metrics) {
    registerMetric(registry, {
      ...metric,
      async read() {
        const known = await look();
        return known ? read(known) : [];
      },
    });
  }
}

function dueGroups({ groups }: ScheduleState): Value[] {
  return [{ labels: {}, value: groups.filter(({ dueInMs }) => dueInMs <= 0).length }];
}

function lag({ groups }: ScheduleState): Value[] {
  return [{ labels: {}, value: Math.max(0, ...groups.map(({ dueInMs }) => -dueInMs)) / 1000 }];
}

function outcomes({ totals }: ScheduleState): Value[] {
  return Object.entries(totals)
    .filter(([name]) => name === 'refreshed' || name === 'failed' || name.startsWith('skipped:'))
    .map(([name, value]) => ({ labels: { outcome: name.replace(':', '_') }, value }));
}
