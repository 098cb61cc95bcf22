import { orAborted } from '../base/time-limit.ts';
import type { StoreMessage } from '../store/store.ts';

/** Why a wait ended: the value was published, the lease was released (with a failure payload), or time ran out. */
export type Wakeup =
  | { readonly type: 'published' | 'timeout' }
  | { readonly type: 'released'; readonly failurePayload: string };

/** One waiter for messages about a key. */
export type Waiter = {
  /**
   * Resolves with the first message since the waiter was added.
   * @throws the signal's reason when it aborts first
   */
  next(timeoutMs: number, signal: AbortSignal): Promise<Wakeup>;
  leave(): void;
};

/** A message for the gateway that makes a value. */
type MakersMessage = { readonly type: 'joined'; readonly caller: string } | { readonly type: 'removed' };

/** Wakes the requests of this process that wait for values made by other gateways. */
export type Notifier = {
  /** Adds a waiter. Call it before asking for the lease, so that no message between the two is missed. */
  join(digest: string): Waiter;
  /**
   * Calls back with the messages about a key whose value is made here: a caller waits for it on another gateway, or it was invalidated.
   * @returns stops the callbacks
   */
  follow(digest: string, onMessage: (message: MakersMessage) => void): () => void;
  /** Passes a store message on to the waiters of its key, or to those who make its value. */
  notify(message: StoreMessage): void;
};

/** Makes a notifier without waiters. */
export function createNotifier(): Notifier {
  const waiters = new Map<string, Set<(wakeup: Wakeup) => void>>();
  const makers = new Map<string, Set<(message: MakersMessage) => void>>();

  function join(digest: string): Waiter {
    const ofKey = waiters.get(digest) ?? new Set();
    waiters.set(digest, ofKey);
    let wakeup = Promise.withResolvers<Wakeup>();
    const wake = (by: Wakeup) => wakeup.resolve(by);
    ofKey.add(wake);
    return {
      async next(timeoutMs, signal) {
        signal.throwIfAborted();
        const timer = setTimeout(wake, timeoutMs, { type: 'timeout' });
        try {
          return await orAborted(wakeup.promise, signal);
        } finally {
          clearTimeout(timer);
          wakeup = Promise.withResolvers<Wakeup>();
        }
      },
      leave() {
        ofKey.delete(wake);
        if (ofKey.size === 0 && waiters.get(digest) === ofKey) waiters.delete(digest);
      },
    };
  }

  function wakeAll(digest: string, wakeup: Wakeup): void {
    for (const wake of waiters.get(digest) ?? []) wake(wakeup);
  }

  function notifyMakers(digest: string, message: MakersMessage): void {
    for (const onMessage of makers.get(digest) ?? []) onMessage(message);
  }

  return {
    join,
    follow(digest, onMessage) {
      const ofKey = makers.get(digest) ?? new Set();
      makers.set(digest, ofKey);
      ofKey.add(onMessage);
      return () => {
        ofKey.delete(onMessage);
        if (ofKey.size === 0 && makers.get(digest) === ofKey) makers.delete(digest);
      };
    },
    notify(message) {
      if (message.type === 'joined') notifyMakers(message.key, message);
      if (message.type === 'published') wakeAll(message.key, { type: 'published' });
      if (message.type === 'released')
        wakeAll(message.key, { type: 'released', failurePayload: message.failurePayload });
      // The lease ended with the removal, so its holder can no longer publish the value.
      if (message.type === 'removed') {
        notifyMakers(message.key, { type: 'removed' });
        wakeAll(message.key, { type: 'released', failurePayload: '' });
      }
    },
  };
}
