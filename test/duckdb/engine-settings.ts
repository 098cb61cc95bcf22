import type { EngineSettings } from '../../src/duckdb/engine-protocol.ts';

/** Settings for an engine process that a test starts by itself. */
export function engineSettings(databasePath: string): EngineSettings {
  return {
    databasePath,
    sources: [],
    macros: [],
    memoryLimitMb: 256,
    residentLimitMb: 4096,
    keptLimitMb: 128,
    spillLimitMb: 1000,
    aliveMs: 1000,
    maxResultBytes: 1_000_000,
  };
}
