import type { Mutant } from './mutant.ts';

const connections = 'src/http-messages/connections.ts';
const unread = 'src/http-messages/unread-answers.ts';
const server = 'src/http/http-server.ts';
const slowTest = 'test/http/slow-clients.test.ts';
const unreadTest = 'test/http-messages/unread-answers.test.ts';
const sharesTest = 'test/http/connection-shares.test.ts';

export const slowClients: readonly Mutant[] = [
  // Senders.
  {
    promise: 'a head that does not arrive ends within its own time-out',
    file: server,
    find: 'headersTimeout: receiveTimeoutMs,',
    replace: 'headersTimeout: 4 * receiveTimeoutMs,',
    test: [slowTest, 'half a head'],
  },
  {
    promise: 'time-outs of heads are looked at every second, and not every half minute',
    file: server,
    find: 'connectionsCheckingInterval: Math.min(1000, Math.ceil(receiveTimeoutMs / 4)),',
    replace: '',
    test: [slowTest, 'half a head'],
  },
  {
    promise: 'a body of which nothing more comes ends, before the time that a whole request may take',
    file: 'src/http-messages/read-body.ts',
    find: 'timer = setTimeout(() => void expire(), timeoutMs);\n  });',
    replace: 'timer = setTimeout(() => void expire(), 100 * timeoutMs);\n  });',
    test: [slowTest, 'a body that stops'],
  },
  {
    promise: 'rows to load of which nothing more comes end, before the time that a whole request may take',
    file: 'src/http-messages/read-body.ts',
    find: 'const timer = setTimeout(() => void expire(), timeoutMs);',
    replace: 'const timer = setTimeout(() => void expire(), 100 * timeoutMs);',
    test: [slowTest, 'rows to load that stop'],
  },
  {
    promise: 'a body that comes byte by byte ends, too',
    file: server,
    find: 'requestTimeout: 4 * receiveTimeoutMs,',
    replace: 'requestTimeout: 0,',
    test: [slowTest, 'a body that comes byte by byte makes progress, but not for ever'],
  },
  {
    promise: 'a part of a body that arrives is progress',
    file: 'src/http-messages/read-body.ts',
    find: 'timer?.refresh();',
    replace: '',
    test: [slowTest, 'a body that comes byte by byte makes progress, but not for ever'],
  },
  {
    promise: 'by default a sender has twenty seconds at most',
    file: 'src/composition/config.ts',
    find: 'RECEIVE_TIMEOUT_MS: { schema: count(15_000,',
    replace: 'RECEIVE_TIMEOUT_MS: { schema: count(60_000,',
    test: [slowTest, 'contract 2.26, 2.27: by default 408 comes within 20 s'],
  },
  // Readers.
  {
    promise: 'by default a reader has thirty seconds at most',
    file: 'src/composition/config.ts',
    find: 'SEND_TIMEOUT_MS: { schema: count(20_000,',
    replace: 'SEND_TIMEOUT_MS: { schema: count(60_000,',
    test: [slowTest, 'contract 2.26, 2.27: by default 408 comes within 20 s'],
  },
  {
    promise: 'a reader who stops is cut off',
    file: unread,
    find: "if (nowMs - reader.progressMs > timeoutMs) end(socket, reader, 'slow_reader');",
    replace: "if (nowMs - reader.progressMs > 1000 * timeoutMs) end(socket, reader, 'slow_reader');",
    test: [
      unreadTest,
      'contract 2.27: who takes a long answer that was written at once bit by bit makes progress',
    ],
  },
  {
    promise: 'a reader who takes a byte now and then is cut off',
    file: unread,
    find: 'reader.waiting - waiting >= pieceBytes',
    replace: 'reader.waiting - waiting >= 1',
    test: [unreadTest, 'contract 2.27: who takes a few bytes now and then makes no progress'],
  },
  {
    promise: 'a reader who takes its answer bit by bit is not cut off',
    file: unread,
    find: 'noteProgress(socket, reader, nowMs);\n        if',
    replace: 'if',
    test: [
      unreadTest,
      'contract 2.27: who takes a long answer that was written at once bit by bit makes progress',
    ],
  },
  {
    promise: 'the bytes of a reader who was cut off are let go',
    file: unread,
    find: 'reader.progressMs = performance.now();\n        total -= bytes;',
    replace: 'reader.progressMs = performance.now();',
    test: [slowTest, 'who stops is cut off, and its bytes are let go'],
  },
  {
    promise: 'a short answer that is not read is watched, too',
    file: 'src/http-messages/send-response.ts',
    find: 'deps.unread.watch(response, caller);',
    replace: '',
    test: [slowTest, 'a reader of short answers'],
  },
  {
    promise: 'an answer that is repeated from known bytes is watched, too',
    file: 'src/http/hits/repeated-bytes.ts',
    find: "deps.unread.watch(socket, ready.facts.tokenId ?? '');",
    replace: '',
    test: [slowTest, 'a reader of short answers'],
  },
  {
    promise: 'an answer that is repeated once its request is parsed is watched, too',
    file: 'src/http/hits/fast-path.ts',
    find: "deps.unread.watch(response, ready.facts.tokenId ?? '');",
    replace: '',
    test: [slowTest, 'a reader of short answers'],
  },
  {
    promise: 'rows that an answer is still made of count as bytes that wait',
    file: unread,
    find: 'add(response, caller, heldBytes + pieceBytes)',
    replace: 'add(response, caller, Math.min(heldBytes, 0) + pieceBytes)',
    test: [slowTest, 'who stops is cut off, and its bytes are let go'],
  },
  // Bytes of all readers.
  {
    promise: 'bytes that wait have a bound over all connections',
    file: unread,
    find: 'function makeRoom(spared: Target): void {\n    if (total <= maxBytes) return;',
    replace: 'function makeRoom(spared: Target): void {\n    if (total <= maxBytes * 1000) return;',
    test: [unreadTest, 'contract 11.1: readers of one caller who stop cut off no slow reader of another'],
  },
  {
    promise: 'the setting for bytes that wait reaches the server',
    file: 'src/composition/composition-root.ts',
    find: 'maxUnreadBytes: config.MAX_UNREAD_MB * 1024 * 1024,',
    replace: 'maxUnreadBytes: Math.max(128, config.MAX_UNREAD_MB) * 1024 * 1024,',
    test: [slowTest, 'beyond the bound over all connections, the slowest readers end, and others are served'],
  },
  {
    promise: 'beyond the bound the caller with the most waiting bytes loses its readers',
    file: unread,
    find: 'if (caller.sum < most) continue;',
    replace: 'if (caller.sum < 0 * most) continue;',
    test: [unreadTest, 'contract 11.1: readers of one caller who stop cut off no slow reader of another'],
  },
  // Connections.
  {
    promise: 'the number of connections has a cap',
    file: connections,
    find: 'if (all.size >= max) {',
    replace: 'if (all.size >= 100 * max) {',
    test: [slowTest, 'one that never sent a request makes place for a new one, then one that is idle'],
  },
  {
    promise: 'the setting for connections reaches the server',
    file: 'src/composition/composition-root.ts',
    find: 'maxConnections: config.MAX_CONNECTIONS,',
    replace: 'maxConnections: Math.max(2000, config.MAX_CONNECTIONS),',
    test: [slowTest, 'one that never sent a request makes place for a new one, then one that is idle'],
  },
  {
    promise: 'a connection that never sent a request makes place before one that is idle',
    file: connections,
    find: '(counts.get(callerOf(connection)) ?? 0) : Infinity)',
    replace: '(counts.get(callerOf(connection)) ?? 0) : 1)',
    test: [slowTest, 'one that never sent a request makes place for a new one, then one that is idle'],
  },
  {
    promise: 'no connection makes place that waits for its answer',
    file: connections,
    find: 'if (isBusy(connection)) continue;',
    replace: '',
    test: [sharesTest, 'contract 2.18: if all connections wait for an answer, a new one is asked to retry'],
  },
  {
    promise: 'slow bodies on all connections keep nobody out',
    file: connections,
    find: 'longestIdle(evictable, held.with) ?? longestSending(evictable)',
    replace: 'longestIdle(evictable, held.with) ?? longestSending([])',
    test: [
      sharesTest,
      'contract 11.1: slow bodies on all connections keep nobody out: the first of them ends',
    ],
  },
  {
    promise: 'readers who stop on all connections keep nobody out',
    file: server,
    find: 'connections.add(socket) || (unread.endStopped() && connections.add(socket))',
    replace: 'connections.add(socket)',
    test: [sharesTest, 'contract 11.1: readers who stop on all connections keep nobody out'],
  },
  {
    promise: 'new connections take the places of those of the token that has the most',
    file: connections,
    find: 'if (found && count <= most && !isBefore) continue;',
    replace: 'if (found && !isBefore && connection.activeMs >= found.activeMs) continue;',
    test: [
      sharesTest,
      'contract 11.1: of two tokens with many connections the one with more loses the first, however new they are',
    ],
  },
  {
    promise: 'a token with few connections loses none to new ones',
    file: connections,
    find: 'held.with(each) >= max / held.callers / 2',
    replace: 'held.with(each) >= 0 * held.callers',
    test: [sharesTest, 'contract 11.1: a token with few connections loses none to new ones'],
  },
  // Metrics.
  {
    promise: 'connections that are ended are counted by reason',
    file: 'src/telemetry/count-events.ts',
    find: "'http.connection_ended': (to, { reason }) => to.connectionsEnded.inc(reason),",
    replace: "'http.connection_ended': () => undefined,",
    test: ['test/telemetry/metrics.test.ts', 'connections that were ended, by reason'],
  },
  {
    promise: 'a sender of a body who stops is counted',
    file: 'src/http/handle-request.ts',
    find: "if (response.status === 408) serving.emit({ type: 'http.connection_ended', reason: 'slow_sender' });",
    replace: '',
    test: [slowTest, 'a body that stops'],
  },
  {
    promise: 'a sender of a head who stops is counted',
    file: server,
    find: "if (error.code === 'request_timeout') onEnded('slow_sender');",
    replace: '',
    test: [slowTest, 'half a head'],
  },
  {
    promise: 'a reader who is cut off is counted by what the reason was',
    file: unread,
    find: 'cutOff(target);\n    onEnded(reason);',
    replace: "cutOff(target);\n    if (reason !== 'unread_limit') onEnded(reason);",
    test: [slowTest, 'beyond the bound over all connections, the slowest readers end, and others are served'],
  },
  {
    promise: 'a connection that makes place is counted',
    file: server,
    find: "onEvicted: () => onEnded('connection_limit'),",
    replace: 'onEvicted: () => undefined,',
    test: [slowTest, 'one that never sent a request makes place for a new one, then one that is idle'],
  },
  {
    promise: 'the metrics say how many bytes wait for their readers',
    file: 'src/composition/report-state.ts',
    find: 'unreadBytes: http.unreadBytes,',
    replace: 'unreadBytes: () => 0,',
    test: ['test/telemetry/moving-metrics.test.ts', 'moves what the dashboard and the alerts look at'],
  },
  {
    promise: 'the metrics say how many connections are open',
    file: 'src/composition/report-state.ts',
    find: 'connections: http.connections,',
    replace: 'connections: () => 0,',
    test: ['test/telemetry/moving-metrics.test.ts', 'moves what the dashboard and the alerts look at'],
  },
];
