/**
 * The port for the shared storage of cache entries: values by key, leases (the right to make a key's next value), generations by
 * group, and messages about all of them. Every call rejects with a StoreError if the store does not answer; callers go on without it.
 */
export type Store = {
  /** Reads values and generations in one round trip. */
  read(keys: readonly string[], groups: readonly string[]): Promise<StoreRead>;
  /**
   * Asks for the lease on a key: the right to make its next value.
   * The holder extends it until the value is published, or releases it.
   */
  claim(key: string, options: ClaimOptions): Promise<Claim>;
  /**
   * Makes the lease last another `leaseMs` from now.
   * @returns false if the token no longer holds it
   */
  extend(key: string, token: string, leaseMs: number): Promise<boolean>;
  /**
   * Stores a value and ends the lease, atomically.
   * @param ttlMs maximum milliseconds the value is kept; the store may drop it sooner
   * @returns false, and nothing is changed, if the token no longer holds the lease
   */
  publish(key: string, token: string, value: Buffer, ttlMs: number): Promise<boolean>;
  /**
   * Ends the lease without a value; does nothing if the token no longer holds it.
   * @param failurePayload sent to the waiters
   */
  release(key: string, token: string, failurePayload: string): Promise<void>;
  /** Tells the holder of a key's lease, whichever gateway it is, that a caller waits for the value. */
  join(key: string, caller: string): Promise<void>;
  /**
   * Replaces a key's value by a tombstone and ends its lease: a value being made under the lease can no longer be published.
   * The tombstone is only a new version, so that a removed key can be distinguished from one that the store has lost.
   */
  remove(key: string): Promise<void>;
  /** Gives a group a new, unique generation: values made under another one are invalid. */
  bumpGeneration(group: string): Promise<void>;
  /** Delivers all messages from now on. Also reports, at once and at every change, whether messages arrive (`connected`, `disconnected`). */
  subscribe(listener: (message: StoreMessage) => void): void;
  /** Resolves if the store answers. */
  ping(): Promise<void>;
  /** Closes at once, even if the store is frozen. */
  close(): Promise<void>;
};

export type StoreRead = {
  /** In the order of the keys; undefined for a key without a value. */
  readonly values: readonly (Buffer | undefined)[];
  /** In the order of the groups; empty for a group that never had one. */
  readonly generations: readonly string[];
};

/** Each value begins with its version: this many bytes, different from those of all other values of its key. */
export const versionBytes = 16;

/** Milliseconds for which the tombstone of a removed key is kept: longer than any gateway stays disconnected. */
export const tombstoneMs = 7 * 86_400_000;

export type ClaimOptions = {
  /** Unique name of the claim. */
  readonly token: string;
  /** Milliseconds the lease lasts. */
  readonly leaseMs: number;
  /** The first `versionBytes` bytes of the value that the claimant has seen; absent if it has seen none. */
  readonly knownVersion: Buffer | undefined;
};

export type Claim =
  /** The lease is the claimant's. */
  | { readonly state: 'granted' }
  /** Another claimant holds it, for `forMs` more milliseconds unless it is extended. */
  | { readonly state: 'held'; readonly forMs: number }
  /** There is a value that the claimant has not seen; no lease was taken. */
  | { readonly state: 'changed'; readonly value: Buffer };

/** A message to all subscribers, whichever gateway made the change. */
export type StoreMessage =
  | { readonly type: 'published' | 'removed'; readonly key: string }
  | { readonly type: 'released'; readonly key: string; readonly failurePayload: string }
  | { readonly type: 'joined'; readonly key: string; readonly caller: string }
  | { readonly type: 'group'; readonly group: string; readonly generation: string }
  /** Messages arrive from now on; some may have been missed before. */
  | { readonly type: 'connected' }
  /** Messages do not arrive any more. */
  | { readonly type: 'disconnected' };
