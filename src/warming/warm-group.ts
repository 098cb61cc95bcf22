import type { LRUCache } from 'lru-cache';
import type { Clock } from '../base/clock.ts';
import { GatewayError, toGatewayError } from '../base/errors.ts';
import { takeTurns } from '../base/turns.ts';
import { openBatch } from '../batch/batch-queries.ts';
import type { EndpointQuery, RunQuery, RunStatement } from '../batch/run-queries.ts';
import type { Cache } from '../cache/cache.ts';
import type { CacheKey, CacheRequest } from '../cache/cache-request.ts';
import type { ClaimedGroup, KeyPage, WarmSchedule } from './schedule.ts';
import type { WarmedKeys, WarmSkip } from './warm-events.ts';

/** What became of the keys of one claim. */
export type GroupOutcome = WarmedKeys & {
  readonly periodMs: number;
  /** Bytes that separate runs for each key would have read in addition. */
  readonly savedBytes: number;
  /** Digests of keys that need no more warming. */
  readonly dropped: readonly string[];
};

/** The request to the cache for one key. */
export type KeyPlan = {
  readonly query: EndpointQuery & { readonly key: CacheKey };
  /** Makes the request to the cache, whose query is run by `runQuery`. */
  readonly cacheRequest: (runQuery: RunQuery) => CacheRequest;
};

type WarmGroupDeps = {
  readonly schedule: Pick<WarmSchedule, 'keysAfter'>;
  readonly cache: Pick<Cache, 'warm'>;
  /** Plans a key by the current definition of its endpoint; undefined if there is none. */
  readonly planKey: (payload: string) => KeyPlan | undefined;
  /** Runs with background priority. */
  readonly runStatement: RunStatement;
  readonly budget: BytesBudget;
  /** Digests of keys that failed last time: they run apart from the others, which stay one run. */
  readonly failed: LRUCache<string, true>;
  /**
   * By the hash of a saved query's definition: how many values one run may have, since a run with more gave too large a result, which a
   * warehouse bills all the same. Entries should expire, so that more values are tried again.
   */
  readonly maxValues: LRUCache<string, number>;
};

/** Maximum number of keys warmed together: each holds a lease while the query runs. */
const maxTogether = 1000;

/** Milliseconds to wait for the leases on the keys of a batch; keys that get theirs later take another run. */
const claimTimeoutMs = 2000;

/** Milliseconds until a group without remaining keys is due again. */
const emptyPeriodMs = 60_000;

type Counts = { refreshed: number; failed: number; runs: number; bytes: number; savedBytes: number };

/** Warms the keys of one claim: by one run if their queries have a batch form. */
export async function warmGroup(
  deps: WarmGroupDeps,
  claim: ClaimedGroup,
  signal: AbortSignal,
): Promise<GroupOutcome> {
  const counts: Counts = { refreshed: 0, failed: 0, runs: 0, bytes: 0, savedBytes: 0 };
  const skipped: Partial<Record<WarmSkip, number>> = {};
  const skip = (why: WarmSkip) => {
    skipped[why] = (skipped[why] ?? 0) + 1;
  };
  const dropped: string[] = [];
  let definition: KeyPlan['query']['definition'] | undefined;
  let count = 0;
  const turns = takeTurns();
  // Read and planned page by page, so that a group of any size needs the memory of one page.
  for await (const keys of pagesOf(deps, claim)) {
    if (signal.aborted) break;
    count += keys.length;
    const plans: KeyPlan[] = [];
    for (const { digest, payload } of keys) {
      while (turns.isOver()) await turns.next();
      const plan = deps.planKey(payload);
      if (plan?.query.key.digest === digest && plan.query.definition.warmSeconds > 0) plans.push(plan);
      else {
        dropped.push(digest);
        skip('outdated');
      }
    }
    definition ??= plans[0]?.query.definition;
    const hasFailed = ({ query }: KeyPlan) => deps.failed.has(query.key.digest);
    const limit = deps.maxValues.get(definition?.hash ?? '') ?? maxTogether;
    const apart = [plans.filter(plan => !hasFailed(plan)), plans.filter(hasFailed)];
    for (const some of apart.flatMap(all => slicesOf(all, limit))) {
      if (deps.budget.isUsedUp) for (const _ of some) skip('budget');
      else await warmTogether(deps, some, counts, skip, signal);
    }
  }
  return {
    endpoint: definition?.name ?? '',
    periodMs: definition ? definition.warmSeconds * 1000 : emptyPeriodMs,
    keys: count,
    ...counts,
    skipped,
    dropped,
  };
}

