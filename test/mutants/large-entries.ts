import type { Mutant } from './mutant.ts';

const guarded = 'src/cache/guarded-store.ts';
const redis = 'src/store/redis-store.ts';
const cacheTest = 'test/cache/large-entries.test.ts';
const guardTest = 'test/cache/guarded-store.test.ts';
const valuesTest = 'test/store/large-values.test.ts';
const movingTest = 'test/telemetry/moving-metrics.test.ts';

export const largeEntries: readonly Mutant[] = [
  // What is stored.
  {
    promise: 'an answer beyond a size goes to no store',
    file: 'src/cache/entry.ts',
    find: 'if (rendered.length > maxBytes) return { entry: all, value: undefined };',
    replace: 'if (rendered.length > 10 * maxBytes) return { entry: all, value: undefined };',
    test: [cacheTest, 'an answer over the limit is sent, but not stored'],
  },
  {
    promise: 'an answer beyond the size stays out of memory, too',
    file: 'src/cache/loader.ts',
    find: "if (standing !== 'refused' && local.removals === removals)",
    replace: 'if (local.removals === removals)',
    test: [cacheTest, 'an answer over the limit is sent, but not stored'],
  },
  {
    promise: 'an answer beyond the size is counted',
    file: 'src/cache/leased-load.ts',
    find: "if (!made.value) emit({ type: 'cache.too_large'",
    replace: "if (made.value?.length === 0) emit({ type: 'cache.too_large'",
    test: [cacheTest, 'an answer over the limit is sent, but not stored'],
  },
  {
    promise: 'by default the size is eight megabytes, so that Redis stays small and in use for everybody',
    file: 'src/composition/config.ts',
    find: 'CACHE_MAX_ENTRY_MB: { schema: count(8,',
    replace: 'CACHE_MAX_ENTRY_MB: { schema: count(256,',
    test: ['test/fleet/large-entries.test.ts', 'contract 11.3: answers of 20 MB are given, not stored'],
  },
  {
    promise: 'the setting for the size reaches the cache',
    file: 'src/composition/composition-root.ts',
    find: 'maxEntryBytes: config.CACHE_MAX_ENTRY_MB * 1024 * 1024,',
    replace: 'maxEntryBytes: config.CACHE_MAX_ENTRY_MB * 1024 * 1024 * 1024,',
    test: ['test/fleet/large-entries.test.ts', 'contract 11.3: answers of 20 MB are given, not stored'],
  },
  {
    promise: 'gateways that waited for an answer beyond the size do not wait for one another',
    file: 'src/cache/leased-load.ts',
    find: "if (woken.type === 'released' && woken.failurePayload === tooLargePayload) {",
    replace: "if (woken.type === 'released' && woken.failurePayload === tooLargePayload.slice(1)) {",
    test: [cacheTest, 'gateways that waited for it then do not wait for one another'],
  },
  // How long Redis has.
  {
    promise: 'a large value that is on its way from Redis is not late',
    file: redis,
    find: 'if (isMoving() && missed < maxDeadlines) {',
    replace: 'if (isMoving() && missed < 0 * maxDeadlines) {',
    test: [
      valuesTest,
      'an answer that is on its way is not late, however long it takes; one that does not move is',
    ],
  },
  {
    promise: 'a Redis of which nothing moves is late at once',
    file: redis,
    find: 'if (isMoving() && missed < maxDeadlines) {',
    replace: 'if ((isMoving() || true) && missed < maxDeadlines) {',
    test: [
      valuesTest,
      'an answer that is on its way is not late, however long it takes; one that does not move is',
    ],
  },
  {
    promise: 'a large value has ten times the deadline at most',
    file: redis,
    find: 'const maxDeadlines = 10;',
    replace: 'const maxDeadlines = 1000;',
    test: [valuesTest, 'an answer that is on its way has ten deadlines at most'],
  },
  {
    promise: 'a caller does not wait until a large value is written',
    file: 'src/cache/leased-load.ts',
    find: 'if (value.length > largeBytes) budget.remainingMs',
    replace: 'if (value.length < 0 * largeBytes) budget.remainingMs',
    test: [cacheTest, 'a caller waits for the writing of a large value no longer than for the store'],
  },
  {
    promise: 'a command reads eight megabytes at most, unless one value has more',
    file: 'src/store/connect-redis.ts',
    find: 'const maxReadBytes = 8 * 1024 * 1024;',
    replace: 'const maxReadBytes = 8 * 1024 * 1024 * 1024;',
    test: [valuesTest, 'what is more than one command may read is read by several, in order'],
  },
  {
    promise: 'what did not fit into one command is read by another one',
    file: redis,
    find: 'const left = [...found.keys()].filter(at => found[at] === 0);',
    replace: 'const left = [...found.keys()].filter(at => found[at] === 0 && at < 0);',
    test: [valuesTest, 'what is more than one command may read is read by several, in order'],
  },
  {
    promise: 'a caller who may have no more bytes is refused before a large entry is decompressed',
    file: 'src/cache/stored-entries.ts',
    find: 'if (bytes > 0) claim?.(bytes);',
    replace: 'if (bytes < 0) claim?.(bytes);',
    test: ['test/http/large-hits.test.ts', 'is refused before it is decompressed, and no other caller is'],
  },
  {
    promise: 'long entries are decompressed one at a time',
    file: 'src/cache/entry.ts',
    find: 'const takePermit = createPermits(1);',
    replace: 'const takePermit = createPermits(4);',
    test: [
      'test/cache/entry.test.ts',
      'contract 11.2: is decompressed one at a time if it is long, whoever asks',
    ],
  },
  // Health.
  {
    promise: 'an idle gateway asks its store',
    file: guarded,
    find: "if (state !== 'down') watch.start();",
    replace: '',
    test: [guardTest, 'is reported down within two seconds, and up again'],
  },
  {
    promise: 'an idle gateway asks its store every second',
    file: guarded,
    find: 'const watchMs = 1000;',
    replace: 'const watchMs = 5000;',
    test: [guardTest, 'is reported down within two seconds, and up again'],
  },
  {
    promise: 'a store that missed one probe is asked again at once',
    file: guarded,
    find: 'if (++missed > 1) failed(error);\n      probeIn(probeMs);',
    replace: 'if (++missed > 1) failed(error);\n      probeIn(watchMs);',
    test: [guardTest, 'is reported down within two seconds, and up again'],
  },
  {
    promise: 'one late answer does not mean that the store is down',
    file: guarded,
    find: 'if (++missed > 1) failed(error);',
    replace: 'if (++missed > 0) failed(error);',
    test: [guardTest, 'does not count as down after one late answer'],
  },
  {
    promise: 'a store that answers again is used again',
    file: guarded,
    find: "if (state === 'down') change('up');",
    replace: '',
    test: [guardTest, 'is reported down within two seconds, and up again'],
  },
  {
    promise: 'a gateway begins to watch its store when it starts',
    file: 'src/composition/composition-root.ts',
    find: 'await cache.connect();',
    replace: '',
    test: [movingTest, 'moves what the dashboard and the alerts look at'],
  },
  {
    promise: '/readyz names a store that is down',
    file: 'src/composition/report-state.ts',
    find: "...(cache.storeHealth().isUp ? [] : ['store_down']),",
    replace: '...(cache.storeHealth().isUp ? [] : []),',
    test: [movingTest, 'moves what the dashboard and the alerts look at'],
  },
  {
    promise: '/livez and /health say whether the store is up',
    file: 'src/http/routes.ts',
    find: "return pipeline.cache.storeHealth().isUp ? 'up' : 'down';",
    replace: "return pipeline.cache.storeHealth() ? 'up' : 'down';",
    test: [movingTest, 'moves what the dashboard and the alerts look at'],
  },
  {
    promise: 'a gateway whose store is down stays alive',
    file: 'src/http/routes.ts',
    find: "answer: deps => json({ status: 'alive', cache: cacheState(deps) }),",
    replace: "answer: deps => ({ ...json({}), status: cacheState(deps) === 'up' ? 200 : 503 }),",
    test: [movingTest, 'moves what the dashboard and the alerts look at'],
  },
  {
    promise: 'a gateway whose store is down stays ready',
    file: 'src/composition/report-state.ts',
    find: 'isReady: true, reasons,',
    replace: 'isReady: cache.storeHealth().isUp, reasons,',
    test: [movingTest, 'moves what the dashboard and the alerts look at'],
  },
  {
    promise: 'the metrics say that the store is down',
    file: 'src/telemetry/count-events.ts',
    find: "'store.down': to => to.storeUp.set(0),",
    replace: "'store.down': () => undefined,",
    test: ['test/telemetry/metrics.test.ts', 'the store down'],
  },
];
