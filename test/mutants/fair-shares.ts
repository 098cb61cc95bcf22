import type { Mutant } from './mutant.ts';

const queue = 'src/engine/fair-queue.ts';
const queueTest = 'test/engine/fair-queue.test.ts';
const flood = 'three hundred heavy queries of one token do not keep another token waiting';

export const fairShares: readonly Mutant[] = [
  // The waiting places.
  {
    promise: 'queries of one token fill a part of the waiting places, and others find the rest',
    file: 'src/composition/compose-engine.ts',
    find: 'maxWaitingPerCaller: config.MAX_WAITING_PER_TOKEN,\n      memoryLimitMb',
    replace: 'maxWaitingPerCaller: config.MAX_WAITING_QUERIES,\n      memoryLimitMb',
    test: ['test/http/fair-shares.test.ts', flood],
  },
  {
    promise: 'a quarter of the waiting places is for one token by default',
    file: 'src/composition/config.ts',
    find: 'MAX_WAITING_PER_TOKEN: { schema: count(128,',
    replace: 'MAX_WAITING_PER_TOKEN: { schema: count(512,',
    test: ['test/http/fair-shares.test.ts', flood],
  },
  {
    promise:
      'queries of one token fill a part of the waiting places of the warehouse, and others find the rest',
    file: 'src/bigquery/run-statement.ts',
    find: 'const waitingRoom = { maxWaiting: maxWaitingQueries, maxWaitingPerCaller };',
    replace:
      'const waitingRoom = { maxWaiting: maxWaitingQueries, maxWaitingPerCaller: maxWaitingPerCaller * 10 };',
    test: ['test/bigquery/shares.test.ts', 'contract 2.16: queries of one token over its places get 429'],
  },
  {
    promise: 'the setting for the waiting places of one token reaches the warehouse',
    file: 'src/composition/compose-engine.ts',
    find: 'maxWaitingPerCaller: config.MAX_WAITING_PER_TOKEN,\n    backgroundPriority',
    replace: 'maxWaitingPerCaller: config.MAX_WAITING_QUERIES,\n    backgroundPriority',
    test: [
      'test/bigquery/gateway-on-bigquery.test.ts',
      'contract 2.18, 11.1: a flood of one token at the warehouse gets 429 beyond its share, and another token is served',
    ],
  },
  {
    promise: 'a token over its share of the waiting places gets 429, and not 503',
    file: queue,
    find: "throw new GatewayError(\n      'too_many_requests',",
    replace: "throw new GatewayError(\n      'overloaded',",
    test: [queueTest, 'a caller over its share of the waiting places is refused, others are not'],
  },
  {
    promise: 'a 429 for too many waiting queries says when to try again',
    file: 'src/base/errors.ts',
    find: "of its queries or requests are waiting already.',\n    retryAfterSeconds: 1,",
    replace: "of its queries or requests are waiting already.',",
    test: ['test/http/fair-shares.test.ts', flood],
  },
  {
    promise: 'a query is in the line of the token that sent it',
    file: 'src/pipeline/plan-request.ts',
    find: 'caller: tokenId,',
    replace: 'caller: tokenId.slice(0, 0),',
    test: ['test/http/fair-shares.test.ts', flood],
  },
  {
    promise: 'statements of one token that wait to be compiled keep no other token out',
    file: 'src/duckdb/duckdb-engine.ts',
    find: 'admission.take(options.signal, options)',
    replace: 'admission.take(options.signal)',
    test: ['test/http/fair-shares.test.ts', flood],
  },
  // The permits.
  {
    promise: 'the embedded engine gives its permits to tokens in turn',
    file: 'src/duckdb/duckdb-engine.ts',
    find: 'return await queue.take(options.signal, options);',
    replace: 'return await queue.take(options.signal);',
    test: ['test/http/fair-shares.test.ts', flood],
  },
  {
    promise: 'the warehouse gives its permits to tokens in turn',
    file: 'src/bigquery/run-statement.ts',
    find: 'queue.take(run.waiting.limit.signal, run.runOptions)',
    replace: 'queue.take(run.waiting.limit.signal)',
    test: [
      'test/bigquery/shares.test.ts',
      'contract 11.1: a limited number of queries run on the warehouse at a time, and a newcomer is next',
    ],
  },
  {
    promise: 'statements that are only explained take permits of the warehouse',
    file: 'src/bigquery/bigquery-engine.ts',
    find: 'inPlace({ runOptions, waiting }, () => explaining(statement)(assembled, waiting)),',
    replace: '(void inPlace, explaining(statement)(assembled, waiting)),',
    test: ['test/bigquery/shares.test.ts', 'contract 11.1: a statement that is explained takes a place, too'],
  },
  {
    promise: 'callers take turns at the permits, however many queries each of them has waiting',
    file: queue,
    find: 'const lane = isBackground ? state.background : laneOf(state, caller);',
    replace: 'const lane = isBackground ? state.background : laneOf(state, caller.slice(0, 0));',
    test: [queueTest, 'contract 11.1: callers take turns, however many queries each of them has waiting'],
  },
  {
    promise: 'turns go by the time of permits, and not by their number',
    file: queue,
    find: '(aheadMs || other.running - one.running || other.turn - one.turn) > 0',
    replace: '(other.running - one.running || other.turn - one.turn || aheadMs) > 0',
    test: [queueTest, 'contract 11.1: the time is the same with one permit, too'],
  },
  {
    promise: 'who comes late has no advantage of having used nothing',
    file: queue,
    find: 'lane.endedMs += Math.max(0, state.virtualMs - usedMs(lane, state.now()));',
    replace: '',
    test: [queueTest, 'who comes late has no advantage of having used nothing'],
  },
  {
    promise: 'what a caller used while there was room is forgotten beyond five seconds',
    file: queue,
    find: 'const maxDebtMs = 5000;',
    replace: 'const maxDebtMs = Infinity;',
    test: [
      queueTest,
      'what a caller used while there was room holds it up for five seconds of permits at most',
    ],
  },
  {
    promise: 'the last permit is kept for who has less than half of them',
    file: queue,
    find: 'free > 1 && !othersAsk(state, lane)',
    replace: 'free > 0 && !othersAsk(state, lane)',
    test: [queueTest, 'the last permit is kept for who has less than half of them'],
  },
  {
    promise: 'a caller has half of the permits at most while another one asks',
    file: queue,
    find: 'free > 1 && !othersAsk(state, lane)',
    replace: 'free > 1 && (free > 0 || othersAsk(state, lane))',
    test: [queueTest, 'while another one still runs a query, a caller starts no more than half'],
  },
  {
    promise: 'somebody who asked within the last second counts as one that asks',
    file: queue,
    find: 'callers.size > 1 || lastEnds.some(end => end.caller !== caller && end.ms > sinceMs)',
    replace: 'callers.size > 1 || lastEnds.some(end => end.caller !== caller && end.ms > sinceMs + askingMs)',
    test: [queueTest, 'who asked before the last caller still counts as one that asks'],
  },
  {
    promise: 'the last permit is for a caller who runs something, too, as long as it has less than half',
    file: queue,
    find: 'const half = Math.ceil(options.permits / 2);',
    replace: 'const half = Math.min(1, options.permits);',
    test: [queueTest, 'the last permit is kept for who has less than half of them'],
  },
  {
    promise: 'queries in the background leave a permit to callers',
    file: queue,
    find: 'return free > (options.permits > 1 && ahead < maxAhead ? 1 : 0);',
    replace: 'return free > (ahead < maxAhead ? 0 : 0);',
    test: [
      queueTest,
      'contract 6.5: background queries leave a permit to callers, and wait behind waiting callers',
    ],
  },
  // Who waits for what another one asked for.
  {
    promise: 'a query that another caller has joined starts when it is the turn of one of them',
    file: queue,
    find: 'if (isOver) return;\n    const lane = laneOf(state, caller);',
    replace: 'if (isOver || own.waiting.size > 0) return;\n    const lane = laneOf(state, caller);',
    test: ['test/http/fair-shares.test.ts', 'contract 11.1: who joins a query that waits behind a flood'],
  },
  {
    promise: 'the gateway that runs a query learns who waits for it on other gateways',
    file: 'src/cache/leased-load.ts',
    find: 'announce(deps, options);\n      const woken',
    replace: 'if (performance.now() < 0) announce(deps, options);\n      const woken',
    test: [
      'test/cache/leases.test.ts',
      'contract 11.1: tell the one that runs the query whose requests wait',
    ],
  },
  {
    promise: 'a query that is refused for the share of its first caller is run for the others',
    file: 'src/base/turns.ts',
    find: "if (code === 'too_many_requests') return !isFirst;",
    replace: "if (code === 'too_many_requests') return !isFirst && leftMs === Infinity;",
    test: [
      'test/cache/single-flight.test.ts',
      'a load refused because its first caller has too many waiting is repeated for the others',
    ],
  },
  // What waits elsewhere.
  {
    promise: 'the front-end reads one text of each caller in turn',
    file: 'src/engine/compile-turns.ts',
    find: 'queue.take(signal, options)',
    replace: 'queue.take(signal)',
    test: [
      'test/engine/compile-turns.test.ts',
      'contract 11.1: a caller waits for one text of another, whatever that one sends',
    ],
  },
  {
    promise: 'results of callers are redacted in turn',
    file: 'src/redaction/redaction-worker.ts',
    find: 'jobs.set(job, running);\n    wait(caller, running);',
    replace: 'jobs.set(job, running);\n    wait(caller.slice(0, 0), running);',
    test: [
      'test/redaction/redactor.test.ts',
      'contract 11.1: a caller waits for no number of bodies of another',
    ],
  },
  {
    promise: 'results of callers are written in other formats in turn',
    file: 'src/formats/row-formatter.ts',
    find: 'const release = await shorts.take(signal, { caller, joined });',
    replace: 'const release = await shorts.take(signal, { joined });',
    test: [
      'test/formats/row-formatter.test.ts',
      'one caller’s jobs wait for each other, and too many are refused',
    ],
  },
  {
    promise: 'long results of callers are compressed in turn',
    file: 'src/http-messages/content-negotiation.ts',
    find: 'await permitOf(caller, joined)',
    replace: 'await permitOf(caller.slice(0, 0), joined)',
    test: [
      'test/http/content-encoding.test.ts',
      'contract 11.1: a caller waits for no number of bodies of another',
    ],
  },
  {
    promise: 'long entries of callers are decompressed in turn',
    file: 'src/cache/entry.ts',
    find: 'await takePermit(caller, joined)',
    replace: 'await takePermit(caller.slice(0, 0), joined && undefined)',
    test: [
      'test/cache/large-entries.test.ts',
      'contract 11.1: whoever reads many large answers at once is one of those who take turns',
    ],
  },
  {
    promise: 'bytes of one token that wait to be worked on have a share of their own',
    file: 'src/base/byte-shares.ts',
    find: 'own + bytes <= maxBytesPerCaller',
    replace: 'own + bytes <= 4 * maxBytesPerCaller',
    test: [
      'test/base/byte-shares.test.ts',
      'contract 11.1: a caller that holds its share is refused, and no other',
    ],
  },
  {
    promise: 'a token that holds nothing is not refused for the bytes that others hold',
    file: 'src/base/byte-shares.ts',
    find: 'if (held.has(caller) && total + bytes > maxBytes)',
    replace: 'if (total + bytes > maxBytes)',
    test: [
      'test/base/byte-shares.test.ts',
      'contract 11.1: a caller that holds its share is refused, and no other',
    ],
  },
  {
    promise: 'request bodies on their way have a share for each token',
    file: 'src/http-messages/request-context.ts',
    find: 'shares.take(callerOf(request), length)',
    replace: 'shares.take(callerOf(request).slice(0, 0), length)',
    test: [
      'test/http/connection-shares.test.ts',
      'contract 11.1: bodies that are on their way hold 32 MB of one token, and no other token waits for them',
    ],
  },
  {
    promise: 'long requests of tokens are read in turn',
    file: 'src/base/turns.ts',
    find: 'lanes.add(caller, resolve);\n      if (!isRunning)',
    replace: 'lanes.add(caller.slice(0, 0), resolve);\n      if (!isRunning)',
    test: [
      'test/http/connection-shares.test.ts',
      'of one token are read in turns, and no other token waits for all of them',
    ],
  },
  {
    promise: 'large GraphQL operations of one token keep no other token waiting',
    file: 'src/graphql/answer-graphql.ts',
    find: 'largeOperations.take(inner, { caller: caller.tokenId })',
    replace: 'largeOperations.take(inner, { caller: caller.tokenId.slice(0, 0) })',
    test: [
      'test/http/connection-shares.test.ts',
      'contract 11.1: large GraphQL operations of one token keep no other token waiting',
    ],
  },
  {
    promise: 'requests of one token wait on three quarters of the connections at most',
    file: 'src/http-messages/connections.ts',
    find: 'const callerShare = 0.75;',
    replace: 'const callerShare = 1;',
    test: [
      'test/http/connection-shares.test.ts',
      'contract 11.1: one token waits on three quarters of the connections at most',
    ],
  },
  {
    promise: 'a connection waits for one request of each other one',
    file: 'src/http/hits/repeated-bytes.ts',
    find: '(isComplete || calls > maxCalls) && turns.isSpent()',
    replace: 'calls > maxCalls && turns.isSpent()',
    test: [
      'test/http/pipelining.test.ts',
      'contract 11.1, 11.4: a connection waits for one request of each other',
    ],
  },
];
