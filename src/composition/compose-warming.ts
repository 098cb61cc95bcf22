import type { Clock } from '../base/clock.ts';
import type { EndpointQuery } from '../batch/endpoint-query.ts';
import type { QueryTerms, RunStatement } from '../batch/run-batch.ts';
import type { Cache } from '../cache/cache.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import { bindParameters, readCallerSql } from '../pipeline/bind-parameters.ts';
import { cacheRequestOf } from '../pipeline/plan-request.ts';
import { labelsOf } from '../pipeline/query-labels.ts';
import type { GatewayEvent } from '../telemetry/events.ts';
import { createBytesBudget } from '../warming/bytes-budget.ts';
import { createHotKeys, type HotKeys } from '../warming/hot-keys.ts';
import { createMemorySchedule } from '../warming/memory-schedule.ts';
import { createRedisSchedule } from '../warming/redis-schedule.ts';
import type { WarmSchedule } from '../warming/schedule.ts';
import { warmGroup } from '../warming/warm-group.ts';
import { createWarmer, type Warmer } from '../warming/warmer.ts';
import type { Config } from './config.ts';

/** Milliseconds between two looks at the schedule. */
const lookMs = 1000;

/** What remembers reads, and when they are due; who warms them here, if anybody, is within. */
export type Warming = {
  readonly schedule: WarmSchedule;
  readonly hotKeys: HotKeys;
  close(): Promise<void>;
};

type WarmingDeps = {
  readonly clock: Clock;
  readonly emit: (event: GatewayEvent) => void;
  readonly cache: Cache;
  readonly endpoints: Pick<EndpointRegistry, 'find'>;
  /** Runs in the background: callers' queries go first. */
  readonly runStatement: RunStatement;
};

/**
 * Puts the warming of one process together, over Redis where there is one.
 * @param isWorker whether this process warms, beside noting reads
 */
export function openWarming(config: Config, deps: WarmingDeps, isWorker: boolean): Warming {
  const { clock, emit } = deps;
  const { REDIS_URL: url, WARM_MAX_KEYS: maxKeys } = config;
  const schedule = url ? createRedisSchedule({ url, maxKeys }) : createMemorySchedule({ clock, maxKeys });
  const hotKeys = createHotKeys({ schedule, emit });
  const warmer = isWorker ? openWarmer(config, deps, schedule) : undefined;
  warmer?.start(lookMs);
  return {
    schedule,
    hotKeys,
    async close() {
      await warmer?.close();
      await hotKeys.close();
      await schedule.close();
    },
  };
}

function openWarmer(config: Config, deps: WarmingDeps, schedule: WarmSchedule): Warmer {
  const { clock, emit, cache, endpoints, runStatement } = deps;
  const budget = createBytesBudget(config.WARM_BYTES_PER_HOUR, clock);
  return createWarmer({
    schedule,
    budget,
    clock,
    emit,
    concurrency: config.WARM_CONCURRENCY,
    warmGroup: (claim, signal) =>
      warmGroup(
        {
          cache,
          budget,
          runStatement,
          queryOf: payload => readQuestion(endpoints, payload),
          cacheRequestOf: (query, run) => {
            const { maxBytesBilled } = query.definition;
            const load = { run: (inner: AbortSignal) => run(query, termsOf(query, inner)), maxBytesBilled };
            return cacheRequestOf(config.QUERY_TIMEOUT_MS, query, { load, refreshLoad: load });
          },
        },
        claim,
        signal,
      ),
  });
}

/** No caller's: under the endpoint's own name, and within its own limit. */
function termsOf({ definition: { name, maxBytesBilled } }: EndpointQuery, signal: AbortSignal): QueryTerms {
  const labels = labelsOf({}, { endpoint: name, tokenId: 'worker', requestId: undefined });
  return { signal, labels, maxBytesBilled };
}

/** A key's query by today's definition; undefined where it has none, or where that does not take its values any more. */
function readQuestion(endpoints: Pick<EndpointRegistry, 'find'>, payload: string) {
  try {
    const { endpoint, parameters } = JSON.parse(payload);
    const definition = endpoints.find(endpoint);
    return (
      definition && {
        definition,
        parameters: bindParameters(definition, parameters),
        callerSql: readCallerSql(definition, parameters),
      }
    );
  } catch {
    return undefined;
  }
}
