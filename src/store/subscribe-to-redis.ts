import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { StoreMessage } from './store.ts';

/** Milliseconds between two pings on a subscribed connection. */
const heartbeatMs = 1000;

type SubscribeOptions = {
  /** Makes a connection that is not open yet and does not reconnect by itself. */
  readonly openSubscriber: () => Redis;
  readonly deliver: (message: StoreMessage) => void;
  readonly channel: string;
  /** Ends the subscription. */
  readonly signal: AbortSignal;
};

/**
 * Delivers the messages of the channel until the signal aborts, over one connection after another. It also delivers `connected`
 * when a connection has subscribed and `disconnected` when it is lost.
 */
export async function subscribeToRedis({
  openSubscriber,
  deliver,
  channel,
  signal,
}: SubscribeOptions): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    const connection = openSubscriber();
    const stop = () => connection.disconnect();
    signal.addEventListener('abort', stop);
    let isConnected = false;
    try {
      connection.on('message', (_channel, text) => {
        const message = parseMessage(text);
        if (message) deliver(message);
      });
      // The command client reports why Redis can't be reached; without a listener the error would be thrown.
      connection.on('error', () => undefined);
      await connection.connect();
      await connection.subscribe(channel);
      isConnected = true;
      failures = 0;
      deliver({ type: 'connected' });
      await whileAnswering(connection);
    } catch {
      // The connection failed or was lost; the loop opens the next one.
    }
    signal.removeEventListener('abort', stop);
    connection.disconnect();
    if (isConnected) deliver({ type: 'disconnected' });
    await pause(Math.min(50 * (failures + 1), 1000), signal);
  }
}

/** Returns when the connection is closed; rejects when its server leaves a ping unanswered. */
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

/** @returns undefined for text that is not one of our messages: any client may write to the channel */
function parseMessage(text: string): StoreMessage | undefined {
  try {
    const message: unknown = JSON.parse(text);
    // Only gateways of the same key version write such objects here.
    return typeof message === 'object' && message !== null && 'type' in message
      ? (message as StoreMessage)
      : undefined;
  } catch {
    return undefined;
  }
}
