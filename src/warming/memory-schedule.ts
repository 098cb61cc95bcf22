import type { Clock } from '../base/clock.ts';
import {
  type ClaimedGroup,
  defaultHalfLifeMs,
  maxShownGroups,
  type ScheduleOptions,
  type ScheduleState,
  scoreAfterRead,
  type WarmKey,
  type WarmSchedule,
} from './schedule.ts';

type KnownKey = WarmKey & { expiresMs: number; score: number };

type Group = {
  readonly digests: Set<string>;
  dueMs: number;
  failures: number;
  /** The token that has it now. */
  claim: string | undefined;
};

type Tables = {
  readonly keys: Map<string, KnownKey>;
  readonly groups: Map<string, Group>;
  readonly totals: Record<string, number>;
};

/** Makes a schedule in this process's memory, for a single gateway. It never rejects. */
export function createMemorySchedule(options: ScheduleOptions & { readonly clock: Clock }): WarmSchedule {
  const { maxKeys, halfLifeMs = defaultHalfLifeMs } = options;
  const clock = neverBack(options.clock);
  const tables: Tables = { keys: new Map(), groups: new Map(), totals: {} };
  const { groups, totals } = tables;
  const held = (name: string, token: string) => {
    const group = groups.get(name);
    return group?.claim === token ? group : undefined;
  };

  return {
    async recordReads(keys) {
      for (const key of keys) recordRead(tables, key, clock.now(), halfLifeMs);
      forgetLowestScores(tables, maxKeys);
    },
    claim: async (token, leaseMs) => claimDue(tables, token, clock.now(), leaseMs),
    keysAfter: async () => ({ keys: [], next: undefined }), // a claim has them all
    async extend(name, token, leaseMs) {
      const group = held(name, token);
      if (group) group.dueMs = clock.now() + leaseMs;
      return group !== undefined;
    },
    async settle(name, token, { dueInMs, failures, dropped, counts }) {
      const group = held(name, token);
      if (!group) return false;
      Object.assign(group, { dueMs: clock.now() + dueInMs, failures, claim: undefined });
      for (const digest of dropped) forget(tables, digest);
      for (const [what, count] of Object.entries(counts)) totals[what] = (totals[what] ?? 0) + count;
      return true;
    },
    state: async () => stateOf(tables, clock.now()),
    close: async () => undefined,
  };
}

/** A clock that pauses instead of going back, so that due groups stay due. */
function neverBack(clock: Clock): Clock {
  let lastMs = clock.now();
  let setBackMs = 0;
  return {
    now() {
      const nowMs = clock.now();
      setBackMs += Math.max(0, lastMs - nowMs);
      lastMs = nowMs;
      return nowMs + setBackMs;
    },
  };
}

function recordRead({ keys, groups }: Tables, key: WarmKey, now: number, halfLifeMs: number): void {
  const score = scoreAfterRead(keys.get(key.digest)?.score, now, halfLifeMs);
  keys.set(key.digest, { ...key, score, expiresMs: now + key.lifetimeMs });
  const group = groups.get(key.group);
  if (group) {
    group.digests.add(key.digest);
    return;
  }
  const digests = new Set([key.digest]);
  groups.set(key.group, { digests, dueMs: now + key.periodMs, failures: 0, claim: undefined });
}

/** Forgets a key; with the last key of a group also the group, unless a worker has claimed it. */
function forget({ keys, groups }: Tables, digest: string): void {
  const name = keys.get(digest)?.group ?? '';
  const group = groups.get(name);
  group?.digests.delete(digest);
  if (group?.digests.size === 0 && group.claim === undefined) groups.delete(name);
  keys.delete(digest);
}

function forgetLowestScores(tables: Tables, maxKeys: number): void {
  const { keys } = tables;
  if (keys.size <= maxKeys) return;
  const lowestFirst = [...keys.values()].sort((a, b) => a.score - b.score);
  for (const { digest } of lowestFirst.slice(0, keys.size - maxKeys)) forget(tables, digest);
}

function claimDue(tables: Tables, token: string, now: number, leaseMs: number): ClaimedGroup | undefined {
  const { groups } = tables;
  let first: { readonly name: string; readonly group: Group; readonly live: readonly KnownKey[] } | undefined;
  // Each claim looks at all groups, which may be as many as the keys: nothing is copied or sorted.
  for (const [name, group] of groups) {
    if (group.dueMs > now || (first && group.dueMs >= first.group.dueMs)) continue;
    const live = takeLive(tables, group, now);
    if (live.length > 0) first = { name, group, live };
    else groups.delete(name);
  }
  if (!first) return undefined;
  const { name, group, live } = first;
  const lateMs = now - group.dueMs;
  Object.assign(group, { dueMs: now + leaseMs, claim: token });
  const claimed = live.map(({ digest, payload }) => ({ digest, payload }));
  return { group: name, keys: claimed, next: undefined, lateMs, failures: group.failures };
}

/** The keys of a group that were read within their lifetime; it forgets the others. */
function takeLive(tables: Tables, { digests }: Group, now: number): KnownKey[] {
  const known = [...digests].map(digest => tables.keys.get(digest)!);
  for (const { digest, expiresMs } of known) if (expiresMs <= now) forget(tables, digest);
  return known.filter(({ expiresMs }) => expiresMs > now);
}

function stateOf({ keys, groups, totals }: Tables, now: number): ScheduleState {
  const shown = [...groups]
    .filter(([, { digests }]) => digests.size > 0)
    .sort(([, a], [, b]) => a.dueMs - b.dueMs)
    .slice(0, maxShownGroups);
  return {
    groups: shown.map(([group, { digests, dueMs, failures, claim }]) => ({
      endpoint: keys.get([...digests][0]!)!.endpoint,
      group,
      keys: digests.size,
      dueInMs: dueMs - now,
      isClaimed: claim !== undefined && dueMs > now,
      failures,
    })),
    keys: keys.size,
    totals: { ...totals },
  };
}
