import type { Mutant } from './mutant.ts';

const scheduled = [
  'test/cache/interleavings.test.ts',
  'one query a lease, no answer older than allowed or from before an invalidation',
] as const;
const checker = 'test/fleet/check-history.test.ts';
const schedule = 'test/fleet/draw-schedule.test.ts';
const settings = 'test/support/draw-settings.test.ts';

const orders: readonly Mutant[] = [
  {
    promise: 'in any order of events a query runs only under a lease',
    file: 'src/cache/leased-load.ts',
    find: "if (claim.state === 'granted') return await loadHolding(deps, { ...options, known }, token);",
    replace: "if (claim.state !== 'changed') return await loadHolding(deps, { ...options, known }, token);",
    test: scheduled,
  },
  {
    promise: 'in any order of events a refresh runs only under a lease',
    file: 'src/cache/leased-load.ts',
    find: "if (claim.state === 'granted') return loadHolding(deps, { ...options, known }, token);",
    replace: "if (claim.state !== 'changed') return loadHolding(deps, { ...options, known }, token);",
    test: scheduled,
  },
  {
    promise: 'in any order of events no answer is older than the stale bound',
    file: 'src/cache/freshness.ts',
    find: "if (ageMs < freshMs + staleMs) return 'stale';",
    replace: "if (ageMs < freshMs + staleIfErrorMs) return 'stale';",
    test: scheduled,
  },
  {
    promise: 'who asks after the invalidation of an entry does not join a query from before it',
    file: 'src/cache/cache.ts',
    find: '{local.removals}`;',
    replace: '{typeof local.removals}`;',
    test: scheduled,
  },
  {
    promise: 'who asks after the invalidation of a saved query does not join a query from before it',
    file: 'src/cache/cache.ts',
    find: '{local.generations.of(request.key.group)}',
    replace: '{typeof local.generations.of(request.key.group)}',
    test: scheduled,
  },
  {
    promise: 'the store takes no rows whose lease an invalidation has ended',
    file: 'src/store/memory-store.ts',
    find: 'if (!endLease(key, token)) return false;',
    replace: 'endLease(key, token);',
    test: scheduled,
  },
  {
    promise: 'an invalidation in the store ends the lease of what is being made',
    file: 'src/store/memory-store.ts',
    find: 'async remove(key) {\n      leases.delete(key);',
    replace: 'async remove(key) {',
    test: scheduled,
  },
  {
    promise: 'a gateway forgets an entry once it hears that another one has invalidated it',
    file: 'src/cache/local-entries.ts',
    find: "case 'removed':\n          remove(message.key);",
    replace: "case 'removed':",
    test: scheduled,
  },
  {
    promise:
      'a gateway forgets the entries of a saved query once it hears that another one has invalidated them',
    file: 'src/cache/local-entries.ts',
    find: '          generations.set(message.group, message.generation);\n',
    replace: '',
    test: scheduled,
  },
  {
    promise: 'rows that were invalidated while they were made are not kept in memory',
    file: 'src/cache/loader.ts',
    find: "if (standing !== 'refused' && local.removals === removals)",
    replace: "if (standing !== 'refused' && local.removals >= removals)",
    test: scheduled,
  },
  {
    promise: 'an answer of the store that an invalidation has overtaken is not kept in memory',
    file: 'src/cache/stored-entries.ts',
    find: 'isCurrent: local.removals === removals',
    replace: 'isCurrent: local.removals >= removals',
    test: scheduled,
  },
  {
    promise: 'a read of the store that began before an invalidation is not taken for a loss of the store',
    file: 'src/cache/local-entries.ts',
    find: 'if (at > startedAt) return true;',
    replace: 'if (at < 0 * startedAt) return true;',
    test: [
      'test/cache/local-entries.test.ts',
      'a read that began before an invalidation says nothing about it, and is no loss of the store',
    ],
  },
  {
    promise: 'an entry is of the generation in which its query began',
    file: 'src/cache/leased-load.ts',
    find: 'const rows = await load.run(signal);',
    replace: 'const rows = await load.run(signal);\n  facts.generation = generation();',
    test: scheduled,
  },
];

const realRedis: readonly Mutant[] = [
  {
    promise: 'over a real Redis one cold key runs one query',
    file: 'src/store/redis-scripts.ts',
    find: "      if redis.call('EXISTS', KEYS[2]) == 1 then return {'held', redis.call('PTTL', KEYS[2])} end\n",
    replace: '',
    test: ['test/fleet/one-query.test.ts', '1000 callers of a slow query'],
  },
  {
    promise: 'over a real Redis a gateway that was paused past its lease stores nothing over its successor',
    file: 'src/store/redis-scripts.ts',
    find: "if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end",
    replace: "if redis.call('GET', KEYS[2]) == '' then return 0 end",
    test: [
      'test/fleet/dying-holder.test.ts',
      'the rows of a gateway that was frozen past its lease are not stored over those of its successor',
    ],
  },
  {
    promise: 'over a real Redis another gateway takes over from one that was killed',
    file: 'src/store/redis-scripts.ts',
    find: "redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])\n",
    replace: "redis.call('SET', KEYS[2], ARGV[1])\n",
    test: [
      'test/fleet/dying-holder.test.ts',
      'where the gateway that runs the query is killed, exactly one other runs it again',
    ],
  },
  {
    promise: 'over a real Redis nothing older is served after an acknowledged invalidation',
    file: 'src/store/redis-scripts.ts',
    find: 'script(2, setValue(1, 2), endLease, publish(4))',
    replace: "script(2, endLease, 'return 1')",
    test: ['test/fleet/one-query.test.ts', 'of one entry, of an endpoint'],
  },
  {
    promise: 'rows of a clock that was far ahead are not served as fresh',
    file: 'src/cache/freshness.ts',
    find: "  if (ageMs < -maxSkewMs) return 'gone';\n",
    replace: '',
    test: [
      'test/cache/cache.test.ts',
      'an entry of a clock that was far ahead is replaced, by a caller and ahead of callers',
    ],
  },
];

