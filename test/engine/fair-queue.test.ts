import '../support/seed-properties.ts';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createFairQueue, type FairQueueOptions } from '../../src/engine/fair-queue.ts';

const never = new AbortController().signal;

/** A queue whose starts are written down, each by the name of what started. Its clock stands still unless a test sets it. */
function openQueue(options: Partial<FairQueueOptions> = {}) {
  const clock = { ms: 0 };
  const queue = createFairQueue({
    permits: 1,
    maxWaiting: 100,
    maxWaitingPerCaller: 100,
    now: () => clock.ms,
    ...options,
  });
  const started: string[] = [];
  const take = async (name: string, priority: 'interactive' | 'background' = 'interactive') => {
    const release = await queue.take(never, { caller: name.split(' ')[0]!, priority });
    started.push(name);
    return release;
  };
  return { queue, started, take, clock };
}

test("one caller's queries beyond the free permits wait, and run in the order they came", async () => {
  const { take, started } = openQueue();
  const release = await take('a 1');
  const queued = ['a 2', 'a 3'].map(async name => (await take(name))());
  expect(started).toEqual(['a 1']);
  release();
  await Promise.all(queued);
  expect(started).toEqual(['a 1', 'a 2', 'a 3']);
});

test('contract 11.1: callers take turns, however many queries each of them has waiting', async () => {
  const { take, started } = openQueue();
  const release = await take('a 1');
  const queued = ['a 2', 'a 3', 'a 4', 'b 1', 'b 2', 'c 1'].map(async name => (await take(name))());
  release();
  await Promise.all(queued);
  expect(started).toEqual(['a 1', 'a 2', 'b 1', 'c 1', 'a 3', 'b 2', 'a 4']);
});

/** Callers who always have the same number of queries in the queue, of a length of their own. */
type Load = { readonly caller: string; readonly queries: number; readonly ms: number };

/** Plays loads for so many milliseconds. @returns for each caller the milliseconds of permits that it had, and its longest wait */
async function play(loads: readonly Load[], { permits = 4, forMs = 20_000 } = {}) {
  const { queue, clock } = openQueue({ permits });
  const ends: { readonly atMs: number; readonly end: () => void }[] = [];
  const had = Object.fromEntries(loads.map(({ caller }) => [caller, { usedMs: 0, longestMs: 0 }]));
  const ask = async (load: Load): Promise<void> => {
    const sinceMs = clock.ms;
    const release = await queue.take(never, { caller: load.caller });
    const own = had[load.caller]!;
    own.longestMs = Math.max(own.longestMs, clock.ms - sinceMs);
    const startMs = clock.ms;
    const end = () => {
      own.usedMs += clock.ms - startMs;
      release();
      void ask(load);
    };
    ends.push({ atMs: clock.ms + load.ms, end });
  };
  for (const load of loads) for (let n = 0; n < load.queries; n++) void ask(load);
  await new Promise(setImmediate);
  while (clock.ms < forMs) {
    ends.sort((one, other) => one.atMs - other.atMs);
    const next = ends.shift()!;
    clock.ms = next.atMs;
    next.end();
    await new Promise(setImmediate);
  }
  return had;
}

test('contract 11.1: callers of short queries and of long ones have the same time of permits', async () => {
  const had = await play([
    { caller: 'long', queries: 8, ms: 700 },
    { caller: 'short', queries: 9, ms: 20 },
  ]);
  const [long, short] = [had.long!, had.short!];
  expect(short.usedMs / long.usedMs).toBeGreaterThan(0.8);
  expect(short.usedMs / long.usedMs).toBeLessThan(1.25);
  // Two permits at least for nine queries, but for the time until one of three long ones has ended.
  expect(short.longestMs).toBeLessThan(200);
});

