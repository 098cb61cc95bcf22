import type { AskedRequest, Fault, History, Invalidation, Run } from './history.ts';

/** Milliseconds after which a connected gateway has received a message, and acts on it. */
const noticeMs = 1000;
/** Milliseconds after which Redis is in use again: its health is known within two seconds, then connections are made. */
const settleMs = 4000;
/** Clocks that differ by no more than this make entries look younger by as much; beyond, an entry is not trusted. */
const skewMs = 5000;

type Interval = { readonly fromMs: number; readonly untilMs: number };

const meet = (a: Interval, b: Interval) => a.fromMs <= b.untilMs && b.fromMs <= a.untilMs;
const span = (fromMs: number, untilMs: number): Interval => ({ fromMs, untilMs });

/** How often each promise was broken (in words), and how often it was put to the test. */
export type Verdict = {
  readonly violations: readonly string[];
  readonly checked: Readonly<Record<keyof typeof rules, number>>;
};

/**
 * Holds a history against what the cache promises. What a fault excuses is not checked, so `checked` says how much was.
 */
export function checkHistory(history: History): Verdict {
  const facts = readFacts(history);
  const violations: string[] = [];
  const count = (name: keyof typeof rules) => {
    let checked = 0;
    for (const violation of rules[name](facts)) {
      checked++;
      if (violation) violations.push(`${name}: ${violation}`);
    }
    return checked;
  };
  return {
    checked: {
      answered: count('answered'),
      'one query a lease': count('one query a lease'),
      'stale bound': count('stale bound'),
      'no way back': count('no way back'),
      'after an invalidation': count('after an invalidation'),
    },
    violations,
  };
}

type Facts = History & {
  readonly runOf: ReadonlyMap<number, Run>;
  /** Whether Redis, or this gateway's way to it, was or had just been out of order. */
  isRedisLost(interval: Interval, gateway: number): boolean;
  /** Whether a gateway was paused, killed, or back for no more than a moment. */
  isGatewayOut(interval: Interval, gateway: number): boolean;
  /** Milliseconds by which a gateway's clock was ahead: the most of this time and the least. */
  offsets(interval: Interval, gateway: number): { readonly mostMs: number; readonly leastMs: number };
};

function readFacts(history: History): Facts {
  const { faults } = history;
  return {
    ...history,
    runOf: new Map(history.runs.map(run => [run.id, run])),
    isRedisLost: (interval, gateway) =>
      faults.some(
        fault =>
          isOfRedis(fault, gateway) &&
          meet(interval, lasting(fault, fault.type === 'store lost' ? noticeMs : settleMs)),
      ),
    isGatewayOut: (interval, gateway) =>
      faults.some(fault => isOfGateway(fault, gateway) && meet(interval, lasting(fault, noticeMs))),
    offsets(interval, gateway) {
      // What is told to a process reaches it a moment later, so that both may hold.
      const around = span(interval.fromMs - noticeMs, interval.untilMs);
      const moved = faults.flatMap(fault =>
        fault.type === 'clock moved' && fault.gateway === gateway && meet(around, fault)
          ? [fault.offsetMs]
          : [],
      );
      return { mostMs: Math.max(0, ...moved), leastMs: Math.min(0, ...moved) };
    },
  };
}

const lasting = ({ fromMs, untilMs }: Fault, moreMs: number) => span(fromMs, untilMs + moreMs);

function isOfRedis(fault: Fault, gateway: number): boolean {
  if (fault.type === 'store lost') return fault.gateway === gateway;
  return fault.type === 'redis paused' || fault.type === 'redis killed';
}

function isOfGateway(fault: Fault, gateway: number): boolean {
  return (fault.type === 'gateway paused' || fault.type === 'gateway killed') && fault.gateway === gateway;
}

/** A violation in words, or undefined where the promise was kept; nothing at all where a fault excuses. */
type Rule = (facts: Facts) => Iterable<string | undefined>;

