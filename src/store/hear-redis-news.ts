import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { newsChannel } from './redis-scripts.ts';
import type { StoreNews } from './store.ts';

/** How often a listener asks whether its server is still there. */
const heartbeatMs = 1000;

type HearOptions = {
  /** Makes a connection that is not opened yet, and is not opened again by itself. */
  readonly openListener: () => Redis;
  readonly tell: (news: StoreNews) => void;
  /** Ends it. */
  readonly signal: AbortSignal;
};

/** Hears news until it is told to stop, on one connection after another; tells when it begins to hear and when it is deaf. */
export async function hearRedisNews({ openListener, tell, signal }: HearOptions): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    const connection = openListener();
    const stop = () => connection.disconnect();
    signal.addEventListener('abort', stop);
    let isListening = false;
    try {
      connection.on('message', (_channel, text) => tellNews(text, tell));
      // The reason is the client's to tell; unheard, it would be thrown.
      connection.on('error', () => undefined);
      await connection.connect();
      await connection.subscribe(newsChannel);
      isListening = true;
      failures = 0;
      tell({ type: 'listening' });
      await whileAnswering(connection);
    } catch {
      // It is lost, or was never there: the next one may do better.
    }
    signal.removeEventListener('abort', stop);
    connection.disconnect();
    if (isListening) tell({ type: 'deaf' });
    await pause(Math.min(50 * (failures + 1), 1000), signal);
  }
}

/** Returns when the connection is closed; rejects when its server leaves a ping without an answer. */
async function whileAnswering(connection: Redis): Promise<void> {
  const closing = new AbortController();
  connection.once('close', () => closing.abort());
  while (!closing.signal.aborted) {
    await pause(heartbeatMs, closing.signal);
    if (!closing.signal.aborted) await connection.ping();
  }
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
}

function tellNews(text: string, tell: (news: StoreNews) => void): void {
  const news = parseNews(text);
  if (news) tell(news);
}

/** Undefined for what is none of ours: anybody may write to a channel. */
function parseNews(text: string): StoreNews | undefined {
  try {
    const news: unknown = JSON.parse(text);
    // Only gateways of the same key version write such objects here.
    return typeof news === 'object' && news !== null && 'type' in news ? (news as StoreNews) : undefined;
  } catch {
    return undefined;
  }
}
