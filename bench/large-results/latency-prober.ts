import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { askServer, type ServerRequest } from '../ask-server.ts';

/** Requests to send, each over and over, for some seconds. */
export type ProberSettings = {
  readonly origin: string;
  readonly requests: Readonly<Record<string, ServerRequest>>;
  readonly seconds: number;
};

export type ProberResult = {
  /** Milliseconds of every answer, by the request's name. */
  readonly times: Readonly<Record<string, readonly number[]>>;
  /** Milliseconds by which the prober's own event loop was late at most: no time is more exact than that. */
  readonly ownStallMs: number;
};

const pauseMs = 5;
/** Answers of each request before time counts: the prober's own code is compiled then. */
const rehearsals = 50;

process.once('message', async ({ origin, requests, seconds }: ProberSettings) => {
  for (let n = 0; n < rehearsals; n++) {
    for (const request of Object.values(requests)) await askServer({ origin }, request);
  }
  process.send?.('ready');
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const endMs = performance.now() + seconds * 1000;

  async function probe(request: ServerRequest): Promise<number[]> {
    const times: number[] = [];
    for (let startedMs = performance.now(); startedMs < endMs; startedMs = performance.now()) {
      await askServer({ origin }, request);
      times.push(performance.now() - startedMs);
      await sleep(pauseMs);
    }
    return times;
  }

  const probes = Object.entries(requests).map(async ([name, each]) => [name, await probe(each)] as const);
  const times = Object.fromEntries(await Promise.all(probes));
  process.send?.({ times, ownStallMs: delay.max / 1e6 } satisfies ProberResult);
  process.exit();
});