const histories: readonly Mutant[] = [
  {
    promise: 'a history with two queries of one lease is found out',
    file: 'test/fleet/check-history.ts',
    find: 'yield second.startMs < first.endMs',
    replace: 'yield second.startMs < first.startMs',
    test: [checker, 'two gateways at once'],
  },
  {
    promise: 'a history with rows older than the stale bound is found out',
    file: 'test/fleet/check-history.ts',
    find: 'yield ageMs > allowedMs',
    replace: 'yield ageMs > 2 * allowedMs',
    test: [checker, 'too old'],
  },
  {
    promise: 'a history with rows from before an acknowledged invalidation is found out',
    file: 'test/fleet/check-history.ts',
    find: 'yield run.startMs < last.sentMs',
    replace: 'yield run.endMs < run.startMs',
    test: [checker, 'at the same gateway'],
  },
  {
    promise: 'a history in which older rows come back is found out',
    file: 'test/fleet/check-history.ts',
    find: 'yield run.id < better.id',
    replace: 'yield run.id < 0 * better.id',
    test: [checker, 'is broken: '],
  },
  {
    promise: 'a history with a request that got no rows is found out',
    file: 'test/fleet/check-history.ts',
    find: 'yield status === 200 ? undefined :',
    replace: 'yield status < 999 ? undefined :',
    test: [checker, 'an error while Redis is away'],
  },
  ...(
    [
      ['Redis is paused', "      deed('pause redis', 500, 4000),\n"],
      ['Redis is killed', "      deed('kill redis', 200, 3000),\n"],
      ['a gateway is paused', "      deed('pause a gateway', 500, 3000),\n"],
      ['the holder of a lease is paused', "      deed('pause a gateway that holds a lease', 3800, 5000),\n"],
      ['a gateway is killed', "      deed('kill a gateway', 200, 1000),\n"],
      ['a clock is set far back', "      deed('move a clock', 5000, 9000, [-hourMs]),\n"],
      ['a clock is set far forward', "      deed('move a clock', 5000, 9000, [hourMs]),\n"],
    ] as const
  ).map(
    ([what, find]): Mutant => ({
      promise: `in each round of a history ${what}`,
      file: 'test/histories/draw-schedule.ts',
      find,
      replace: '',
      test: [
        schedule,
        'each round of a history pauses, kills and moves everything once, with quiet times between',
      ],
    }),
  ),
  {
    promise: 'a seed repeats the schedule of its history',
    file: 'test/histories/draw-schedule.ts',
    find: '{ seed, numRuns: rounds }',
    replace: '{ seed: seed + Math.random(), numRuns: rounds }',
    test: [schedule, 'a seed repeats the schedule of its history, and another seed has another'],
  },
];

const drawn = 'gateways of tests have a Redis or none, memory, batch windows and compression as it comes';

const randomSettings: readonly Mutant[] = [
  {
    promise: 'suites run with a Redis or none',
    file: 'test/support/draw-settings.ts',
    find: 'const isOnRedis = isOn && !isCacheStated;',
    replace: 'const isOnRedis = isOn && !isCacheStated && false;',
    test: [settings, drawn],
  },
  {
    promise: 'suites run with random memory',
    file: 'test/support/draw-settings.ts',
    find: "...(isOnRedis ? ['0'] : []), '1', '64'",
    replace: "...(isOnRedis ? ['64'] : []), '64'",
    test: [settings, drawn],
  },
  {
    promise: 'suites run with random batch windows',
    file: 'test/support/draw-settings.ts',
    find: "fc.constantFrom('0', '1', '20')",
    replace: "fc.constantFrom('0')",
    test: [settings, drawn],
  },
  {
    promise: 'suites run with random compression',
    file: 'test/support/draw-settings.ts',
    find: "fc.constantFrom('identity', 'gzip', 'br', 'zstd', 'gzip, deflate, br, zstd')",
    replace: "fc.constantFrom('identity')",
    test: [settings, drawn],
  },
  {
    promise: 'a test that fails prints the settings that were drawn',
    file: 'test/support/print-drawn-settings.ts',
    find: "task.result?.state !== 'fail' || drawn.length === 0",
    replace: "task.result?.state !== 'fail' || drawn.length >= 0",
    test: [settings, 'a test that fails prints what was drawn for its gateways, and the seed'],
  },
  {
    promise: 'a test that fails prints the seed of its settings',
    file: 'test/support/print-drawn-settings.ts',
    find: '`SEED=$',
    replace: '`SEED=_$',
    test: [settings, 'a test that fails prints what was drawn for its gateways, and the seed'],
  },
];

/** The cache under a seeded scheduler, histories of real gateways, and settings that suites draw. */
export const interleavings: readonly Mutant[] = [...orders, ...realRedis, ...histories, ...randomSettings];