test('contract 11.1: the time is the same with one permit, too, where each of them runs as many queries at a time', async () => {
  const had = await play(
    [
      { caller: 'long', queries: 4, ms: 700 },
      { caller: 'short', queries: 4, ms: 20 },
    ],
    { permits: 1 },
  );
  expect(had.short!.usedMs / had.long!.usedMs).toBeGreaterThan(0.8);
  expect(had.short!.usedMs / had.long!.usedMs).toBeLessThan(1.25);
});

test('whatever others have used, a caller waits no longer than its share and one query of each', async () => {
  const others = ['a', 'b', 'c'].map(caller => ({ caller, queries: 6, ms: 100 }));
  const had = await play([...others, { caller: 'single', queries: 1, ms: 100 }]);
  expect(had.single!.longestMs).toBeLessThanOrEqual(400);
});

test('who comes late has no advantage of having used nothing', async () => {
  const { take, started, clock } = openQueue();
  const queued: Promise<void>[] = [];
  const run = async (name: string) => {
    const end = await take(name);
    clock.ms += 100;
    if (name === 'a 3') queued.push(...['b 1', 'b 2', 'b 3'].map(run));
    end();
  };
  await Promise.all(Array.from({ length: 6 }, (_, n) => run(`a ${n + 1}`)));
  await Promise.all(queued);
  expect(started).toEqual(['a 1', 'a 2', 'a 3', 'b 1', 'a 4', 'b 2', 'a 5', 'b 3', 'a 6']);
});

test('who comes back has no advantage of having been away', async () => {
  const { take, started, clock } = openQueue();
  for (const name of ['a 1', 'a 2', 'a 3']) {
    const release = await take(name);
    clock.ms += 100;
    release();
  }
  const release = await take('b 1');
  const queued = ['b 2', 'a 4', 'b 3', 'a 5'].map(async name => {
    const end = await take(name);
    clock.ms += 100;
    end();
  });
  clock.ms += 100;
  release();
  await Promise.all(queued);
  expect(started.slice(3)).toEqual(['b 1', 'a 4', 'b 2', 'a 5', 'b 3']);
});

test('what a caller used while there was room holds it up for five seconds of permits at most', async () => {
  const { take, started, clock } = openQueue();
  const release = await take('a 1');
  const queued: Promise<unknown>[] = [];
  const next = async (name: string) => {
    const end = await take(name);
    clock.ms += 1000;
    end();
  };
  queued.push(next('a 2'), ...Array.from({ length: 9 }, (_, n) => next(`b ${n + 1}`)));
  clock.ms += 60_000;
  release();
  await Promise.all(queued);
  expect(started.indexOf('a 2')).toBe(6);
});

test('the caller who runs least is next', async () => {
  const { take, started } = openQueue({ permits: 4 });
  const [releaseFirst] = [await take('a 1'), await take('a 2'), await take('b 1'), await take('b 2')];
  void take('b 3');
  void take('a 3');
  releaseFirst();
  await new Promise(setImmediate);
  expect(started.slice(4)).toEqual(['a 3']);
});

test('contract 11.1: a caller of long queries has half of the permits while another one asks, who does not wait for them', async () => {
  const had = await play([
    { caller: 'long', queries: 20, ms: 6000 },
    { caller: 'short', queries: 10, ms: 60 },
  ]);
  // Five turns of two; before the first long queries end, six of one.
  expect(had.short!.longestMs).toBeLessThanOrEqual(600);
});

test.each([
  [999, ['a 3']],
  [1000, ['a 3', 'a 4']],
])(
  '%i ms after the last query of another one, when one of its own ends, it starts %j',
  async (ms, expected) => {
    const { take, started, clock } = openQueue({ permits: 4 });
    const releaseOther = await take('b 1');
    const [release] = [await take('a 1'), await take('a 2')];
    for (const name of ['a 3', 'a 4', 'a 5']) void take(name);
    releaseOther();
    clock.ms += ms;
    await new Promise(setImmediate);
    expect(started).toEqual(['b 1', 'a 1', 'a 2']);
    release();
    await new Promise(setImmediate);
    expect(started.slice(3)).toEqual(expected);
  },
);