/** The keys of a group, at most `maxTogether` at a time. */
async function* pagesOf({ schedule }: WarmGroupDeps, { group, ...first }: ClaimedGroup) {
  for (let page: KeyPage = first; ; page = await schedule.keysAfter(group, page.next)) {
    yield* slicesOf(page.keys, maxTogether);
    if (page.next === undefined) return;
  }
}

function slicesOf<Item>(items: readonly Item[], length: number): (readonly Item[])[] {
  const slices = [];
  for (let at = 0; at < items.length; at += length) slices.push(items.slice(at, at + length));
  return slices;
}

async function warmTogether(
  deps: WarmGroupDeps,
  plans: readonly KeyPlan[],
  counts: Counts,
  skip: (why: WarmSkip) => void,
  signal: AbortSignal,
): Promise<void> {
  const hash = plans[0]?.query.definition.hash;
  const counted: RunStatement = async (statement, options) => {
    // Checked before each run: a thousand keys may take many.
    if (deps.budget.isUsedUp) throw new GatewayError('cancelled', 'The bytes of the hour are used up');
    counts.runs++;
    const list = statement.parameters.find(({ value }) => Array.isArray(value))?.value;
    const values = list?.length ?? 1;
    const result = await deps.runStatement(statement, options).catch(error => {
      if (hash && values > 1 && toGatewayError(error).code === 'result_too_large') {
        deps.maxValues.set(hash, Math.ceil(values / 2));
      }
      throw error;
    });
    const bytes = result.receipt?.bytesProcessed ?? 0;
    counts.bytes += bytes;
    deps.budget.spend(bytes);
    counts.savedBytes += bytes * (values - 1);
    return result;
  };
  const batch = openBatch(counted, plans.length, claimTimeoutMs);
  await Promise.all(
    plans.map(async ({ query, cacheRequest }) => {
      const place = batch.join();
      const { warmSeconds } = query.definition;
      try {
        const outcome = await deps.cache.warm(cacheRequest(place.run), warmSeconds * 1000, signal);
        if (outcome === 'refreshed') counts.refreshed++;
        else skip(outcome === 'busy' && deps.budget.isUsedUp ? 'budget' : outcome);
        if (outcome !== 'busy') deps.failed.delete(query.key.digest);
      } catch {
        // The loader has emitted the reason.
        counts.failed++;
        deps.failed.set(query.key.digest, true);
      } finally {
        place.leave();
      }
    }),
  );
}

/** A limit of the bytes that may be read within any hour. */
type BytesBudget = { readonly isUsedUp: boolean; spend(bytes: number): void };

const hourMs = 3_600_000;

/** Makes a budget. @param perHour 0 = no limit */
export function createBytesBudget(perHour: number, clock: Clock): BytesBudget {
  let spent: { readonly atMs: number; readonly bytes: number }[] = [];
  return {
    get isUsedUp() {
      // Distance in both directions: if the clock was set back, earlier reads would otherwise count until it has caught up.
      spent = spent.filter(({ atMs }) => Math.abs(clock.now() - atMs) < hourMs);
      return perHour > 0 && spent.reduce((sum, { bytes }) => sum + bytes, 0) >= perHour;
    },
    spend(bytes) {
      if (bytes > 0) spent.push({ atMs: clock.now(), bytes });
    },
  };
}