const rules = {
  /** Contract 5.13: without Redis requests still succeed. Only the death of its gateway ends a request. */
  *answered({ requests, faults }) {
    for (const request of requests) {
      const { gateway, sentMs, endedMs, status } = request;
      const isExcused = faults.some(
        fault =>
          fault.type === 'gateway killed' && fault.gateway === gateway && meet(span(sentMs, endedMs), fault),
      );
      if (!isExcused) yield status === 200 ? undefined : `status ${status} to ${wordsOf(request)}`;
    }
  },

  /** While the query of a key runs under a lease, no other one starts. */
  *'one query a lease'(facts) {
    for (const [first, second] of pairs(facts.runs)) {
      const interval = span(first.startMs, second.startMs);
      const before = span(first.startMs - noticeMs, second.startMs);
      if (facts.isRedisLost(before, first.gateway) || facts.isRedisLost(before, second.gateway)) continue;
      if (facts.isGatewayOut(interval, first.gateway)) continue;
      // It ends the lease, which is taken before the query starts: a dry run may come first.
      if (facts.invalidations.some(each => concerns(each, first.key) && meet(before, timeOf(each)))) continue;
      yield second.startMs < first.endMs
        ? `run ${second.id} of gateway ${second.gateway} began while run ${first.id} of gateway ${first.gateway} made key ${first.key}`
        : undefined;
    }
  },

  /** What was made before the request is younger than fresh and stale together. */
  *'stale bound'(facts) {
    const boundMs = facts.freshMs + facts.staleMs;
    for (const [request, run] of answers(facts)) {
      if (run.endMs > request.sentMs) continue; // it waited for this run
      const ageMs = request.sentMs - run.startMs;
      const made = facts.offsets(span(run.startMs, run.startMs), run.gateway);
      const read = facts.offsets(span(request.sentMs, request.endedMs), request.gateway);
      const aheadMs = made.mostMs - read.leastMs;
      const allowedMs = boundMs + (aheadMs <= skewMs ? aheadMs : 0);
      yield ageMs > allowedMs
        ? `${Math.round(ageMs)} ms old rows, of which ${allowedMs} are allowed, to ${wordsOf(request)}`
        : undefined;
    }
  },

  /** Once rows were served from the cache, older ones are not: no late writer puts them back. */
  *'no way back'(facts) {
    const newest = new Map<string, { run: Run; endedMs: number }[]>();
    for (const [request, run] of answers(facts)) {
      if (request.state === 'MISS') continue;
      const seen = newest.get(request.key) ?? [];
      newest.set(request.key, seen);
      const better = seen
        .filter(each => each.endedMs + noticeMs < request.sentMs)
        .reduce<Run | undefined>((best, { run: own }) => (best && best.id > own.id ? best : own), undefined);
      // Rows that were made without the store are this gateway's alone.
      const isShared = !facts.isRedisLost(span(run.startMs, run.endMs), run.gateway);
      if (isShared) seen.push({ run, endedMs: request.endedMs });
      if (!better || facts.isGatewayOut(span(request.sentMs, request.endedMs), request.gateway)) continue;
      const interval = span(better.startMs, request.endedMs);
      if (facts.isRedisLost(interval, request.gateway)) continue;
      yield run.id < better.id
        ? `rows of run ${run.id} after those of run ${better.id} to ${wordsOf(request)}`
        : undefined;
    }
  },

  /** Who asks after an invalidation was acknowledged gets rows of a query that began after it was asked for. */
  *'after an invalidation'(facts) {
    for (const [request, run] of answers(facts)) {
      const last = facts.invalidations.findLast(each => isKnownTo(each, request));
      if (!last) continue;
      const interval = span(request.sentMs, request.endedMs);
      if (facts.isGatewayOut(interval, request.gateway)) continue;
      if (facts.isRedisLost(interval, request.gateway)) continue;
      if (isForgotten(facts, last, request)) continue;
      yield run.startMs < last.sentMs
        ? `rows of run ${run.id}, from ${Math.round(last.sentMs - run.startMs)} ms before the invalidation that gateway ${last.gateway} acknowledged, to ${wordsOf(request)}`
        : undefined;
    }
  },
} satisfies Record<string, Rule>;

/** Runs of one key that came one after the other. */
function* pairs(runs: readonly Run[]): Iterable<readonly [Run, Run]> {
  const last = new Map<string, Run>();
  for (const run of runs) {
    const before = last.get(run.key);
    if (before) yield [before, run];
    last.set(run.key, run);
  }
}

/** Requests that got rows, in the order in which they were sent, with the run that the rows are of. */
function* answers({ requests, runOf }: Facts): Iterable<readonly [AskedRequest, Run]> {
  for (const request of requests.toSorted((a, b) => a.sentMs - b.sentMs)) {
    const run = runOf.get(request.run);
    if (request.status === 200 && run) yield [request, run];
  }
}

const timeOf = ({ sentMs, endedMs }: Invalidation) => span(sentMs, endedMs);
const concerns = ({ key }: Invalidation, other: string) => key === undefined || key === other;

function isKnownTo(invalidation: Invalidation, { key, gateway, sentMs }: AskedRequest): boolean {
  const afterMs = invalidation.gateway === gateway ? 0 : noticeMs;
  return (
    invalidation.status === 200 && concerns(invalidation, key) && invalidation.endedMs + afterMs < sentMs
  );
}

/** Redis keeps nothing on disk: what a gateway could not hear at the time is gone for it when Redis was killed since. */
function isForgotten({ faults }: Facts, { sentMs, endedMs }: Invalidation, request: AskedRequest): boolean {
  const isMissed = faults.some(
    fault => fault.type !== 'clock moved' && meet(span(sentMs, endedMs + noticeMs), lasting(fault, settleMs)),
  );
  return (
    isMissed &&
    faults.some(fault => fault.type === 'redis killed' && meet(span(sentMs, request.endedMs), fault))
  );
}

function wordsOf({ gateway, key, sentMs, endedMs, state }: AskedRequest): string {
  return `the request for key ${key} at gateway ${gateway} from ${Math.round(sentMs)} to ${Math.round(endedMs)} ms (${state})`;
}
