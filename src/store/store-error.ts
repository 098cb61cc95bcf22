type StoreErrorOptions = {
  /** The client's own error. */
  readonly cause?: unknown;
  /** The store did answer: it refuses, for instance because it is full. Default false. */
  readonly isRefusal?: boolean;
};

/** The store did not answer; callers go on without it. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly isRefusal: boolean;

  constructor(message: string, { cause, isRefusal = false }: StoreErrorOptions = {}) {
    super(message, { cause });
    this.isRefusal = isRefusal;
  }
}