test('while another one still runs a query, a caller starts no more than half', async () => {
  const { take, started, clock } = openQueue({ permits: 6 });
  await take('b 1');
  await Promise.all([take('a 1'), take('a 2'), take('a 3')]);
  clock.ms += 60_000;
  void take('a 4');
  await new Promise(setImmediate);
  expect(started).toEqual(['b 1', 'a 1', 'a 2', 'a 3']);
});

test('who asked before the last caller still counts as one that asks', async () => {
  const { take, started } = openQueue({ permits: 4 });
  for (const name of ['b 1', 'a 1', 'a 2']) (await take(name))();
  await Promise.all([take('a 3'), take('a 4')]);
  void take('a 5');
  await new Promise(setImmediate);
  expect(started.slice(3)).toEqual(['a 3', 'a 4']);
});

test('the last permit is kept for who has less than half of them', async () => {
  const { take, started } = openQueue({ permits: 4 });
  const running = await Promise.all(['a 1', 'a 2', 'a 3'].map(name => take(name)));
  void take('a 4');
  void take('background', 'background');
  await new Promise(setImmediate);
  expect(started).toEqual(['a 1', 'a 2', 'a 3']);
  await take('b 1');
  running[0]!();
  await new Promise(setImmediate);
  expect(started).toEqual(['a 1', 'a 2', 'a 3', 'b 1']);
  running[1]!();
  await new Promise(setImmediate);
  expect(started.at(-1)).toBe('a 4');
});

test('a caller has no more permits than one may have, however many are free', async () => {
  const { take, started } = openQueue({ permits: Infinity, permitsPerCaller: 2 });
  const [release] = await Promise.all(['a 1', 'a 2', 'b 1'].map(name => take(name)));
  for (const name of ['a 3', 'a 4', 'b 2', 'b 3']) void take(name);
  await new Promise(setImmediate);
  expect(started).toEqual(['a 1', 'a 2', 'b 1', 'b 2']);
  release!();
  await new Promise(setImmediate);
  expect(started.slice(4)).toEqual(['a 3']);
});

test('a caller over its share of the waiting places is refused, others are not', async () => {
  const { take } = openQueue({ maxWaiting: 3, maxWaitingPerCaller: 2 });
  await take('a 1');
  void take('a 2');
  void take('a 3');
  await expect(take('a 4')).rejects.toMatchObject({
    code: 'too_many_requests',
    message: '2 queries of this access token are waiting already; allowed: 2',
  });
  void take('b 1');
  await expect(take('c 1')).rejects.toMatchObject({
    code: 'overloaded',
    message: '3 queries are waiting already; allowed: 3',
  });
});

test('a caller that leaves the queue makes room and takes no permit', async () => {
  const { queue } = openQueue({ maxWaiting: 1, maxWaitingPerCaller: 1 });
  const release = await queue.take(never);
  const caller = new AbortController();
  const leaving = queue.take(caller.signal);
  caller.abort(new Error('gone'));
  await expect(leaving).rejects.toThrow('gone');
  const next = queue.take(never);
  release();
  (await next)();
  await queue.take(never);
});

test('contract 6.5: background queries leave a permit to callers, and wait behind waiting callers', async () => {
  const { take, started } = openQueue({ permits: 2 });
  const releaseFirst = await take('background 1', 'background');
  const second = take('background 2', 'background');
  const releaseCaller = await take('a 1');
  const next = take('b 1');
  releaseFirst();
  const releaseNext = await next;
  expect(started).toEqual(['background 1', 'a 1', 'b 1']);
  releaseCaller();
  releaseNext();
  (await second)();
  expect(started.at(-1)).toBe('background 2');
});

