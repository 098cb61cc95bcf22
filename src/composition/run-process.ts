import { setTimeout as sleep } from 'node:timers/promises';
import { flushSpans } from '../base/spans.ts';
import type { GatewayEvent } from '../telemetry/events.ts';
import { createEventLog } from '../telemetry/log-events.ts';
import { createLogOutput, type LogOutput } from '../telemetry/log-output.ts';
import { type Config, readConfig } from './config.ts';
import { openStandardOutput } from './standard-output.ts';

/** A process that has started. */
export type Running = {
  /**
   * Stops.
   * @param signal why it stops: SIGINT comes from a terminal and is urgent
   */
  stop(signal: 'SIGINT' | 'SIGTERM'): Promise<void>;
};

type ProcessOptions = {
  /** Names the process in the message of a failed start. */
  readonly name: string;
  readonly environment: NodeJS.ProcessEnv;
  /** Explains in plain words why a start failed. */
  readonly explain: (error: unknown) => string;
};

/** What a process needs to start. */
export type ProcessDeps = {
  readonly emit: (event: GatewayEvent) => void;
  readonly log: Pick<LogOutput, 'droppedLines'>;
  /** Prints text for a person, on standard output. */
  readonly print: (text: string) => void;
};

/**
 * Milliseconds within which a second signal is a repetition of the first: after Ctrl-C, or a signal to the process group, npm forwards it, too.
 */
const sameSignalMs = 500;

/** Maximum milliseconds for flushing the last log lines, including the reason of a failed start, and the last spans. */
const lastLinesMs = 500;

/**
 * Runs a process until SIGINT or SIGTERM. However it ends, that takes a bounded time even if the log has no reader: by a signal (exit
 * code 0), an uncaught error, an unhandled rejection or a failed start (1).
 */
export async function runProcess(
  { name, environment, explain }: ProcessOptions,
  start: (config: Config, deps: ProcessDeps) => Promise<Running>,
): Promise<void> {
  const log = createLogOutput(openStandardOutput(2));
  const people = createLogOutput(openStandardOutput(1));
  const print = (text: string) => {
    people.write(text);
    // At once: a person waits for it.
    void people.flush(0);
  };
  try {
    const config = readConfig(environment);
    const format = config.LOG_FORMAT ?? (process.stderr.isTTY ? 'pretty' : 'json');
    const emit = createEventLog(config.LOG_LEVEL, log, format);
    const life = watchLife(config.DRAIN_MS, emit, code => exit(log, code));
    life.started(await start(config, { emit, log, print }));
  } catch (error) {
    log.write(`The ${name} could not start.\n${explain(error)}\n`);
    await exit(log, 1);
  }
}

async function exit(log: LogOutput, code: number): Promise<void> {
  await Promise.all([
    log.flush(lastLinesMs),
    Promise.race([flushSpans().catch(() => undefined), sleep(lastLinesMs)]),
  ]);
  process.exit(code);
}

/** Listens to everything that ends a process. */
function watchLife(
  drainMs: number,
  emit: (event: GatewayEvent) => void,
  end: (code: number) => Promise<void>,
) {
  let running: Running | undefined;
  let stoppingSinceMs: number | undefined;
  const fail = (cause: unknown) => {
    emit({ type: 'process.failed', cause });
    void end(1);
  };
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // Before the start there is nothing to lose.
      if (!running) return void end(0);
      if (stoppingSinceMs !== undefined) {
        // A second signal means: do not wait.
        if (performance.now() - stoppingSinceMs > sameSignalMs) void end(0);
        return;
      }
      stoppingSinceMs = performance.now();
      emit({ type: 'process.stopping', signal });
      setTimeout(() => {
        emit({ type: 'process.stop_cut_off', afterMs: drainMs });
        void end(0);
      }, drainMs);
      running.stop(signal).then(() => end(0), fail);
    });
  }
  return {
    started(what: Running) {
      running = what;
    },
  };
}
