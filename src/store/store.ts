/** Where cache entries are kept: bytes by key, for a time. */
export type Store = {
  /** The bytes last set under this key, until their time is over. Rejects with a StoreError where the store does not answer. */
  get(key: string): Promise<Buffer | undefined>;
  /** @param ttlMs milliseconds the bytes are kept at most; a store may drop them sooner */
  set(key: string, value: Buffer, ttlMs: number): Promise<void>;
  /** Lets go of the store at once, also where it is frozen. */
  close(): Promise<void>;
};
