import { benchCompression } from './bench-compression.ts';
import { benchDialect } from './bench-dialect.ts';
import { benchEngine } from './bench-engine.ts';
import { benchGrowth } from './bench-growth.ts';
import { benchHttp } from './bench-http.ts';
import { benchLargeResults } from './bench-large-results.ts';
import { benchLoading } from './bench-loading.ts';
import { benchMemory } from './bench-memory.ts';
import { benchPaths } from './bench-paths.ts';
import { benchStalls } from './bench-stalls.ts';
import { benchStart } from './bench-start.ts';
import { benchWarm } from './bench-warm.ts';

/** `npm run bench` runs all; `npm run bench -- start` one. Each figure stands beside its baseline of the same run. */
const benches: Record<string, () => Promise<void>> = {
  engine: benchEngine,
  dialect: benchDialect,
  start: benchStart,
  http: benchHttp,
  memory: benchMemory,
  compression: benchCompression,
  warm: benchWarm,
  stalls: benchStalls,
  'large-results': benchLargeResults,
  paths: benchPaths,
  growth: benchGrowth,
  loading: benchLoading,
};

const asked = process.argv.slice(2);
for (const name of asked.length > 0 ? asked : Object.keys(benches)) {
  const bench = Object.hasOwn(benches, name) ? benches[name] : undefined;
  if (!bench)
    throw new Error(
      `No bench is named ${JSON.stringify(name)}; there are ${Object.keys(benches).join(', ')}`,
    );
  await bench();
}