test('with one permit the background has its turn when no caller waits', async () => {
  const { take } = openQueue();
  (await take('background', 'background'))();
  const release = await take('background', 'background');
  const caller = take('a 1');
  const background = take('background', 'background');
  release();
  (await caller)();
  (await background)();
});

test('an unending stream of callers lets a background query go first now and then', async () => {
  const { take, started } = openQueue();
  let release = await take('first');
  const names = [
    ...Array.from({ length: 20 }, () => 'caller' as const),
    ...Array.from({ length: 3 }, () => 'background' as const),
  ];
  const waiting = names.map(async name => {
    release = await take(name, name === 'background' ? name : 'interactive');
  });
  for (let times = 0; times < waiting.length; times++) {
    release();
    await new Promise(setImmediate);
  }
  await Promise.all(waiting);
  const order = started.slice(1).map(name => name[0]);
  expect(order.join('')).toBe(`${'c'.repeat(8)}b${'c'.repeat(8)}b${'c'.repeat(4)}b`);
});

type Step =
  | { readonly type: 'take'; readonly caller: string }
  | { readonly type: 'release' | 'leave'; readonly pick: number };

const steps = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ type: fc.constant('take'), caller: fc.constantFrom(...'aaaabcd*') }),
    },
    { weight: 2, arbitrary: fc.record({ type: fc.constant('release'), pick: fc.nat() }) },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('leave'), pick: fc.nat() }) },
  ) as fc.Arbitrary<Step>, // fast-check widens the constants
  { maxLength: 120, size: 'max' },
);

const shapes = fc.record({
  permits: fc.integer({ min: 1, max: 5 }),
  maxWaiting: fc.integer({ min: 1, max: 20 }),
  maxWaitingPerCaller: fc.integer({ min: 1, max: 8 }),
});

type Query = {
  readonly caller: string;
  readonly leaving: AbortController;
  state: 'waiting' | 'running' | 'over';
  code?: string;
  /** Starts of other callers since this one waits, where its caller runs nothing: by caller. */
  readonly overtakenBy: Map<string, number>;
  release?: () => void;
};

test('whatever arrives, leaves and ends: permits are never lost or exceeded, shares hold, and nobody starves', async () => {
  const run = async (options: FairQueueOptions, script: readonly Step[]) => {
    const queue = createFairQueue({ ...options, now: () => 0 });
    const queries: Query[] = [];
    const inState = (state: Query['state'], of?: string) =>
      queries.filter(query => query.state === state && (of === undefined || query.caller === of));
    const isCaller = ({ caller }: Query) => caller !== '*';

    const take = (caller: string) => {
      const query: Query = {
        caller,
        leaving: new AbortController(),
        state: 'waiting',
        overtakenBy: new Map(),
      };
      queries.push(query);
      const priority = caller === '*' ? 'background' : 'interactive';
      queue.take(query.leaving.signal, { caller, priority }).then(
        release => {
          query.state = 'running';
          query.release = release;
          for (const { caller: waiter, overtakenBy } of inState('waiting')) {
            const isIdle = inState('running', waiter).length === 0;
            if (waiter !== caller && isIdle) overtakenBy.set(caller, (overtakenBy.get(caller) ?? 0) + 1);
          }
          // A caller that runs something has had its turn.
          for (const { overtakenBy } of inState('waiting', caller)) overtakenBy.clear();
        },
        (error: Error & { code?: string }) => {
          query.state = 'over';
          query.code = error.code ?? error.message;
        },
      );
    };
    const end = (query: Query | undefined) => {
      if (!query) return;
      query.state = 'over';
      query.release?.();
    };
    const perform = (step: Step) => {
      if (step.type === 'take') take(step.caller);
      else {
        // Who leaves may be running already: that ends nothing here.
        const from = [...inState('running'), ...(step.type === 'leave' ? inState('waiting') : [])];
        const picked = from[step.pick % from.length];
        if (step.type === 'release') end(picked);
        else picked?.leaving.abort(new Error('left'));
      }
    };
    const check = () => {
      const running = inState('running').length;
      expect(running).toBeLessThanOrEqual(options.permits);
      const waiting = inState('waiting');
      expect(waiting.filter(isCaller).length).toBeLessThanOrEqual(options.maxWaiting);
      for (const query of waiting.filter(isCaller)) {
        const { caller } = query;
        expect(inState('waiting', caller).length).toBeLessThanOrEqual(options.maxWaitingPerCaller);
        const isIdle = inState('running', caller).length === 0;
        // No permit stays free that a waiting query may have: a caller with half of them may have no more while others asked.
        const isHalf = inState('running', caller).length >= options.permits / 2;
        if (!isHalf) expect(options.permits - running).toBe(0);
        else if (queries.filter(isCaller).every(each => each.caller === caller))
          expect(options.permits - running).toBeLessThanOrEqual(1);
        if (!isIdle || inState('waiting', caller)[0] !== query) continue;
        for (const [other, times] of query.overtakenBy) expect([other, times]).toEqual([other, 1]);
      }
    };

    for (const step of script) {
      perform(step);
      await new Promise(setImmediate);
      check();
    }
    // Once nothing more comes, all that waits gets its turn, and all permits are there again.
    for (let left = queries.length; left >= 0 && inState('running').length > 0; left--) {
      end(inState('running')[0]);
      await new Promise(setImmediate);
      check();
    }
    expect(inState('waiting')).toEqual([]);
    for (let permit = 0; permit < options.permits; permit++) {
      await queue.take(AbortSignal.timeout(1000), { caller: `newcomer ${permit}` });
    }
  };
  await fc.assert(fc.asyncProperty(shapes, steps, run), { numRuns: 200 });
});

