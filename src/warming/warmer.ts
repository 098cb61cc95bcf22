import { randomUUID } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { GatewayError, messageOf } from '../base/errors.ts';
import type { ClaimedGroup, WarmSchedule } from './schedule.ts';
import type { WarmEvent } from './warm-events.ts';
import type { GroupOutcome } from './warm-group.ts';

/** Keeps the entries of hot keys fresh. */
export type Warmer = {
  /** Warms all due groups; resolves when that is done. */
  runDue(): Promise<void>;
  /** Calls `runDue` every `everyMs` milliseconds, until it is closed. */
  start(everyMs: number): void;
  /** Aborts the runs in progress; their groups are due at once, for other workers. */
  close(): Promise<void>;
};

type WarmerOptions = {
  readonly schedule: WarmSchedule;
  /** Warms the keys of a claim. */
  readonly warmGroup: (claim: ClaimedGroup, signal: AbortSignal) => Promise<GroupOutcome>;
  readonly clock: Clock;
  readonly emit: (event: WarmEvent) => void;
  /** In [0, 1). Default: the system's. */
  readonly random?: () => number;
  /** Groups that are warmed at the same time. Default 1. */
  readonly concurrency?: number;
};

/** Milliseconds a claim lasts: after that time another worker takes over the group of a dead one. */
const leaseMs = 15_000;
const extendMs = 5_000;

/** The share of a period by which a group may run early, so that groups do not stay synchronised. */
const jitter = 0.1;

/** Makes a worker over a schedule that it may share with others. */
export function createWarmer(options: WarmerOptions): Warmer {
  const { schedule, warmGroup, clock, emit, random = Math.random, concurrency = 1 } = options;
  const closing = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  /** The loops in progress; each warms one group after another. */
  const lanes: (Promise<void> | undefined)[] = [];

  async function runAll(): Promise<void> {
    try {
      const token = randomUUID();
      for (;;) {
        if (closing.signal.aborted) return;
        const claim = await schedule.claim(token, leaseMs);
        if (!claim) return;
        await warm(claim, token);
      }
    } catch (error) {
      emit({ type: 'warm.schedule_failed', message: messageOf(error) });
    }
  }

  async function warm(claim: ClaimedGroup, token: string): Promise<void> {
    const startedMs = clock.now();
    // Not negative, even if the clock was set back.
    const tookMs = () => Math.max(0, clock.now() - startedMs);
    const { group, lateMs } = claim;
    const extending = setInterval(() => {
      schedule.extend(group, token, leaseMs).catch(() => undefined);
    }, extendMs).unref();
    try {
      const outcome = await warmGroup(claim, closing.signal);
      const { endpoint, periodMs, keys, refreshed, failed, skipped, runs, bytes, savedBytes, dropped } =
        outcome;
      const failures = failed > 0 && refreshed === 0 ? claim.failures + 1 : 0;
      const totals = { due: keys, refreshed, failed, runs, bytes, savedBytes, lateMs };
      const skips = Object.entries(skipped).map(([why, count]) => [`skipped:${why}`, count] as const);
      await schedule.settle(group, token, {
        // The group of a stopping worker is due at once, for another one.
        dueInMs: closing.signal.aborted ? 0 : nextDueMs(periodMs, failures, tookMs()),
        failures,
        dropped,
        counts: { groups: 1, ...totals, ...Object.fromEntries(skips) },
      });
      const ms = tookMs();
      emit({ type: 'warm.cycle', endpoint, keys, refreshed, failed, skipped, runs, bytes, lateMs, ms });
    } finally {
      clearInterval(extending);
    }
  }

  /**
   * Milliseconds until the next run: it starts about one period after this one started. After a failure it starts two periods after
   * this one ended, after further failures in a row four, then eight.
   */
  function nextDueMs(periodMs: number, failures: number, tookMs: number): number {
    const ms = periodMs * 2 ** Math.min(failures, 3) * (1 - jitter * random());
    return failures > 0 ? ms : Math.max(0, ms - tookMs);
  }

  function runDue(): Promise<void> {
    // Each lane runs on its own: one that is busy with a large group does not hold up the others.
    for (let at = 0; at < concurrency; at++) {
      lanes[at] ??= runAll().finally(() => {
        lanes[at] = undefined;
      });
    }
    return Promise.all(lanes).then(() => undefined);
  }

  return {
    runDue,
    start(everyMs) {
      timer = setInterval(() => void runDue(), everyMs).unref();
    },
    async close() {
      clearInterval(timer);
      closing.abort(new GatewayError('cancelled', 'The worker is stopping'));
      await Promise.all(lanes);
    },
  };
}
