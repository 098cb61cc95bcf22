import { benchAgainst } from './bench-against.ts';
import { benchCompression } from './bench-compression.ts';
import { benchDialect } from './bench-dialect.ts';
import { benchEngine } from './bench-engine.ts';
import { benchHttp } from './bench-http.ts';
import { benchLargeResults } from './bench-large-results.ts';
import { benchLoading } from './bench-loading.ts';
import { benchLogs } from './bench-logs.ts';
import { benchMemory } from './bench-memory.ts';
import { benchMisses } from './bench-misses.ts';
import { benchPage } from './bench-page.ts';
import { benchPaths } from './bench-paths.ts';
import { benchStalls } from './bench-stalls.ts';
import { benchStart } from './bench-start.ts';
import { benchStudio } from './bench-studio.ts';
import { benchWarm } from './bench-warm.ts';
import { benchGrowth } from './growth/bench-growth.ts';

/** `npm run bench` runs all; `npm run bench -- start` one; `npm run bench -- against <commit>` compares two commits. Each figure stands beside its baseline of the same run. */
const benches: Record<string, () => Promise<void>> = {
  engine: benchEngine,
  dialect: benchDialect,
  start: benchStart,
  http: benchHttp,
  misses: benchMisses,
  memory: benchMemory,
  compression: benchCompression,
  warm: benchWarm,
  stalls: benchStalls,
  'large-results': benchLargeResults,
  paths: benchPaths,
  growth: benchGrowth,
  studio: benchStudio,
  loading: benchLoading,
  logs: benchLogs,
  page: benchPage,
};

const [first, ref, ...rest] = process.argv.slice(2);
if (first === 'against') {
  if (ref === undefined || rest.length > 0) throw new Error('Usage: npm run bench -- against <commit>');
  await benchAgainst(ref);
} else await runBenches(process.argv.slice(2));

async function runBenches(asked: readonly string[]): Promise<void> {
  for (const name of asked.length > 0 ? asked : Object.keys(benches)) {
    const bench = Object.hasOwn(benches, name) ? benches[name] : undefined;
    if (!bench) {
      throw new Error(
        `No bench is named ${JSON.stringify(name)}; there are ${Object.keys(benches).join(', ')}, and against <commit>`,
      );
    }
    await bench();
  }
}
