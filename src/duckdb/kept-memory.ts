/** Bytes that runs may leave behind. */
const maxKeptBytes = 128 * 1024 * 1024;

/** Change in bytes since DuckDB last reported only blocks, below which it is not asked again. */
const noticedBytes = 8 * 1024 * 1024;

export type MemoryReadings = {
  /** Resident bytes of the process. */
  readonly residentBytes: () => number;
  /**
   * Bytes of blocks of the file that DuckDB caches on purpose. Asking takes as long as preparing a statement, and the result of a run waits
   * for it.
   */
  readonly blockBytes: () => Promise<number>;
};

/**
 * Memory that runs leave behind in a process. After some of them, mostly failed ones, DuckDB and malloc keep hundreds of megabytes, and
 * nothing makes them release it.
 */
export type KeptMemory = {
  /** Whether much more memory is resident than before the first run, not counting blocks. A failure to ask counts as much memory. */
  isMuch(options: { readonly hasFailed: boolean }): Promise<boolean>;
};

/** Starts to watch memory, before the first run. */
export function watchKeptMemory({ residentBytes, blockBytes }: MemoryReadings): KeptMemory {
  const readyBytes = residentBytes();
  /** Growth of the process when it was last found to be only blocks. */
  let fineBytes = 0;
  return {
    async isMuch({ hasFailed }) {
      const grownBytes = residentBytes() - readyBytes;
      // Memory that a failed run has left may have replaced blocks.
      const isAsBefore = !hasFailed && Math.abs(grownBytes - fineBytes) < noticedBytes;
      if (grownBytes < maxKeptBytes || isAsBefore) return false;
      try {
        if (grownBytes - (await blockBytes()) > maxKeptBytes) return true;
        fineBytes = grownBytes;
        return false;
      } catch {
        // A late interrupt, or not enough memory even for this.
        return true;
      }
    },
  };
}
