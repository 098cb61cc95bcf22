import { type Transferable, Worker } from 'node:worker_threads';
import { GatewayError } from './errors.ts';

/** A thread for work that would block the event loop. It starts with a job, and ends when it has had none for a while. */
export type IdleThread<Message, Result> = {
  open(): ThreadJob<Message, Result>;
  /** Ends the thread: the results that are waited for are rejected. The next job has another one. */
  close(): Promise<void>;
};

/** Work of the thread, which goes on with others between its steps. */
export type ThreadJob<Message, Result> = {
  /** For messages: each result has the id of its job. */
  readonly id: number;
  /** Tells the thread something; does nothing once it has ended. */
  post(message: Message, moved?: readonly Transferable[]): void;
  /**
   * The next result; call it again only after it has settled.
   * @throws GatewayError `unavailable` if the thread has ended
   */
  next(): Promise<Result>;
  /** The thread may end, as far as this job is concerned. */
  end(): void;
};

type ThreadOptions = {
  readonly script: URL;
  readonly maxHeapMb: number;
  /** What was interrupted if the thread ends, as the start of a sentence. */
  readonly work: string;
};

/** A running thread, and the jobs that wait for results. */
type Running<Result> = {
  readonly worker: Worker;
  readonly waiting: Map<number, PromiseWithResolvers<Result>>;
  hasEnded: boolean;
};

/** Milliseconds after which a thread without jobs ends and frees its memory. */
const idleMs = 10_000;

/** Makes a thread that has not started. */
export function createIdleThread<
  Message extends { readonly job: number },
  Result extends { readonly job: number },
>(options: ThreadOptions): IdleThread<Message, Result> {
  let running: Running<Result> | undefined;
  let idle: NodeJS.Timeout | undefined;
  let lastJob = 0;
  let openJobs = 0;

  async function close(): Promise<void> {
    clearTimeout(idle);
    const ending = running;
    running = undefined;
    await ending?.worker.terminate();
  }

  return {
    open() {
      clearTimeout(idle);
      if (!running || running.hasEnded) running = start(options);
      const thread = running;
      const { worker, waiting } = thread;
      const id = ++lastJob;
      let isOpen = true;
      openJobs++;
      return {
        id,
        post(message, moved = []) {
          if (!thread.hasEnded) worker.postMessage(message, moved);
        },
        async next() {
          if (thread.hasEnded) throw interrupted(options);
          const result = Promise.withResolvers<Result>();
          waiting.set(id, result);
          return result.promise;
        },
        end() {
          if (!isOpen) return;
          isOpen = false;
          if (--openJobs === 0) idle = setTimeout(() => void close(), idleMs).unref();
        },
      };
    },
    close,
  };
}

function start<Result extends { readonly job: number }>(options: ThreadOptions): Running<Result> {
  const { script, maxHeapMb } = options;
  const worker = new Worker(script, {
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });
  const running: Running<Result> = { worker, waiting: new Map(), hasEnded: false };
  const { waiting } = running;
  worker.unref();
  worker.on('message', (result: Result) => {
    const { job } = result;
    waiting.get(job)?.resolve(result);
    waiting.delete(job);
  });
  // The thread is out of memory; `exit` follows.
  worker.on('error', () => undefined);
  worker.once('exit', () => {
    running.hasEnded = true;
    for (const { reject } of waiting.values()) reject(interrupted(options));
    waiting.clear();
  });
  return running;
}

function interrupted({ work }: ThreadOptions): GatewayError {
  return new GatewayError('unavailable', `${work} was interrupted; try again`);
}
