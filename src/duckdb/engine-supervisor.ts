import { type EngineChild, EngineGoneError, type EngineRun, startEngineChild } from './engine-child.ts';
import type { EngineEvent } from './engine-events.ts';
import type { EngineSettings, EngineStatement } from './engine-protocol.ts';

/** Keeps one engine process alive: starts it when it is needed, and kills it when a query will not end. */
export type EngineSupervisor = {
  /**
   * The process that runs queries now; a new one where the last has ended.
   * @throws EngineGoneError after `close`
   */
  current(): EngineChild;
  /**
   * Runs a statement; when the signal aborts it is interrupted, and after a grace its process is killed. What else ran there
   * fails with an EngineGoneError that says so.
   */
  run(child: EngineChild, statement: EngineStatement, limit: AbortSignal): EngineRun['result'];
  close(): Promise<void>;
};

type SupervisorOptions = {
  readonly settings: EngineSettings;
  readonly emit: (event: EngineEvent) => void;
  /** Milliseconds an interrupted query has to end. */
  readonly graceMs: number;
};

export function createEngineSupervisor({ settings, emit, graceMs }: SupervisorOptions): EngineSupervisor {
  let child: EngineChild | undefined;
  let isClosed = false;

  function start(): EngineChild {
    const startedMs = performance.now();
    const started = startEngineChild(settings);
    started.catalog.then(
      () => emit({ type: 'engine.started', pid: started.pid, ms: performance.now() - startedMs }),
      () => undefined, // its end is told below
    );
    void started.ended.then(reason => {
      if (child === started) child = undefined;
      if (!isClosed) emit({ type: 'engine.stopped', reason });
    });
    return started;
  }

  return {
    current() {
      if (isClosed) throw new EngineGoneError('closed', 'closed');
      child ??= start();
      return child;
    },
    async run(owner, statement, limit) {
      limit.throwIfAborted();
      const run = owner.run(statement);
      let killing: NodeJS.Timeout | undefined;
      const stop = () => {
        run.interrupt();
        killing = setTimeout(() => {
          owner.kill('deaf query');
          if (child === owner) child = undefined;
        }, graceMs);
      };
      limit.addEventListener('abort', stop, { once: true });
      try {
        return await run.result;
      } finally {
        clearTimeout(killing);
        limit.removeEventListener('abort', stop);
      }
    },
    async close() {
      isClosed = true;
      child?.kill('closed');
      await child?.ended;
    },
  };
}