/** Callers who join when they are told to. */
function openJoined() {
  const followers = new Set<(caller: string) => void>();
  return {
    followers,
    join: (caller: string) => {
      for (const follower of followers) follower(caller);
    },
    follow(onJoin: (caller: string) => void) {
      followers.add(onJoin);
      return () => followers.delete(onJoin);
    },
  };
}

test('contract 11.1: a query that another caller has joined starts when it is the turn of one of them', async () => {
  const { queue, started, take } = openQueue({ permits: 2 });
  await take('a 1');
  void take('a 2');
  const joined = openJoined();
  const shared = queue.take(never, { caller: 'a', joined });
  joined.join('a');
  expect(queue.waiting()).toBe(2);
  // The last permit is kept for a caller that runs nothing.
  joined.join('b');
  const release = await shared;
  expect([started, queue.waiting(), joined.followers.size]).toEqual([['a 1'], 1, 0]);
  // It is b's now: the permit that b gives back is kept for the next newcomer.
  void take('b 2');
  release();
  await new Promise(setImmediate);
  expect(started).toEqual(['a 1', 'b 2']);
});

test('a query that several callers wait for leaves all their lines at once', async () => {
  const { queue, started, take } = openQueue();
  const release = await take('a 1');
  const leaving = new AbortController();
  const joined = openJoined();
  const shared = queue.take(leaving.signal, { caller: 'a', joined });
  joined.join('b');
  joined.join('c');
  expect(queue.waiting()).toBe(1);
  leaving.abort(new Error('gone'));
  await expect(shared).rejects.toThrow('gone');
  expect([queue.waiting(), joined.followers.size]).toEqual([0, 0]);
  void take('b 1');
  release();
  await new Promise(setImmediate);
  expect(started).toEqual(['a 1', 'b 1']);
});

test('who has joined already when a query begins to wait counts, too', async () => {
  const { queue, take } = openQueue({ permits: 2 });
  await take('a 1');
  const follow = (onJoin: (caller: string) => void) => {
    onJoin('b');
    return () => undefined;
  };
  await queue.take(never, { caller: 'a', joined: { follow } });
  expect(queue.waiting()).toBe(0);
});
