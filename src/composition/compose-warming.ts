import { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import type { RunStatement } from '../batch/run-queries.ts';
import type { Cache } from '../cache/cache.ts';
import type { EndpointRegistry } from '../endpoints/registry.ts';
import { planWarming } from '../pipeline/plan-request.ts';
import type { GatewayEvent } from '../telemetry/events.ts';
import { createHotKeys, type HotKeys } from '../warming/hot-keys.ts';
import { createMemorySchedule } from '../warming/memory-schedule.ts';
import { createRedisSchedule } from '../warming/redis-schedule.ts';
import type { WarmSchedule } from '../warming/schedule.ts';
import { createBytesBudget, warmGroup } from '../warming/warm-group.ts';
import { createWarmer, type Warmer } from '../warming/warmer.ts';
import type { Config } from './config.ts';

/** Milliseconds between two polls of the schedule. */
const pollMs = 1000;

/** Records reads of hot keys, and warms keys if that is this process's task. */
type Warming = {
  readonly schedule: WarmSchedule;
  readonly hotKeys: HotKeys;
  close(): Promise<void>;
};

type WarmingDeps = {
  readonly clock: Clock;
  readonly emit: (event: GatewayEvent) => void;
  readonly cache: Cache;
  /** As of the store. */
  readonly warehouse: string | undefined;
  readonly endpoints: Pick<EndpointRegistry, 'find'>;
  /** Runs in the background: callers' queries run first. */
  readonly runStatement: RunStatement;
};

/**
 * Composes the warming of one process, with its schedule in Redis if there is one.
 * @param isWorker whether this process warms keys, besides recording reads
 */
export function openWarming(config: Config, deps: WarmingDeps, isWorker: boolean): Warming {
  const { clock, emit } = deps;
  const { REDIS_URL: url, WARM_MAX_KEYS: maxKeys } = config;
  const schedule = url
    ? createRedisSchedule({ url, warehouse: deps.warehouse, maxKeys })
    : createMemorySchedule({ clock, maxKeys });
  const hotKeys = createHotKeys({ schedule, emit });
  const warmer = isWorker ? openWarmer(config, deps, schedule) : undefined;
  warmer?.start(pollMs);
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

/** Milliseconds after which a run may again have a number of values that once gave too large a result. */
const maxValuesMs = 86_400_000;

function openWarmer(config: Config, deps: WarmingDeps, schedule: WarmSchedule): Warmer {
  const { clock, emit, cache, endpoints, runStatement } = deps;
  const { QUERY_TIMEOUT_MS: queryTimeoutMs } = config;
  const budget = createBytesBudget(config.WARM_BYTES_PER_HOUR, clock);
  const failed = new LRUCache<string, true>({ max: 10_000 });
  const maxValues = new LRUCache<string, number>({ max: 10_000, ttl: maxValuesMs });
  return createWarmer({
    schedule,
    clock,
    emit,
    concurrency: config.WARM_CONCURRENCY,
    warmGroup: (claim, signal) =>
      warmGroup(
        {
          schedule,
          cache,
          budget,
          failed,
          maxValues,
          runStatement,
          planKey: payload => planWarming({ endpoints, queryTimeoutMs }, payload),
        },
        claim,
        signal,
      ),
  });
}
