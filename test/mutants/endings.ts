import type { Mutant } from './mutant.ts';

const file = 'test/processes/endings.test.ts';
const underLoad = 'twenty keep-alive clients under load see no reset, and are asked to close';
const inSocket = '/readyz says so, what is in a socket is answered, and idle connections are closed';
const unread = 'standard output and error that nobody reads';
const frozen = 'a frozen Redis and a frozen engine';
const stopServer = 'test/http/stop-server.test.ts';
const full = 'a pipe that is full from the beginning';
const waiting = 'a pipe that nobody reads, on which writes wait';
const unending = 'a process of the engine that does not end when it is killed';
const failedStart =
  'a start that fails, with full standard output and error, a silent Redis and a frozen engine';
const logOutput = 'test/telemetry/log-output.test.ts';

export const endings: readonly Mutant[] = [
  {
    promise: 'no connection is reset on which a request has come',
    file: 'src/http/stop-server.ts',
    find: 'NetServer.prototype.close.call(server);',
    replace: 'server.close();',
    test: [stopServer, 'what came on an idle connection before the listener closes is answered'],
  },
  {
    promise: 'a connection that waits for its next request is not closed at once',
    file: 'src/http/stop-server.ts',
    find: 'if (elapsedMs() - closedMs >= Math.min(idleMs, quietMs)) connections.endIdle(Math.min(idleMs, quietMs));',
    replace: 'connections.endIdle(0);',
    test: [stopServer, 'a request that was on its way when the listener closed is answered'],
  },
  {
    promise: 'a gateway that stops first takes the connections that arrive',
    file: 'src/http/stop-server.ts',
    find: 'await untilQuiet(server, quietMs, deadlineMs / 4);',
    replace: '',
    test: [
      stopServer,
      'new connections are taken until none came for a while, and are told that it is not ready',
    ],
  },
  {
    promise: 'connections that keep arriving hold up no end',
    file: 'src/http/stop-server.ts',
    find: 'Math.min(lastMs + quietMs, endMs)',
    replace: 'lastMs + quietMs',
    test: [stopServer, 'new connections that keep coming do not hold up the end'],
  },
  {
    promise: '/readyz turns 503',
    file: 'src/http/handle-request.ts',
    find: 'serving.isStopping = true;',
    replace: '',
    test: [
      stopServer,
      'new connections are taken until none came for a while, and are told that it is not ready',
    ],
  },
  {
    promise: 'answers ask clients to close',
    file: 'src/http/handle-request.ts',
    find: 'serving.isClosing = true;',
    replace: '',
    test: [file, underLoad],
  },
  {
    promise: 'repeated answers ask clients to close, too',
    file: 'src/http/handle-request.ts',
    find: 'if (key === undefined || serving.isClosing) return false;',
    replace: 'if (key === undefined) return false;',
    test: [
      'test/http/repeated-bytes.test.ts',
      'a gateway that stops parses them again: the answer ends the connection',
    ],
  },
  {
    promise: 'repeated bytes are not answered without being parsed, which would not close',
    file: 'src/http/handle-request.ts',
    find: 'serving.repeatedBytes.stop();',
    replace: '',
    test: [
      'test/http/repeated-bytes.test.ts',
      'a gateway that stops parses them again: the answer ends the connection',
    ],
  },
  {
    promise: 'only the last answer of a connection closes it',
    file: 'src/http/handle-request.ts',
    find: '(isEnding && serving.isLast(incoming))',
    replace: 'isEnding',
    test: [
      stopServer,
      'what is under way shortly before the deadline is answered with unavailable, and what came after it too',
    ],
  },
  {
    promise: 'requests that are in a socket already are answered',
    file: 'src/http/stop-server.ts',
    find: 'await afterReading();\n    if (elapsedMs()',
    replace: 'if (elapsedMs()',
    test: [
      'test/http/idle-connections.test.ts',
      'contract 11.1: a gateway that stops answers what came while the event loop was busy',
    ],
  },
  {
    promise: 'idle connections are closed',
    file: 'src/http/stop-server.ts',
    find: 'connections.endIdle(Math.min(idleMs, quietMs));',
    replace: 'connections.endIdle(Infinity);',
    test: [stopServer, 'an idle connection ends before the deadline'],
  },
  {
    promise: 'the process ends when all is answered',
    file: 'src/composition/run-process.ts',
    find: 'running.stop(signal).then(() => end(0), fail);',
    replace: 'running.stop(signal).catch(fail);',
    test: [file, inSocket],
  },
  {
    promise: 'the process ends after DRAIN_MS, whatever hangs',
    file: 'src/composition/run-process.ts',
    find: 'afterMs: drainMs });\n        void end(0);',
    replace: 'afterMs: drainMs });',
    test: [file, unending],
  },
  {
    promise: 'what is under way shortly before the end is answered with 503',
    file: 'src/http/stop-server.ts',
    find: 'if (connections.count > 0) handler.abort();',
    replace: '',
    test: [stopServer, 'what is under way shortly before the deadline is answered with unavailable'],
  },
  {
    promise: "the log's flush at the end takes a bounded time",
    file: 'src/telemetry/log-output.ts',
    find: 'await Promise.race([late, writeWaiting().then(writeWaiting)]);',
    replace: 'await writeWaiting().then(writeWaiting);',
    test: [file, full],
  },
  {
    promise: "the log's flush gives up at its time",
    file: 'src/telemetry/log-output.ts',
    find: 'const giveUp = setTimeout(resolve, timeoutMs);',
    replace: 'const giveUp = setTimeout(resolve, 10 * timeoutMs);',
    test: [logOutput, 'flushes what waits, and gives up at its time where nobody reads'],
  },
  {
    promise: 'the last lines of the log are written',
    file: 'src/telemetry/log-output.ts',
    find: 'await Promise.race([late, writeWaiting().then(writeWaiting)]);',
    replace: '',
    test: [file, frozen],
  },
  {
    promise: 'a write to a standard output that nobody reads does not block',
    file: 'src/composition/standard-output.ts',
    find: 'if (!fstatSync(fd).isFIFO()) return inherited;',
    replace: 'if (fd > 0) return inherited;',
    test: [file, waiting],
  },
  {
    promise: 'what nobody reads of the log does not pile up',
    file: 'src/telemetry/log-output.ts',
    find: 'if (waitingBytes + line.length > maxWaiting) {',
    replace: 'if (waitingBytes < 0) {',
    test: [logOutput, 'drops lines while nobody reads, counts them, and says so when somebody does'],
  },
  {
    promise: 'what nobody reads of the log does not pile up in a gateway',
    file: 'src/telemetry/log-output.ts',
    find: 'const maxWaiting = 1024 * 1024;',
    replace: 'const maxWaiting = 1024 * 1024 * 1024;',
    test: [file, unread],
  },
  {
    promise: 'an error that nobody catches is logged and ends the process',
    file: 'src/composition/run-process.ts',
    find: "process.on('uncaughtException', fail);",
    replace: "process.on('uncaughtException', () => undefined);",
    test: [file, frozen],
  },
  {
    promise: 'a rejection that nobody handles ends the process',
    file: 'src/composition/run-process.ts',
    find: "process.on('unhandledRejection', fail);",
    replace: "process.on('unhandledRejection', () => undefined);",
    test: [file, unread],
  },
  {
    promise: 'an error that nobody catches waits for nothing that hangs',
    file: 'src/composition/run-process.ts',
    find: 'void end(1);',
    replace: "void Promise.resolve(running?.stop('SIGTERM')).then(() => end(1));",
    test: [file, unending],
  },
  {
    promise: "a failed start does not wait for the log's reader",
    file: 'src/telemetry/log-output.ts',
    find: 'await Promise.race([late, writeWaiting().then(writeWaiting)]);',
    replace: 'await writeWaiting().then(writeWaiting);',
    test: [file, failedStart],
  },
  {
    promise: 'a failed start ends, whatever hangs',
    file: 'src/composition/run-process.ts',
    find: 'await exit(log, 1);',
    replace: 'process.exitCode = 1;',
    test: [file, failedStart],
  },
  {
    promise: "the engine's processes end with a start that fails, frozen ones too",
    file: 'src/duckdb/engine-child.ts',
    find: "for (const child of living) child.kill('SIGKILL');",
    replace: '',
    test: [file, failedStart],
  },
  {
    promise: 'a start waits a bounded time for a silent warehouse',
    file: 'src/bigquery/bigquery-engine.ts',
    find: 'timeoutMs: 20_000',
    replace: 'timeoutMs: 60_000',
    test: [
      file,
      'a start that fails because a warehouse answers nothing, with full standard output and error',
    ],
  },
  {
    promise: 'a signal ends a start that hangs',
    file: 'src/composition/run-process.ts',
    find: 'if (!running) return void end(0);',
    replace: 'if (!running) return;',
    test: [file, 'a warehouse that answers nothing while it starts'],
  },
  {
    promise: 'a query that a silent warehouse holds is aborted before the end',
    file: 'src/http/stop-server.ts',
    find: 'if (connections.count > 0) handler.abort();',
    replace: '',
    test: [file, 'a warehouse that answers nothing while it runs'],
  },
  {
    promise: "the engine's processes end with the gateway, frozen ones too",
    file: 'src/duckdb/engine-child.ts',
    find: "for (const child of living) child.kill('SIGKILL');",
    replace: '',
    test: [file, frozen],
  },
];
