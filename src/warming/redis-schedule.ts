import { connectRedis } from '../store/connect-redis.ts';
import { watchConnection } from '../store/watch-connection.ts';
import {
  type ClaimedGroup,
  defaultHalfLifeMs,
  type GroupState,
  type KeyPage,
  type ScheduleOptions,
  type ScheduleState,
  type WarmKey,
  type WarmSchedule,
} from './schedule.ts';
import { warmKeys, warmScripts } from './warm-scripts.ts';

/** Maximum keys of one call: a script holds up the commands of all other clients. */
const maxNamed = 200;

type RedisScheduleOptions = ScheduleOptions & {
  readonly url: string;
  /** Names the rows that are kept warm; schedules of other rows in the same Redis share nothing with this one. Default: rows without a name. */
  readonly warehouse?: string | undefined;
};

/**
 * Makes a schedule in Redis, shared by all workers and gateways, over a connection of its own. Calls reject while Redis does
 * not answer; callers try again later.
 * @throws Error if the URL can't be used
 */
export function createRedisSchedule(options: RedisScheduleOptions): WarmSchedule {
  const { url, warehouse, maxKeys, halfLifeMs = defaultHalfLifeMs } = options;
  const keys = warmKeys(warehouse);
  const { client } = connectRedis(url);
  const reason = watchConnection(client);
  for (const [name, lua] of Object.entries(warmScripts)) {
    client.defineCommand(name, { lua, numberOfKeys: keys.length });
  }
  const run = async <Answer>(script: keyof typeof warmScripts, ...args: (string | number)[]) => {
    // The client has a method for each defined command; its types know neither them nor the scripts' results.
    const methods = client as unknown as Record<string, (...args: (string | number)[]) => Promise<Answer>>;
    return methods[script]!(...keys, ...args).catch((error: unknown) => {
      throw new Error(reason(error), { cause: error });
    });
  };

  return {
    async recordReads(read) {
      for (let at = 0; at < read.length; at += maxNamed) {
        const some = read.slice(at, at + maxNamed).flatMap(argumentsOf);
        await run('sqgWarmRecord', maxKeys, halfLifeMs, ...some);
      }
    },
    async claim(token, leaseMs) {
      for (;;) {
        const answer = await run<string[]>('sqgWarmClaim', token, leaseMs);
        if (answer[0] !== '') return toClaim(answer);
      }
    },
    async keysAfter(group, next) {
      return toPage(await run<string[]>('sqgWarmPage', group, next));
    },
    async extend(group, token, leaseMs) {
      return (await run('sqgWarmExtend', group, token, leaseMs)) === 1;
    },
    async settle(group, token, { dueInMs, failures, dropped, counts }) {
      for (let at = 0; at < dropped.length; at += maxNamed) {
        if ((await run('sqgWarmDrop', group, token, ...dropped.slice(at, at + maxNamed))) === 0) return false;
      }
      const totals = Object.entries(counts).flat();
      return (await run('sqgWarmSettle', group, token, Math.round(dueInMs), failures, ...totals)) === 1;
    },
    async state() {
      return toState(await run<[number, string[], string[]]>('sqgWarmState'));
    },
    async close() {
      client.disconnect();
    },
  };
}

function argumentsOf({ digest, group, endpoint, payload, periodMs, lifetimeMs }: WarmKey) {
  return [digest, group, `${endpoint} ${payload}`, periodMs, lifetimeMs];
}

/** The payload of a fact, `<group> <endpoint> <payload>`; it may contain spaces. */
const payloadOf = (fact: string) => fact.replace(/^\S+ \S+ /, '');

function toClaim([group, lateMs, failures, ...page]: readonly string[]): ClaimedGroup | undefined {
  if (group === undefined) return undefined;
  return { group, ...toPage(page), lateMs: Number(lateMs), failures: Number(failures) };
}

function toPage([next, ...pairs]: readonly string[]): KeyPage {
  const keys: { digest: string; payload: string }[] = [];
  for (let at = 0; at < pairs.length; at += 2) {
    keys.push({ digest: pairs[at]!, payload: payloadOf(pairs[at + 1]!) });
  }
  return { keys, next: next || undefined };
}

function toState([keys, groups, totals]: [number, string[], string[]]): ScheduleState {
  const entries: [string, number][] = [];
  for (let at = 0; at < totals.length; at += 2) entries.push([totals[at]!, Number(totals[at + 1])]);
  return { keys, groups: groups.map(toGroup), totals: Object.fromEntries(entries) };
}

function toGroup(json: string): GroupState {
  const [group, dueInMs, isClaimed, failures, keys, fact] = JSON.parse(json);
  return {
    group,
    endpoint: String(fact).split(' ')[1] ?? '',
    keys,
    dueInMs,
    isClaimed: isClaimed === 1 && dueInMs > 0,
    failures,
  };
}
