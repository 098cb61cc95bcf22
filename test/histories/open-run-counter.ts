import fc from 'fast-check';
import { bigqueryEnvironment } from '../bigquery/bigquery-environment.ts';
import { complete, openWarehouse } from '../bigquery/scripted-warehouse.ts';
import type { Run } from '../fleet/history.ts';

/**
 * A warehouse that counts: each query's one row says which query it was, in the order in which they came. Each gateway has a
 * server of its own, so that it is known whose query it was.
 * @param options.seed draws how long the queries take
 */
export async function openRunCounter(options: { gateways: number; seed: number; now: () => number }) {
  const { gateways, seed, now } = options;
  const durations = fc.sample(fc.integer({ min: 30, max: 900 }), { seed, numRuns: 1000 });
  const runs: (Run & { endMs: number })[] = [];
  const runOf = new Map<string, Run & { endMs: number }>();
  let begun = Promise.withResolvers<number>();

  const open = async (gateway: number) => {
    const warehouse = await openWarehouse({});
    warehouse.interfere(({ what, body, path }) => {
      if (what === 'insert') {
        const { configuration, jobReference } = body;
        const [parameter] = configuration.query.queryParameters;
        const id = runs.length + 1;
        const run = { id, gateway, key: parameter.parameterValue.value, startMs: now(), endMs: Infinity };
        runs.push(run);
        runOf.set(jobReference.jobId, run);
        begun.resolve(gateway);
        begun = Promise.withResolvers();
        return undefined;
      }
      const run = what === 'results' && runOf.get(path.split('/').at(-1) ?? '');
      if (!run) return undefined;
      const leftMs = run.startMs + durations[run.id % durations.length]! - now();
      run.endMs = now() + Math.max(0, leftMs);
      const schema = { fields: [{ name: 'run', type: 'INTEGER', mode: 'NULLABLE' }] };
      return { ...complete([String(run.id)], { schema }), afterMs: Math.max(0, leftMs) };
    });
    return warehouse;
  };
  const warehouses = await Promise.all(Array.from({ length: gateways }, (_, at) => open(at)));

  return {
    environmentOf: (gateway: number) => bigqueryEnvironment(warehouses[gateway]!.url),
    runs: (): readonly Run[] => runs,
    /** Resolves with the gateway whose query comes next, when it comes. */
    nextRun: () => begun.promise,
    close: () => {
      for (const warehouse of warehouses) warehouse.close();
    },
  };
}
