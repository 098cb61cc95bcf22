/** Change in bytes since DuckDB last reported only blocks, below which it is not asked again. */
const noticedBytes = 8 * 1024 * 1024;

/** Growth in bytes since the first run from which an idle process releases what is free. */
const restingBytes = 32 * 1024 * 1024;

export type KeptMemoryOptions = {
  /** Bytes that runs may leave behind; half of that once the process has rested, since no query waits for its replacement then. */
  readonly maxBytes: number;
  /** Resident bytes of the process. */
  readonly residentBytes: () => number;
  /**
   * Bytes of blocks of the file that DuckDB caches on purpose. Asking takes as long as preparing a statement, and the result of a run waits
   * for it.
   */
  readonly blockBytes: () => Promise<number>;
  /** Makes DuckDB's allocator return what is free to the system, which takes milliseconds. */
  readonly release: () => Promise<void>;
};

/**
 * Memory that runs leave behind in a process. DuckDB's allocator keeps what is free for the next run; after some runs, mostly failed ones,
 * DuckDB keeps hundreds of megabytes that nothing makes it release.
 */
export type KeptMemory = {
  /**
   * Whether much more memory is resident than before the first run, not counting blocks, even when what is free has been released. A
   * failure to find out counts as much memory.
   */
  isMuch(options: { readonly hasFailed: boolean }): Promise<boolean>;
  /**
   * Releases what is free, if it may be worth it; for a process without a run.
   * @returns whether what is left is so much that the process should be replaced while no query waits for it
   */
  rest(): Promise<boolean>;
};

/** Starts to watch memory, before the first run. */
export function watchKeptMemory({
  maxBytes,
  residentBytes,
  blockBytes,
  release,
}: KeptMemoryOptions): KeptMemory {
  const readyBytes = residentBytes();
  const grown = () => residentBytes() - readyBytes;
  /** Growth of the process when it was last found not to be much. */
  let fineBytes = 0;
  /** Growth of the process after it last rested. */
  let restedBytes = 0;
  return {
    async isMuch({ hasFailed }) {
      const grownBytes = grown();
      // Memory that a failed run has left may have replaced blocks.
      const isAsBefore = !hasFailed && Math.abs(grownBytes - fineBytes) < noticedBytes;
      if (grownBytes < maxBytes || isAsBefore) return false;
      try {
        const limitBytes = (await blockBytes()) + maxBytes;
        if (grownBytes > limitBytes) await release();
        const leftBytes = grown();
        if (leftBytes > limitBytes) return true;
        fineBytes = leftBytes;
        return false;
      } catch {
        // A late interrupt, or not enough memory even for this.
        return true;
      }
    },
    async rest() {
      if (grown() >= Math.max(restingBytes, restedBytes + noticedBytes)) {
        await release();
        restedBytes = grown();
      }
      const leftBytes = grown();
      return leftBytes > maxBytes / 2 && leftBytes > maxBytes / 2 + (await blockBytes());
    },
  };
}
